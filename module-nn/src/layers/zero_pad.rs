use std::fmt;

use module_core::{Forward, Module, PadMode, Result, Tensor};

use super::spatial::of_dims;
use crate::OneOrEach;
use crate::config::{Build, config, tuple};

/// Zero padding of the last dimensions.
///
/// [`ZeroPad1d`], [`ZeroPad2d`] and [`ZeroPad3d`] are its aliases.
///
/// # Shapes
///
/// `[…, size…]` with `N` sizes, each of which grows by its two amounts; negative amounts crop.
///
/// # Errors
///
/// Fewer dimensions than are padded, cropping more than there is.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[1.0_f32, 2.0]]);
/// assert_eq!(ZeroPad1d::new(1)?.call(x.clone())?.to_vec::<f32>()?, [0.0, 1.0, 2.0, 0.0]);
/// assert_eq!(ZeroPad1d::new([-1, 1])?.call(x)?.to_vec::<f32>()?, [2.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct ZeroPad<const N: usize> {
    #[module(skip)]
    config: ZeroPadConfig<N>,
    #[module(skip)]
    amounts: Vec<isize>,
}

/// Zero padding of sequences, [`ZeroPad`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ZeroPad1d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ZeroPad1d = ZeroPad<1>;

/// Zero padding of images, [`ZeroPad`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ZeroPad2d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ZeroPad2d = ZeroPad<2>;

/// Zero padding of volumes, [`ZeroPad`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ZeroPad3d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ZeroPad3d = ZeroPad<3>;

config! {
    /// The arguments of [`ZeroPad`]; those of [`ZeroPad1d`], [`ZeroPad2d`] and [`ZeroPad3d`] are [`ZeroPad1dConfig`],
    /// [`ZeroPad2dConfig`] and [`ZeroPad3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// let pad: ZeroPad<1> = ZeroPad1dConfig::new([0, 2]).build()?;
    /// assert_eq!(pad.call(x)?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 0.0, 0.0]);
    /// let pad = ZeroPad2dConfig::new([1, 1, 0, 2]).build()?;
    /// assert_eq!(pad.call(Tensor::zeros([1, 4, 4], DType::F32)?)?.shape().to_string(), "[1, 6, 6]");
    /// let config: ZeroPadConfig<3> = ZeroPad3dConfig::new(1);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ZeroPadConfig<const N: usize> => ZeroPad {
        required {
            /// One amount for every side, or the amounts before and after the last dimension, then before and after the
            /// second to last one, and so on.
            padding: OneOrEach<isize>,
        }
    }
}

/// The arguments of [`ZeroPad1d`].
pub type ZeroPad1dConfig = ZeroPadConfig<1>;

/// The arguments of [`ZeroPad2d`].
pub type ZeroPad2dConfig = ZeroPadConfig<2>;

/// The arguments of [`ZeroPad3d`].
pub type ZeroPad3dConfig = ZeroPadConfig<3>;

impl<const N: usize> Build for ZeroPadConfig<N> {
    type Output = ZeroPad<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Amounts for a wrong number of dimensions.
    fn build(&self) -> Result<ZeroPad<N>> {
        let amounts = self.padding.get(ZeroPad::<N>::NAME, "padding", 2 * N)?;
        let config = self.clone();
        Ok(ZeroPad { config, amounts })
    }
}

impl<const N: usize> ZeroPad<N> {
    const NAME: &'static str = of_dims::<N>(["ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tuple(f, self.amounts.iter())
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> ZeroPadConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for ZeroPad<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.pad(&self.amounts, PadMode::default())
    }
}
