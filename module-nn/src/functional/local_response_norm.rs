use module_core::{AvgPoolOptions, PadMode, Result, Tensor};

use crate::config::check_positive;

/// `x[n, c, …] / (k + alpha/size · Σ x[n, i, …]²)^beta`, where `i` runs over the `size` channels around `c`, with zeros
/// outside; if `size` is even, there is one more below than above.
///
/// # Errors
///
/// Fewer than three dimensions, a size of 0, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::local_response_norm};
///
/// let x = Tensor::from([1.0_f64, 2.0]).reshape([1, 2, 1])?;
/// let y = local_response_norm(&x, 3, 3.0, 1.0, 1.0)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0 / 6.0, 2.0 / 6.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn local_response_norm(
    input: &Tensor,
    size: usize,
    alpha: f64,
    beta: f64,
    k: f64,
) -> Result<Tensor> {
    const NAME: &str = "local_response_norm";
    let &[batch, channels, ref rest @ ..] = &**input.shape() else {
        return Err(too_few_error(input));
    };
    if rest.is_empty() {
        return Err(too_few_error(input));
    }
    check_positive(NAME, "size", size)?;
    // The rest may be empty, so its size cannot be inferred from the others.
    let rest: usize = rest.iter().product();
    let squares = input.mul(input)?.reshape([batch, 1, channels, rest])?;
    let [below, above] = [size / 2, (size - 1) / 2].map(|count| count as isize);
    let squares = squares.pad([0, 0, below, above], PadMode::Constant(0.0.into()))?;
    let means = squares.avg_pool2d(AvgPoolOptions::new([size, 1]).stride([1, 1]))?;
    let divisor = means.mul(alpha)?.add(k)?.pow(beta)?;
    input.div(&divisor.reshape(input.shape())?)
}

fn too_few_error(input: &Tensor) -> module_core::Error {
    let expected = "[batch, channels, …] of at least 3 dimensions";
    input.shape().error("local_response_norm", expected)
}
