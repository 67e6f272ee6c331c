use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// The dimensions in another order, without a copy: torchvision's `Permute`.
///
/// # Shapes
///
/// `[a, b, c]` to `[c, a, b]` for the dimensions `[2, 0, 1]`.
///
/// # Errors
///
/// Dimensions that are not those of the input, each once.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::zeros([2, 3, 4], DType::F32)?;
/// assert_eq!(Permute::new([0, -1, 1])?.call(x)?.shape().to_string(), "[2, 4, 3]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Permute {
    #[module(skip)]
    dims: Vec<isize>,
}

config! {
    /// The arguments of [`Permute`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // A channel-first image from a channel-last one.
    /// let permute = PermuteConfig::new([2, 0, 1]).build()?;
    /// let image = Tensor::zeros([4, 5, 3], DType::U8)?;
    /// assert_eq!(permute.call(image)?.shape().to_string(), "[3, 4, 5]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct PermuteConfig => Permute {
        required {
            /// The order of the dimensions; negative ones count from the last.
            dims: Vec<isize>,
        }
    }
}

impl Build for PermuteConfig {
    type Output = Permute;

    /// The layer.
    ///
    /// # Errors
    ///
    /// None: whether the dimensions exist depends on the input.
    fn build(&self) -> Result<Permute> {
        let dims = self.dims.clone();
        Ok(Permute { dims })
    }
}

impl Permute {
    /// The arguments that it was built from.
    pub fn config(&self) -> PermuteConfig {
        PermuteConfig {
            dims: self.dims.clone(),
        }
    }
}

impl Forward for Permute {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.permute(&self.dims)
    }
}
