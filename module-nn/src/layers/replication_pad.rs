use std::fmt;

use module_core::{Forward, Module, PadMode, Result, Tensor};

use super::spatial::{check_images, of_dims};
use crate::OneOrEach;
use crate::config::{Build, config, tuple};

/// Padding that repeats the edges of the input.
///
/// [`ReplicationPad1d`], [`ReplicationPad2d`] and [`ReplicationPad3d`] are its aliases.
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch; each size grows by its two amounts, where negative
/// amounts crop.
///
/// # Errors
///
/// A wrong number of dimensions, no edge to repeat, cropping everything.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
/// let y = ReplicationPad1d::new(1)?.call(x)?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 1.0, 2.0, 3.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct ReplicationPad<const N: usize> {
    #[module(skip)]
    config: ReplicationPadConfig<N>,
    #[module(skip)]
    amounts: Vec<isize>,
}

/// Replication padding of sequences, [`ReplicationPad`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ReplicationPad1d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ReplicationPad1d = ReplicationPad<1>;

/// Replication padding of images, [`ReplicationPad`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ReplicationPad2d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ReplicationPad2d = ReplicationPad<2>;

/// Replication padding of volumes, [`ReplicationPad`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ReplicationPad3d::new(1)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ReplicationPad3d = ReplicationPad<3>;

config! {
    /// The arguments of [`ReplicationPad`]; those of [`ReplicationPad1d`], [`ReplicationPad2d`] and [`ReplicationPad3d`] are [`ReplicationPad1dConfig`],
    /// [`ReplicationPad2dConfig`] and [`ReplicationPad3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// let pad: ReplicationPad<1> = ReplicationPad1dConfig::new([0, 2]).build()?;
    /// assert_eq!(pad.call(x)?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 3.0, 3.0]);
    /// let pad = ReplicationPad2dConfig::new([1, 1, 0, 2]).build()?;
    /// assert_eq!(pad.call(Tensor::zeros([1, 4, 4], DType::F32)?)?.shape().to_string(), "[1, 6, 6]");
    /// let config: ReplicationPadConfig<3> = ReplicationPad3dConfig::new(1);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ReplicationPadConfig<const N: usize> => ReplicationPad {
        required {
            /// One amount for every side, or the amounts before and after the last dimension, then before and after the
            /// second to last one, and so on.
            padding: OneOrEach<isize>,
        }
    }
}

/// The arguments of [`ReplicationPad1d`].
pub type ReplicationPad1dConfig = ReplicationPadConfig<1>;

/// The arguments of [`ReplicationPad2d`].
pub type ReplicationPad2dConfig = ReplicationPadConfig<2>;

/// The arguments of [`ReplicationPad3d`].
pub type ReplicationPad3dConfig = ReplicationPadConfig<3>;

impl<const N: usize> Build for ReplicationPadConfig<N> {
    type Output = ReplicationPad<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Amounts for a wrong number of dimensions.
    fn build(&self) -> Result<ReplicationPad<N>> {
        let amounts = self
            .padding
            .get(ReplicationPad::<N>::NAME, "padding", 2 * N)?;
        let config = self.clone();
        Ok(ReplicationPad { config, amounts })
    }
}

impl<const N: usize> ReplicationPad<N> {
    const NAME: &'static str =
        of_dims::<N>(["ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d"]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tuple(f, self.amounts.iter())
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> ReplicationPadConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for ReplicationPad<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        check_images::<N>("pad", &input)?;
        input.pad(&self.amounts, PadMode::Replicate)
    }
}
