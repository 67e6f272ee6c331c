use std::fmt;

use module_core::module::{Number, Repr};
use module_core::{Error, Forward, Module, PadMode, Result, Scalar, Tensor};

use super::spatial::of_dims;
use crate::OneOrEach;
use crate::config::{Build, config, tuple};

/// Padding of the last dimensions with a number; for an integer tensor it must be an integer.
///
/// [`ConstantPad1d`], [`ConstantPad2d`] and [`ConstantPad3d`] are its aliases.
///
/// # Shapes
///
/// `[…, size…]` with `N` sizes, each of which grows by its two amounts; negative amounts crop.
///
/// # Errors
///
/// Fewer dimensions than are padded, cropping more than there is, a number that the dtype cannot hold exactly.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[1.0_f32, 2.0]]);
/// let y = ConstantPad1d::new([2, 1], 0.5)?.call(x)?;
/// assert_eq!(y.to_vec::<f32>()?, [0.5, 0.5, 1.0, 2.0, 0.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct ConstantPad<const N: usize> {
    #[module(skip)]
    config: ConstantPadConfig<N>,
    #[module(skip)]
    amounts: Vec<isize>,
}

/// Constant padding of sequences, [`ConstantPad`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ConstantPad1d::new(1, 0.5)?;
/// let y = pad.call(Tensor::randn([3, 2, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ConstantPad1d = ConstantPad<1>;

/// Constant padding of images, [`ConstantPad`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ConstantPad2d::new(1, 0.5)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ConstantPad2d = ConstantPad<2>;

/// Constant padding of volumes, [`ConstantPad`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pad = ConstantPad3d::new(1, 0.5)?;
/// let y = pad.call(Tensor::randn([3, 2, 4, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 6, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type ConstantPad3d = ConstantPad<3>;

config! {
    /// The arguments of [`ConstantPad`]; those of [`ConstantPad1d`], [`ConstantPad2d`] and [`ConstantPad3d`] are [`ConstantPad1dConfig`],
    /// [`ConstantPad2dConfig`] and [`ConstantPad3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// let pad: ConstantPad<1> = ConstantPad1dConfig::new([1, -1], 9.0).build()?;
    /// assert_eq!(pad.call(x)?.to_vec::<f32>()?, [9.0, 1.0, 2.0]);
    /// let pad = ConstantPad2dConfig::new([1, 1, 0, 2], 0.5).build()?;
    /// assert_eq!(pad.call(Tensor::zeros([1, 4, 4], DType::F32)?)?.shape().to_string(), "[1, 6, 6]");
    /// let config: ConstantPadConfig<3> = ConstantPad3dConfig::new(1, 0.0);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ConstantPadConfig<const N: usize> => ConstantPad {
        required {
            /// One amount for every side, or the amounts before and after the last dimension, then before and after the
            /// second to last one, and so on.
            padding: OneOrEach<isize>,
            /// The fill value.
            value: Number,
        }
    }
}

/// The arguments of [`ConstantPad1d`].
pub type ConstantPad1dConfig = ConstantPadConfig<1>;

/// The arguments of [`ConstantPad2d`].
pub type ConstantPad2dConfig = ConstantPadConfig<2>;

/// The arguments of [`ConstantPad3d`].
pub type ConstantPad3dConfig = ConstantPadConfig<3>;

impl<const N: usize> Build for ConstantPadConfig<N> {
    type Output = ConstantPad<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Amounts for a wrong number of dimensions.
    fn build(&self) -> Result<ConstantPad<N>> {
        let amounts = self.padding.get(ConstantPad::<N>::NAME, "padding", 2 * N)?;
        let config = self.clone();
        Ok(ConstantPad { config, amounts })
    }
}

impl<const N: usize> ConstantPad<N> {
    const NAME: &'static str = of_dims::<N>(["ConstantPad1d", "ConstantPad2d", "ConstantPad3d"]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("padding=")?;
        tuple(f, self.amounts.iter())?;
        write!(f, ", value={}", Repr(&self.config.value))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> ConstantPadConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for ConstantPad<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let (value, dtype) = (*self.config.value, input.dtype());
        let value = match (dtype.is_floating_point(), value.fract() == 0.0) {
            (true, _) => Scalar::from(value),
            (false, true) => Scalar::from(value as i64),
            (false, false) => {
                let problem = format!("must be whole around a tensor of {dtype}");
                return Err(Error::argument(Self::NAME, "value", value, problem));
            }
        };
        input.pad(&self.amounts, PadMode::Constant(value))
    }
}
