use std::fmt;

use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// `exᵢ / Σⱼ exⱼ` along a dimension.
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
/// let y = Softmax::new(-1)?.call(Tensor::from([0.0_f32, 0.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.5, 0.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Softmax {
    #[module(skip)]
    dim: Option<isize>,
}

config! {
    /// The arguments of [`Softmax`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let y = SoftmaxConfig::new().dim(0).build()?.call(Tensor::zeros([2, 4], DType::F32)?)?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.5; 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SoftmaxConfig => Softmax {
        optional {
            /// The dimension; a negative one counts from the end. By default, as in PyTorch, it is the first for inputs of
            /// 0, 1 or 3 dimensions and the second for others: it is better to name it.
            dim: Option<isize> = None,
        }
    }
}

impl Build for SoftmaxConfig {
    type Output = Softmax;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: the dimension is checked against each input.
    fn build(&self) -> Result<Softmax> {
        Ok(Softmax { dim: self.dim })
    }
}

impl Softmax {
    /// Along this dimension; a negative one counts from the end.
    ///
    /// # Errors
    ///
    /// None: the dimension is checked against each input.
    pub fn new(dim: isize) -> Result<Self> {
        SoftmaxConfig::new().dim(dim).build()
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        repr(self.dim, f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> SoftmaxConfig {
        SoftmaxConfig { dim: self.dim }
    }
}

/// PyTorch's default dimension.
pub(super) fn implicit_dim(dim: Option<isize>, input: &Tensor) -> isize {
    dim.unwrap_or(match input.rank() {
        0 | 1 | 3 => 0,
        _ => 1,
    })
}

/// `dim=1`, or `dim=None`.
pub(super) fn repr(dim: Option<isize>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match dim {
        Some(dim) => write!(f, "dim={dim}"),
        None => f.write_str("dim=None"),
    }
}

impl Forward for Softmax {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let dim = implicit_dim(self.dim, &input);
        input.softmax(dim)
    }
}
