use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// The first half along a dimension times the sigmoid of the second.
///
/// Source: Dauphin, Fan, Auli and Grangier, *Language Modeling with Gated Convolutional Networks* (2017).
///
/// # Shapes
///
/// Any shape to the same with half the size in `dim`.
///
/// # Errors
///
/// A dimension that is out of range or of odd size, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let y = GLU::new().call(Tensor::from([3.0_f32, 5.0, 0.0, 1000.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [1.5, 5.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct GLU {
    dim: isize,
}

config! {
    /// The arguments of [`GLU`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[3.0_f32, 5.0], [0.0, 1000.0]]);
    /// let y = GLUConfig::new().dim(0).build()?.call(x)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.5, 5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct GLUConfig => GLU {
        optional {
            /// The dimension; a negative one counts from the end.
            dim: isize = -1,
        }
    }
}

impl Build for GLUConfig {
    type Output = GLU;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: the dimension is checked against each input.
    fn build(&self) -> Result<GLU> {
        let &Self { dim } = self;
        Ok(GLU { dim })
    }
}

impl GLU {
    /// Makes the layer with PyTorch's defaults; [`GLUConfig`] has the arguments.
    pub fn new() -> Self {
        Self { dim: -1 }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> GLUConfig {
        GLUConfig { dim: self.dim }
    }
}

impl Default for GLU {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for GLU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.glu(self.dim)
    }
}
