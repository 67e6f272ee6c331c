use std::fmt;

use module_core::{Forward, Module, Result, Tensor};

use super::spatial::of_dims;
use crate::OneOrEach;
use crate::config::{Build, config};

/// The mean of each window, where the windows divide the input into a given output size: output `i` of `n` covers the
/// inputs from `⌊i·size/n⌋` to `⌈(i+1)·size/n⌉`.
///
/// [`AdaptiveAvgPool1d`], [`AdaptiveAvgPool2d`] and [`AdaptiveAvgPool3d`] are its aliases.
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch, to the same with the sizes `output_size`, in which
/// `None` keeps the input's size.
///
/// # Errors
///
/// A wrong number of dimensions, an input without elements, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::randn([1, 4, 7, 5], DType::F32)?;
/// assert_eq!(AdaptiveAvgPool2d::new(1)?.call(x.clone())?.shape().to_string(), "[1, 4, 1, 1]");
/// let wide = AdaptiveAvgPool2d::new([None, Some(3)])?;
/// assert_eq!(wide.call(x)?.shape().to_string(), "[1, 4, 7, 3]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct AdaptiveAvgPool<const N: usize> {
    #[module(skip)]
    config: AdaptiveAvgPoolConfig<N>,
    #[module(skip)]
    sizes: [Option<usize>; N],
}

/// The means of sequences, [`AdaptiveAvgPool`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = AdaptiveAvgPool1d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 2]");
/// # Ok::<(), Error>(())
/// ```
pub type AdaptiveAvgPool1d = AdaptiveAvgPool<1>;

/// The means of images, [`AdaptiveAvgPool`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = AdaptiveAvgPool2d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 2, 2]");
/// # Ok::<(), Error>(())
/// ```
pub type AdaptiveAvgPool2d = AdaptiveAvgPool<2>;

/// The means of volumes, [`AdaptiveAvgPool`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = AdaptiveAvgPool3d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 2, 2, 2]");
/// # Ok::<(), Error>(())
/// ```
pub type AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

config! {
    /// The arguments of [`AdaptiveAvgPool`]; those of [`AdaptiveAvgPool1d`], [`AdaptiveAvgPool2d`] and [`AdaptiveAvgPool3d`] are [`AdaptiveAvgPool1dConfig`],
    /// [`AdaptiveAvgPool2dConfig`] and [`AdaptiveAvgPool3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let pool: AdaptiveAvgPool<1> = AdaptiveAvgPool1dConfig::new(2).build()?;
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// assert_eq!(pool.call(x)?.to_vec::<f32>()?, [1.5, 2.5]);
    /// let text = "AdaptiveAvgPool2d(output_size=(None, 7))";
    /// assert_eq!(AdaptiveAvgPool2dConfig::new([None, Some(7)]).build()?.tree().to_string(), text);
    /// let config: AdaptiveAvgPoolConfig<3> = AdaptiveAvgPool3dConfig::new([1, 2, 2]);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AdaptiveAvgPoolConfig<const N: usize> => AdaptiveAvgPool {
        required {
            /// The size of the output, one for all dimensions or one for each; `None` keeps the input's.
            output_size: OneOrEach<Option<usize>>,
        }
    }
}

/// The arguments of [`AdaptiveAvgPool1d`].
pub type AdaptiveAvgPool1dConfig = AdaptiveAvgPoolConfig<1>;

/// The arguments of [`AdaptiveAvgPool2d`].
pub type AdaptiveAvgPool2dConfig = AdaptiveAvgPoolConfig<2>;

/// The arguments of [`AdaptiveAvgPool3d`].
pub type AdaptiveAvgPool3dConfig = AdaptiveAvgPoolConfig<3>;

impl<const N: usize> Build for AdaptiveAvgPoolConfig<N> {
    type Output = AdaptiveAvgPool<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Sizes for a wrong number of dimensions.
    fn build(&self) -> Result<AdaptiveAvgPool<N>> {
        let given = self
            .output_size
            .get(AdaptiveAvgPool::<N>::NAME, "output_size", N)?;
        let mut sizes = [None; N];
        sizes.copy_from_slice(&given);
        let config = self.clone();
        Ok(AdaptiveAvgPool { config, sizes })
    }
}

impl<const N: usize> AdaptiveAvgPool<N> {
    const NAME: &'static str = of_dims::<N>([
        "AdaptiveAvgPool1d",
        "AdaptiveAvgPool2d",
        "AdaptiveAvgPool3d",
    ]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "output_size={}", self.config.output_size)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> AdaptiveAvgPoolConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for AdaptiveAvgPool<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.adaptive_avg_pool(self.sizes)
    }
}
