use module_core::{DType, Error, Result, Tensor};

use super::loss::{check_floating, widen};

/// `x` where it is positive, else `x` times a random slope from `[lower, upper)`, for a floating-point tensor: the
/// randomized [`leaky_relu`](Tensor::leaky_relu) in training, with the slopes that PyTorch draws, one for each element that
/// is not positive, in row-major order.
///
/// Source: Xu, Wang, Chen and Li, "Empirical Evaluation of Rectified Activations in Convolutional
/// Network", 2015.
///
/// # Errors
///
/// A `lower` above `upper`, bounds that are not finite, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, fork_rng, functional::rrelu};
///
/// let y = fork_rng(0, || rrelu(&Tensor::from([2.0_f32, -8.0]), 0.125, 0.5))?.to_vec::<f32>()?;
/// assert!(y[0] == 2.0 && (-4.0..=-1.0).contains(&y[1]));
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn rrelu(input: &Tensor, lower: f64, upper: f64) -> Result<Tensor> {
    const NAME: &str = "rrelu";
    check_floating(NAME, input)?;
    if !(lower <= upper && lower.is_finite() && upper.is_finite()) {
        let problem = format!("must be finite and at most upper = {upper}");
        return Err(Error::argument(NAME, "lower", lower, problem));
    }
    let x = widen(input)?;
    // The bounds have the precision of the computation, the draws that of `f64`.
    let rounded = |bound: f64| match x.dtype() {
        DType::F64 => bound,
        _ => f64::from(bound as f32),
    };
    let (lower, upper) = (rounded(lower), rounded(upper));
    let mut slopes = x.detach().to_dtype(DType::F64)?.to_vec::<f64>()?;
    let count = slopes.iter().filter(|&&value| value <= 0.0).count();
    let units = Tensor::rand(count, (DType::F64, input.device()))?;
    let mut units = units.to_vec::<f64>()?.into_iter();
    for slope in &mut slopes {
        let unit = if *slope <= 0.0 { units.next() } else { None };
        *slope = unit.map_or(1.0, |unit| unit * (upper - lower) + lower);
    }
    let slopes = Tensor::from_vec(slopes, input.shape())?.to_dtype(x.dtype())?;
    x.mul(&slopes.to_device(&input.device())?)?
        .to_dtype(input.dtype())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use module_core::autograd::{gradcheck, gradgradcheck};
    use module_core::fork_rng;

    use super::*;

    #[test]
    fn gradients_are_exact_also_twice() -> Result<()> {
        let f = |x: &[Tensor]| fork_rng(3, || rrelu(&x[0], 0.1, 0.7))?.square();
        for shape in [&[3_usize, 4][..], &[0, 4], &[]] {
            let x = [Tensor::randn(shape, DType::F64)?];
            gradcheck(f, &x)?;
            gradgradcheck(f, &x)?;
        }
        let transposed = Tensor::randn([3, 4], DType::F64)?.t()?;
        gradcheck(f, &[transposed])
    }

    #[test]
    fn only_nan_gives_nan() {
        let x = Tensor::from([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0]);
        for dtype in [DType::F64, DType::F32, DType::BF16] {
            let y = rrelu(&x.to_dtype(dtype).unwrap(), 0.1, 0.2).unwrap();
            let nan = y.isnan().unwrap().to_vec::<bool>().unwrap();
            assert_eq!(nan, [true, false, false, false, false], "{dtype}");
        }
    }

    #[test]
    fn bounds_in_the_wrong_order_are_refused() {
        assert_eq!(
            rrelu(&Tensor::from([1.0_f32]), 0.5, 0.25)
                .unwrap_err()
                .to_string(),
            "rrelu: lower = 0.5: must be finite and at most upper = 0.25"
        );
    }
}
