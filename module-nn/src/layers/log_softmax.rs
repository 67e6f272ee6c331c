use std::fmt;

use module_core::{Forward, Module, Result, Tensor};

use super::softmax::{implicit_dim, repr};
use crate::config::{Build, config};

/// `xᵢ - ln Σⱼ exⱼ` along a dimension.
///
/// # Shapes
///
/// Any shape to the same.
///
/// # Errors
///
/// A dimension that is out of range, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let y = LogSoftmax::new(-1)?.call(Tensor::from([0.0_f32, 0.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [-2.0_f32.ln(), -2.0_f32.ln()]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct LogSoftmax {
    #[module(skip)]
    dim: Option<isize>,
}

config! {
    /// The arguments of [`LogSoftmax`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::zeros([2, 4], DType::F32)?;
    /// let y = LogSoftmaxConfig::new().dim(0).build()?.call(x)?;
    /// assert!((y.amax(..)?.item::<f32>()? + std::f32::consts::LN_2).abs() < 1e-6);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LogSoftmaxConfig => LogSoftmax {
        optional {
            /// The dimension; a negative one counts from the end. By default, as in PyTorch, it is the first for inputs of
            /// 0, 1 or 3 dimensions and the second for others: it is better to name it.
            dim: Option<isize> = None,
        }
    }
}

impl Build for LogSoftmaxConfig {
    type Output = LogSoftmax;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: the dimension is checked against each input.
    fn build(&self) -> Result<LogSoftmax> {
        Ok(LogSoftmax { dim: self.dim })
    }
}

impl LogSoftmax {
    /// Along this dimension; a negative one counts from the end.
    ///
    /// # Errors
    ///
    /// None: the dimension is checked against each input.
    pub fn new(dim: isize) -> Result<Self> {
        LogSoftmaxConfig::new().dim(dim).build()
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        repr(self.dim, f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LogSoftmaxConfig {
        LogSoftmaxConfig { dim: self.dim }
    }
}

impl Forward for LogSoftmax {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let dim = implicit_dim(self.dim, &input);
        input.log_softmax(dim)
    }
}
