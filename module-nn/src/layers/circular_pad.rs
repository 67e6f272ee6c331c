use std::fmt;

use module_core::{Forward, Module, PadMode, Result, Tensor};

use super::spatial::{check_images, of_dims};
use crate::OneOrEach;
use crate::config::{Build, config, tuple};

/// Padding with the values from the opposite end.
///
/// [`CircularPad1d`], [`CircularPad2d`] and [`CircularPad3d`] are its aliases.
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch; each size grows by its two amounts, where negative
/// amounts crop.
///
/// # Errors
///
/// A wrong number of dimensions, an amount beyond the size, cropping everything.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
/// let y = CircularPad1d::new(1)?.call(x)?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 1.0, 2.0, 3.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct CircularPad<const N: usize> {
    #[module(skip)]
    config: CircularPadConfig<N>,
    #[module(skip)]
    amounts: Vec<isize>,
}

/// Circular padding of sequences, [`CircularPad`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = CircularPad1d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type CircularPad1d = CircularPad<1>;

/// Circular padding of images, [`CircularPad`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = CircularPad2d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type CircularPad2d = CircularPad<2>;

/// Circular padding of volumes, [`CircularPad`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = CircularPad3d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type CircularPad3d = CircularPad<3>;

config! {
    /// The arguments of [`CircularPad`]; those of [`CircularPad1d`], [`CircularPad2d`] and [`CircularPad3d`] are [`CircularPad1dConfig`],
    /// [`CircularPad2dConfig`] and [`CircularPad3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// let pad: CircularPad<1> = CircularPad1dConfig::new([2, 0]).build()?;
    /// assert_eq!(pad.call(x)?.to_vec::<f32>()?, [2.0, 3.0, 1.0, 2.0, 3.0]);
    /// let pad = CircularPad2dConfig::new([1, 1, 0, 2]).build()?;
    /// assert_eq!(pad.call(Tensor::zeros([1, 4, 4], DType::F32)?)?.shape().to_string(), "[1, 6, 6]");
    /// let config: CircularPadConfig<3> = CircularPad3dConfig::new(1);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct CircularPadConfig<const N: usize> => CircularPad {
        required {
            /// One amount for every side, or the amounts before and after the last dimension, then before and after the
            /// second to last one, and so on.
            padding: OneOrEach<isize>,
        }
    }
}

/// The arguments of [`CircularPad1d`].
pub type CircularPad1dConfig = CircularPadConfig<1>;

/// The arguments of [`CircularPad2d`].
pub type CircularPad2dConfig = CircularPadConfig<2>;

/// The arguments of [`CircularPad3d`].
pub type CircularPad3dConfig = CircularPadConfig<3>;

impl<const N: usize> Build for CircularPadConfig<N> {
    type Output = CircularPad<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Amounts for a wrong number of dimensions.
    fn build(&self) -> Result<CircularPad<N>> {
        let amounts = self.padding.get(CircularPad::<N>::NAME, "padding", 2 * N)?;
        let config = self.clone();
        Ok(CircularPad { config, amounts })
    }
}

impl<const N: usize> CircularPad<N> {
    const NAME: &'static str = of_dims::<N>(["CircularPad1d", "CircularPad2d", "CircularPad3d"]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tuple(f, self.amounts.iter())
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> CircularPadConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for CircularPad<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        check_images::<N>("pad", &input)?;
        input.pad(&self.amounts, PadMode::Circular)
    }
}
