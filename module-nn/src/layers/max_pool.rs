use std::fmt;

use module_core::module::Repr;
use module_core::{Error, Forward, Module, PoolOptions, Result, Sizes, Tensor};

use super::WithIndices;
use super::spatial::of_dims;
use crate::config::{Build, check_positive_sizes, config};

/// The maximum of each window; NaN is treated as the maximum.
///
/// [`MaxPool1d`], [`MaxPool2d`] and [`MaxPool3d`] are its aliases. Called with [`WithIndices`]`(x)` it also returns the
/// indices of the elements.
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch; each size becomes
/// `⌊(size + 2·padding - dilation·(kernel - 1) - 1)/stride⌋ + 1`, rounded up with `ceil_mode`.
///
/// # Errors
///
/// A wrong number of dimensions, a window larger than the padded input.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::zeros([1, 3, 8, 8], DType::F32)?;
/// assert_eq!(MaxPool2d::new(2)?.call(x)?.shape().to_string(), "[1, 3, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct MaxPool<const N: usize> {
    #[module(skip)]
    config: MaxPoolConfig<N>,
}

/// The maxima of sequences, [`MaxPool`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = MaxPool1d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type MaxPool1d = MaxPool<1>;

/// The maxima of images, [`MaxPool`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = MaxPool2d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type MaxPool2d = MaxPool<2>;

/// The maxima of volumes, [`MaxPool`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = MaxPool3d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type MaxPool3d = MaxPool<3>;

config! {
    /// The arguments of [`MaxPool`]; those of [`MaxPool1d`], [`MaxPool2d`] and [`MaxPool3d`] are [`MaxPool1dConfig`],
    /// [`MaxPool2dConfig`] and [`MaxPool3dConfig`].
    ///
    /// For PyTorch's `return_indices`, call it with [`WithIndices`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[1.0_f32, 4.0, 2.0, 3.0]]);
    /// let config = MaxPool1dConfig::new(2).stride(2).padding(1).ceil_mode(true);
    /// let pool: MaxPool<1> = config.build()?;
    /// assert_eq!(pool.call(x.clone())?.to_vec::<f32>()?, [1.0, 4.0, 3.0]);
    /// let pool = MaxPool1dConfig::new(2).stride(1).dilation(2).build()?;
    /// assert_eq!(pool.call(x)?.to_vec::<f32>()?, [2.0, 4.0]);
    /// let pool = MaxPool2dConfig::new((1, 2)).build()?;
    /// assert_eq!(pool.call(Tensor::zeros([3, 4, 4], DType::F32)?)?.shape().to_string(), "[3, 4, 2]");
    /// let config: MaxPoolConfig<3> = MaxPool3dConfig::new(2);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MaxPoolConfig<const N: usize> => MaxPool {
        required {
            /// The size of the window.
            kernel_size: Sizes<N>,
        }
        optional {
            /// The step of the window.
            stride: Sizes<N> = kernel_size,
            /// Padding around the input, which is never the maximum; at most half the window.
            padding: Sizes<N> = 0,
            /// The spacing between window elements.
            dilation: Sizes<N> = 1,
            /// Whether a last window that starts inside but ends outside is included.
            ceil_mode: bool = false,
        }
    }
}

/// The arguments of [`MaxPool1d`].
pub type MaxPool1dConfig = MaxPoolConfig<1>;

/// The arguments of [`MaxPool2d`].
pub type MaxPool2dConfig = MaxPoolConfig<2>;

/// The arguments of [`MaxPool3d`].
pub type MaxPool3dConfig = MaxPoolConfig<3>;

impl<const N: usize> Build for MaxPoolConfig<N> {
    type Output = MaxPool<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A zero window, stride or dilation, padding of more than half the window.
    fn build(&self) -> Result<MaxPool<N>> {
        let name = MaxPool::<N>::NAME;
        check_windows(name, self.kernel_size, self.stride, self.padding)?;
        check_positive_sizes(name, "dilation", self.dilation)?;
        let config = self.clone();
        Ok(MaxPool { config })
    }
}

impl<const N: usize> MaxPoolConfig<N> {
    fn options(&self) -> PoolOptions<N> {
        PoolOptions::new(self.kernel_size.get())
            .stride(self.stride.get())
            .padding(self.padding.get())
            .dilation(self.dilation.get())
            .ceil_mode(self.ceil_mode)
    }
}

/// Checks of the windows that all pooling layers share.
pub(super) fn check_windows<const N: usize>(
    layer: &'static str,
    kernel_size: Sizes<N>,
    stride: Sizes<N>,
    padding: Sizes<N>,
) -> Result<()> {
    check_positive_sizes(layer, "kernel_size", kernel_size)?;
    check_positive_sizes(layer, "stride", stride)?;
    let mut pairs = padding.get().into_iter().zip(kernel_size.get());
    if pairs.any(|(padding, kernel)| padding > kernel / 2) {
        let problem = format!("must be at most half of kernel_size = {kernel_size}");
        return Err(Error::argument(layer, "padding", padding, problem));
    }
    Ok(())
}

impl<const N: usize> MaxPool<N> {
    const NAME: &'static str = of_dims::<N>(["MaxPool1d", "MaxPool2d", "MaxPool3d"]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        write!(
            f,
            "kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}",
            config.kernel_size.as_given(),
            config.stride.as_given(),
            config.padding.as_given(),
            config.dilation.as_given(),
            Repr(&config.ceil_mode),
        )
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> MaxPoolConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for MaxPool<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.max_pool(self.config.options())
    }
}

impl<const N: usize> Forward<WithIndices> for MaxPool<N> {
    type Output = (Tensor, Tensor);

    fn forward(&self, WithIndices(input): WithIndices) -> Result<(Tensor, Tensor)> {
        input.max_pool_with_indices(self.config.options())
    }
}
