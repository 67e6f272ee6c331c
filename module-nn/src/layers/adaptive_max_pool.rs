use std::fmt;

use module_core::{Forward, Module, Result, Tensor};

use super::WithIndices;
use super::spatial::of_dims;
use crate::OneOrEach;
use crate::config::{Build, config};

/// The maximum of each window, where the windows divide the input into a given output size: output `i` of `n` covers the
/// inputs from `⌊i·size/n⌋` to `⌈(i+1)·size/n⌉`.
///
/// [`AdaptiveMaxPool1d`], [`AdaptiveMaxPool2d`] and [`AdaptiveMaxPool3d`] are its aliases. Called with
/// [`WithIndices`]`(x)` it also returns the indices of the elements.
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch, to the same with the sizes `output_size`, in which
/// `None` keeps the input's size.
///
/// # Errors
///
/// A wrong number of dimensions, an input without elements.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::randn([1, 4, 7, 5], DType::F32)?;
/// assert_eq!(AdaptiveMaxPool2d::new(1)?.call(x.clone())?.shape().to_string(), "[1, 4, 1, 1]");
/// let wide = AdaptiveMaxPool2d::new([None, Some(3)])?;
/// assert_eq!(wide.call(x)?.shape().to_string(), "[1, 4, 7, 3]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct AdaptiveMaxPool<const N: usize> {
    #[module(skip)]
    config: AdaptiveMaxPoolConfig<N>,
    #[module(skip)]
    sizes: [Option<usize>; N],
}

/// The maxima of sequences, [`AdaptiveMaxPool`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = AdaptiveMaxPool1d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 2]");
/// # Ok::<(), Error>(())
/// ```
pub type AdaptiveMaxPool1d = AdaptiveMaxPool<1>;

/// The maxima of images, [`AdaptiveMaxPool`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = AdaptiveMaxPool2d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 2, 2]");
/// # Ok::<(), Error>(())
/// ```
pub type AdaptiveMaxPool2d = AdaptiveMaxPool<2>;

/// The maxima of volumes, [`AdaptiveMaxPool`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = AdaptiveMaxPool3d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 2, 2, 2]");
/// # Ok::<(), Error>(())
/// ```
pub type AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

config! {
    /// The arguments of [`AdaptiveMaxPool`]; those of [`AdaptiveMaxPool1d`], [`AdaptiveMaxPool2d`] and
    /// [`AdaptiveMaxPool3d`] are [`AdaptiveMaxPool1dConfig`], [`AdaptiveMaxPool2dConfig`] and
    /// [`AdaptiveMaxPool3dConfig`].
    ///
    /// For PyTorch's `return_indices`, call it with [`WithIndices`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let pool: AdaptiveMaxPool<1> = AdaptiveMaxPool1dConfig::new(2).build()?;
    /// let x = Tensor::from([[1.0_f32, 3.0, 2.0]]);
    /// let (y, indices) = pool.call(WithIndices(x))?;
    /// assert_eq!((y.to_vec::<f32>()?, indices.to_vec::<i64>()?), (vec![3.0, 3.0], vec![1, 1]));
    /// let text = "AdaptiveMaxPool2d(output_size=(None, 7))";
    /// assert_eq!(AdaptiveMaxPool2dConfig::new([None, Some(7)]).build()?.tree().to_string(), text);
    /// let config: AdaptiveMaxPoolConfig<3> = AdaptiveMaxPool3dConfig::new([1, 2, 2]);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AdaptiveMaxPoolConfig<const N: usize> => AdaptiveMaxPool {
        required {
            /// The size of the output, one for all dimensions or one for each; `None` keeps the input's.
            output_size: OneOrEach<Option<usize>>,
        }
    }
}

/// The arguments of [`AdaptiveMaxPool1d`].
pub type AdaptiveMaxPool1dConfig = AdaptiveMaxPoolConfig<1>;

/// The arguments of [`AdaptiveMaxPool2d`].
pub type AdaptiveMaxPool2dConfig = AdaptiveMaxPoolConfig<2>;

/// The arguments of [`AdaptiveMaxPool3d`].
pub type AdaptiveMaxPool3dConfig = AdaptiveMaxPoolConfig<3>;

impl<const N: usize> Build for AdaptiveMaxPoolConfig<N> {
    type Output = AdaptiveMaxPool<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Sizes for a wrong number of dimensions.
    fn build(&self) -> Result<AdaptiveMaxPool<N>> {
        let given = self
            .output_size
            .get(AdaptiveMaxPool::<N>::NAME, "output_size", N)?;
        let mut sizes = [None; N];
        sizes.copy_from_slice(&given);
        let config = self.clone();
        Ok(AdaptiveMaxPool { config, sizes })
    }
}

impl<const N: usize> AdaptiveMaxPool<N> {
    const NAME: &'static str = of_dims::<N>([
        "AdaptiveMaxPool1d",
        "AdaptiveMaxPool2d",
        "AdaptiveMaxPool3d",
    ]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "output_size={}", self.config.output_size)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> AdaptiveMaxPoolConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for AdaptiveMaxPool<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.adaptive_max_pool(self.sizes)
    }
}

impl<const N: usize> Forward<WithIndices> for AdaptiveMaxPool<N> {
    type Output = (Tensor, Tensor);

    fn forward(&self, WithIndices(input): WithIndices) -> Result<(Tensor, Tensor)> {
        input.adaptive_max_pool_with_indices(self.sizes)
    }
}
