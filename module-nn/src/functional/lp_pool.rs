//! Norms of windows.

use module_core::{AvgPoolOptions, Error, PoolOptions, Result, Tensor};

module_core::options! {
    /// The options of [`lp_pool`], with PyTorch's names and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// use module_nn::functional::{LpPoolOptions, lp_pool};
    ///
    /// let x = Tensor::from([[[3.0_f32, 4.0]]]);
    /// assert_eq!(lp_pool(&x, 2.0, LpPoolOptions::new([2]))?.to_vec::<f32>()?, [5.0]);
    ///
    /// // A last window that is incomplete counts as a full one.
    /// let x = Tensor::from([[[3.0_f32, 4.0, 6.0]]]);
    /// let options = LpPoolOptions::new([2]).stride([2]).ceil_mode(true);
    /// assert_eq!(lp_pool(&x, 1.0, options)?.to_vec::<f32>()?, [7.0, 12.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LpPoolOptions<const N: usize> {
        required {
            /// The size of the window.
            kernel_size: [usize; N],
        }
        optional {
            /// The step of the window.
            stride: [usize; N] = kernel_size,
            /// Whether a last window that starts inside but ends outside is included.
            ceil_mode: bool = false,
        }
    }
}

/// The norm of each window over one to three spatial dimensions, `(Σ xᵖ)^(1/p)`; as in PyTorch, the elements are not made
/// positive, and a window that ends outside is scaled up to a full one. With an infinite `norm_type`, the maximum or the
/// minimum absolute value. Where the sum is 0, the gradient is 0.
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch.
///
/// # Errors
///
/// Those of [`Tensor::avg_pool`], and a `norm_type` of 0 or NaN.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{LpPoolOptions, lp_pool}};
///
/// let x = Tensor::from([1.0_f32, 1.0, 1.0, 1.0]).reshape([1, 2, 2])?;
/// assert_eq!(lp_pool(&x, 2.0, LpPoolOptions::new([2, 2]))?.to_vec::<f32>()?, [2.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[doc(alias("lp_pool1d", "lp_pool2d", "lp_pool3d"))]
pub fn lp_pool<const N: usize>(
    input: &Tensor,
    norm_type: f64,
    options: LpPoolOptions<N>,
) -> Result<Tensor> {
    if norm_type == 0.0 || norm_type.is_nan() {
        let name = match N {
            1 => "lp_pool1d",
            2 => "lp_pool2d",
            _ => "lp_pool3d",
        };
        let problem = "must be a number other than 0";
        return Err(Error::argument(name, "norm_type", norm_type, problem));
    }
    if norm_type.is_infinite() {
        let windows = PoolOptions::new(options.kernel_size)
            .stride(options.stride)
            .ceil_mode(options.ceil_mode);
        return match norm_type > 0.0 {
            true => input.abs()?.max_pool(windows),
            false => input.abs()?.neg()?.max_pool(windows)?.neg(),
        };
    }
    let means = AvgPoolOptions::new(options.kernel_size)
        .stride(options.stride)
        .ceil_mode(options.ceil_mode);
    let count = options.kernel_size.iter().map(|&size| size as f64);
    let count: f64 = count.product();
    let means = input.pow(norm_type)?.avg_pool(means)?;
    // The value is that of the mean; for a mean of 0, the derivative is 0 instead of infinite.
    let means = means.sign()?.mul(&means.abs()?.relu()?)?;
    means.mul(count)?.pow(1.0 / norm_type)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use module_core::DType;
    use module_core::autograd::{gradcheck, gradgradcheck};

    use super::*;

    #[test]
    fn gradients_are_exact_also_twice() -> Result<()> {
        let x = [Tensor::rand([1, 3, 4], DType::F64)?.add(0.5)?];
        for norm_type in [2.0, 3.0, f64::INFINITY, f64::NEG_INFINITY] {
            let options = LpPoolOptions::new([2, 2]).stride([1, 2]).ceil_mode(true);
            let f = |x: &[Tensor]| lp_pool(&x[0], norm_type, options)?.square();
            gradcheck(f, &x)?;
            gradgradcheck(f, &x)?;
        }
        Ok(())
    }

    #[test]
    fn no_power_0() {
        let x = Tensor::from([[3.0_f32, 4.0]]);
        for norm_type in [0.0, f64::NAN] {
            let error = lp_pool(&x, norm_type, LpPoolOptions::new([2])).unwrap_err();
            let expected =
                format!("lp_pool1d: norm_type = {norm_type}: must be a number other than 0");
            assert_eq!(error.to_string(), expected);
        }
    }
}
