use std::fmt;

use module_core::{AvgPoolOptions, Error, Forward, Module, Result, Sizes, Tensor};

use super::max_pool::check_windows;
use super::spatial::of_dims;
use crate::config::{Build, config};

/// The mean of each window.
///
/// [`AvgPool1d`], [`AvgPool2d`] and [`AvgPool3d`] are its aliases.
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch; each size becomes
/// `⌊(size + 2·padding - kernel)/stride⌋ + 1`, rounded up with `ceil_mode`.
///
/// # Errors
///
/// A wrong number of dimensions, a window larger than the padded input, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[1.0_f32, 4.0, 2.0, 3.0]]);
/// assert_eq!(AvgPool1d::new(2)?.call(x)?.to_vec::<f32>()?, [2.5, 2.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct AvgPool<const N: usize> {
    #[module(skip)]
    config: AvgPoolConfig<N>,
}

/// The means of sequences, [`AvgPool`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = AvgPool1d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type AvgPool1d = AvgPool<1>;

/// The means of images, [`AvgPool`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = AvgPool2d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type AvgPool2d = AvgPool<2>;

/// The means of volumes, [`AvgPool`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = AvgPool3d::new(2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type AvgPool3d = AvgPool<3>;

config! {
    /// The arguments of [`AvgPool`]; those of [`AvgPool1d`], [`AvgPool2d`] and [`AvgPool3d`] are [`AvgPool1dConfig`],
    /// [`AvgPool2dConfig`] and [`AvgPool3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[1.0_f32, 4.0, 2.0, 3.0]]);
    /// let config = AvgPool1dConfig::new(3).stride(2).padding(1).ceil_mode(true);
    /// let pool: AvgPool<1> = config.clone().build()?;
    /// assert_eq!(pool.call(x.clone())?.to_vec::<f32>()?, [5.0 / 3.0, 3.0, 1.5]);
    /// let pool = config.count_include_pad(false).build()?;
    /// assert_eq!(pool.call(x)?.to_vec::<f32>()?, [2.5, 3.0, 3.0]);
    ///
    /// // The sum of each window.
    /// let sums = AvgPool2dConfig::new(2).divisor_override(1).build()?;
    /// let y = sums.call(Tensor::from([[[1.0_f32, 2.0], [3.0, 4.0]]]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [10.0]);
    /// let config: AvgPoolConfig<3> = AvgPool3dConfig::new((1, 2, 2));
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AvgPoolConfig<const N: usize> => AvgPool {
        required {
            /// The size of the window.
            kernel_size: Sizes<N>,
        }
        optional {
            /// The step of the window.
            stride: Sizes<N> = kernel_size,
            /// Zeros around the input; at most half the window.
            padding: Sizes<N> = 0,
            /// Whether a last window that starts inside but ends outside is included.
            ceil_mode: bool = false,
            /// Whether the zeros of the padding count as elements.
            count_include_pad: bool = true,
            /// The divisor, instead of the number of elements. PyTorch has it only over two and three dimensions.
            divisor_override: Option<usize> = None,
        }
    }
}

/// The arguments of [`AvgPool1d`].
pub type AvgPool1dConfig = AvgPoolConfig<1>;

/// The arguments of [`AvgPool2d`].
pub type AvgPool2dConfig = AvgPoolConfig<2>;

/// The arguments of [`AvgPool3d`].
pub type AvgPool3dConfig = AvgPoolConfig<3>;

impl<const N: usize> Build for AvgPoolConfig<N> {
    type Output = AvgPool<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A zero window, stride or divisor, padding of more than half the window.
    fn build(&self) -> Result<AvgPool<N>> {
        let name = AvgPool::<N>::NAME;
        check_windows(name, self.kernel_size, self.stride, self.padding)?;
        if self.divisor_override == Some(0) {
            return Err(Error::argument(
                name,
                "divisor_override",
                0,
                "must not be 0",
            ));
        }
        let config = self.clone();
        Ok(AvgPool { config })
    }
}

impl<const N: usize> AvgPool<N> {
    const NAME: &'static str = of_dims::<N>(["AvgPool1d", "AvgPool2d", "AvgPool3d"]);

    /// In one dimension, PyTorch prints a single number as a tuple.
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = [
            self.config.kernel_size,
            self.config.stride,
            self.config.padding,
        ];
        let [kernel_size, stride, padding] = sizes.map(|sizes| match N {
            1 => sizes.to_string(),
            _ => sizes.as_given().to_string(),
        });
        write!(
            f,
            "kernel_size={kernel_size}, stride={stride}, padding={padding}"
        )
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> AvgPoolConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for AvgPool<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.avg_pool(
            AvgPoolOptions::new(self.config.kernel_size.get())
                .stride(self.config.stride.get())
                .padding(self.config.padding.get())
                .ceil_mode(self.config.ceil_mode)
                .count_include_pad(self.config.count_include_pad)
                .divisor_override(self.config.divisor_override),
        )
    }
}
