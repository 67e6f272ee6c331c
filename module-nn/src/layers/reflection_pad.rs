use std::fmt;

use module_core::{Forward, Module, PadMode, Result, Tensor};

use super::spatial::{check_images, of_dims};
use crate::OneOrEach;
use crate::config::{Build, config, tuple};

/// Padding that mirrors the input at its edges, which are not repeated.
///
/// [`ReflectionPad1d`], [`ReflectionPad2d`] and [`ReflectionPad3d`] are its aliases.
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch; each size grows by its two amounts, where negative
/// amounts crop.
///
/// # Errors
///
/// A wrong number of dimensions, an amount that is not below the size, cropping everything.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
/// let y = ReflectionPad1d::new(2)?.call(x)?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct ReflectionPad<const N: usize> {
    #[module(skip)]
    config: ReflectionPadConfig<N>,
    #[module(skip)]
    amounts: Vec<isize>,
}

/// Reflection padding of sequences, [`ReflectionPad`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ReflectionPad1d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ReflectionPad1d = ReflectionPad<1>;

/// Reflection padding of images, [`ReflectionPad`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ReflectionPad2d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ReflectionPad2d = ReflectionPad<2>;

/// Reflection padding of volumes, [`ReflectionPad`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ReflectionPad3d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ReflectionPad3d = ReflectionPad<3>;

config! {
    /// The arguments of [`ReflectionPad`]; those of [`ReflectionPad1d`], [`ReflectionPad2d`] and [`ReflectionPad3d`] are [`ReflectionPad1dConfig`],
    /// [`ReflectionPad2dConfig`] and [`ReflectionPad3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// let pad: ReflectionPad<1> = ReflectionPad1dConfig::new([0, 2]).build()?;
    /// assert_eq!(pad.call(x)?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 2.0, 1.0]);
    /// let pad = ReflectionPad2dConfig::new([1, 1, 0, 2]).build()?;
    /// assert_eq!(pad.call(Tensor::zeros([1, 4, 4], DType::F32)?)?.shape().to_string(), "[1, 6, 6]");
    /// let config: ReflectionPadConfig<3> = ReflectionPad3dConfig::new(1);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ReflectionPadConfig<const N: usize> => ReflectionPad {
        required {
            /// One amount for every side, or the amounts before and after the last dimension, then before and after the
            /// second to last one, and so on.
            padding: OneOrEach<isize>,
        }
    }
}

/// The arguments of [`ReflectionPad1d`].
pub type ReflectionPad1dConfig = ReflectionPadConfig<1>;

/// The arguments of [`ReflectionPad2d`].
pub type ReflectionPad2dConfig = ReflectionPadConfig<2>;

/// The arguments of [`ReflectionPad3d`].
pub type ReflectionPad3dConfig = ReflectionPadConfig<3>;

impl<const N: usize> Build for ReflectionPadConfig<N> {
    type Output = ReflectionPad<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Amounts for a wrong number of dimensions.
    fn build(&self) -> Result<ReflectionPad<N>> {
        let amounts = self
            .padding
            .get(ReflectionPad::<N>::NAME, "padding", 2 * N)?;
        let config = self.clone();
        Ok(ReflectionPad { config, amounts })
    }
}

impl<const N: usize> ReflectionPad<N> {
    const NAME: &'static str =
        of_dims::<N>(["ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d"]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tuple(f, self.amounts.iter())
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> ReflectionPadConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for ReflectionPad<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        check_images::<N>("pad", &input)?;
        input.pad(&self.amounts, PadMode::Reflect)
    }
}
