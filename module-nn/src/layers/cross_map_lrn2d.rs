use std::fmt;

use module_core::module::Repr;
use module_core::{AvgPoolOptions, Forward, Module, PadMode, Result, Tensor};

use crate::config::{Build, check_positive, config};

/// Divides each element by a power of its neighborhood across channels, as in Torch 7:
///
/// ```text
/// y[n, c, …] = x[n, c, …] · (k + alpha/size · Σ x[n, i, …]²)^(-beta)
/// ```
///
/// where `i` runs over the channels less than `⌊(size + 1)/2⌋` away from `c`. As in PyTorch, whose sum runs from channel to
/// channel and never drops the first one, channel 0 also counts for all channels after it. Unlike in PyTorch, whose windows
/// are off by one channel in the backward pass, the gradient is that of this formula.
/// [`LocalResponseNorm`](super::LocalResponseNorm) has neither problem.
///
/// Source: Krizhevsky, Sutskever and Hinton, *ImageNet Classification with Deep Convolutional
/// Neural Networks* (2012).
///
/// # Shapes
///
/// `[batch, channels, height, width]` to the same.
///
/// # Errors
///
/// A wrong number of dimensions, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = CrossMapLRN2dConfig::new(1).alpha(1.0).beta(1.0).build()?;
/// let y = norm.call(Tensor::from([3.0_f32]).reshape([1, 1, 1, 1])?)?;
/// assert!((y.item::<f32>()? - 0.3).abs() < 1e-6);
///
/// // 3 / (2 + 9)
/// let norm: CrossMapLRN2d = CrossMapLRN2dConfig::new(1).alpha(1.0).beta(1.0).k(2.0).build()?;
/// let y = norm.call(Tensor::from([3.0_f32]).reshape([1, 1, 1, 1])?)?;
/// assert!((y.item::<f32>()? - 3.0 / 11.0).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct CrossMapLRN2d {
    #[module(skip)]
    config: CrossMapLRN2dConfig,
}

config! {
    /// The arguments of [`CrossMapLRN2d`].
    pub struct CrossMapLRN2dConfig => CrossMapLRN2d {
        required {
            /// The number of neighboring channels, by which `alpha` is divided.
            size: usize,
        }
        optional {
            /// The factor of the sum.
            alpha: f64 = 1e-4,
            /// The exponent.
            beta: f64 = 0.75,
            /// The constant term.
            k: f64 = 1.0,
        }
    }
}

impl Build for CrossMapLRN2dConfig {
    type Output = CrossMapLRN2d;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A size of 0.
    fn build(&self) -> Result<CrossMapLRN2d> {
        check_positive("CrossMapLRN2d", "size", self.size)?;
        let config = self.clone();
        Ok(CrossMapLRN2d { config })
    }
}

impl CrossMapLRN2d {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CrossMapLRN2dConfig {
            size,
            alpha,
            beta,
            k,
        } = &self.config;
        write!(f, "{size}, alpha={}, beta={}, ", Repr(alpha), Repr(beta))?;
        // PyTorch's default is an integer.
        match k.fract() == 0.0 {
            true => write!(f, "k={k}"),
            false => write!(f, "k={}", Repr(k)),
        }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> CrossMapLRN2dConfig {
        self.config.clone()
    }
}

impl Forward for CrossMapLRN2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let CrossMapLRN2dConfig {
            size,
            alpha,
            beta,
            k,
        } = self.config;
        let &[batch, channels, height, width] = &**input.shape() else {
            let expected = "[batch, channels, height, width]";
            return Err(input.shape().error("CrossMapLRN2d", expected));
        };
        // A window reaches at most as many channels on one side as there are.
        let reach = (size.div_ceil(2) - 1).min(channels);
        let squares = input.mul(&input)?;
        let rows = squares.reshape([batch, 1, channels, height * width])?;
        let around = reach as isize;
        let rows = rows.pad([0, 0, around, around], PadMode::Constant(0.0.into()))?;
        let window = 2 * reach + 1;
        let means = rows.avg_pool2d(AvgPoolOptions::new([window, 1]).stride([1, 1]))?;
        let mut sums = means.mul(window as f64)?.reshape(input.shape())?;
        if reach + 1 < channels {
            let first = squares.narrow(1, 0..1)?;
            let beyond = sums.narrow(1, reach + 1..channels)?.add(&first)?;
            sums = Tensor::cat(&[sums.narrow(1, 0..reach + 1)?, beyond], 1)?;
        }
        let scale = sums.mul(alpha / size as f64)?.add(k)?;
        scale.pow(-beta)?.mul(&input)
    }
}

#[cfg(test)]
mod tests {
    use module_core::autograd::gradcheck;

    use crate::prelude::*;

    #[test]
    fn the_gradient_is_that_of_the_formula() {
        for size in [1, 3, 4, 5, 9] {
            let norm = CrossMapLRN2dConfig::new(size).alpha(0.5).build().unwrap();
            let x = Tensor::randn([2, 6, 2, 1], DType::F64).unwrap();
            gradcheck(|x| norm.call(x[0].clone()), &[x]).unwrap();
        }
    }
}
