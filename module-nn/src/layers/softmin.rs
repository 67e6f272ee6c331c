use std::fmt;

use module_core::{Forward, Module, Result, Tensor};

use super::softmax::{implicit_dim, repr};
use crate::config::{Build, config};

/// `e⁻xᵢ / Σⱼ e⁻xⱼ` along a dimension.
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
/// let y = Softmin::new(-1)?.call(Tensor::from([0.0_f32, 0.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.5, 0.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Softmin {
    #[module(skip)]
    dim: Option<isize>,
}

config! {
    /// The arguments of [`Softmin`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[0.0_f32, 1000.0], [1000.0, 0.0]]);
    /// let y = SoftminConfig::new().dim(0).build()?.call(x)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SoftminConfig => Softmin {
        optional {
            /// The dimension; a negative one counts from the end. By default, as in PyTorch, it is the first for inputs of
            /// 0, 1 or 3 dimensions and the second for others: it is better to name it.
            dim: Option<isize> = None,
        }
    }
}

impl Build for SoftminConfig {
    type Output = Softmin;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: the dimension is checked against each input.
    fn build(&self) -> Result<Softmin> {
        Ok(Softmin { dim: self.dim })
    }
}

impl Softmin {
    /// Along this dimension; a negative one counts from the end.
    ///
    /// # Errors
    ///
    /// None: the dimension is checked against each input.
    pub fn new(dim: isize) -> Result<Self> {
        SoftminConfig::new().dim(dim).build()
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        repr(self.dim, f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> SoftminConfig {
        SoftminConfig { dim: self.dim }
    }
}

impl Forward for Softmin {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let dim = implicit_dim(self.dim, &input);
        input.neg()?.softmax(dim)
    }
}
