use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// Joins a range of dimensions, by default all but the first.
///
/// # Shapes
///
/// `[a, b, c, d]` to `[a, b·c·d]` by default.
///
/// # Errors
///
/// Dimensions that are out of range or out of order.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::zeros([2, 3, 4], DType::F32)?;
/// assert_eq!(Flatten::new().call(x)?.shape().to_string(), "[2, 12]");
/// let x = Tensor::zeros([2, 3, 4], DType::F32)?;
/// assert_eq!(Flatten::range(0, 1).call(x)?.shape().to_string(), "[6, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Flatten {
    start_dim: isize,
    end_dim: isize,
}

config! {
    /// The arguments of [`Flatten`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let flatten = FlattenConfig::new().start_dim(0).end_dim(-2).build()?;
    /// let x = Tensor::zeros([2, 3, 4], DType::F32)?;
    /// assert_eq!(flatten.call(x)?.shape().to_string(), "[6, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct FlattenConfig => Flatten {
        optional {
            /// The first of the joined dimensions.
            start_dim: isize = 1,
            /// The last of the joined dimensions.
            end_dim: isize = -1,
        }
    }
}

impl Build for FlattenConfig {
    type Output = Flatten;

    /// The layer.
    ///
    /// # Errors
    ///
    /// None: whether the dimensions exist depends on the input.
    fn build(&self) -> Result<Flatten> {
        Ok(Flatten::range(self.start_dim, self.end_dim))
    }
}

impl Flatten {
    /// Joins all dimensions but the first.
    pub const fn new() -> Self {
        Self::range(1, -1)
    }

    /// Joins the dimensions from `start_dim` to `end_dim`, inclusive.
    pub const fn range(start_dim: isize, end_dim: isize) -> Self {
        Self { start_dim, end_dim }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> FlattenConfig {
        FlattenConfig {
            start_dim: self.start_dim,
            end_dim: self.end_dim,
        }
    }
}

impl Default for Flatten {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Flatten {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.flatten(self.start_dim, self.end_dim)
    }
}
