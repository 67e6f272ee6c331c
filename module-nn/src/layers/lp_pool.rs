use std::fmt;

use module_core::module::{Number, Repr};
use module_core::{Error, Forward, Module, Result, Sizes, Tensor};

use super::spatial::of_dims;
use crate::config::{Build, check_positive_sizes, config};
use crate::functional::{LpPoolOptions, lp_pool};

/// The norm of each window, `(Σ xᵖ)^(1/p)`: the sum with `p = 1`, the maximum absolute value with `p = ∞`.
///
/// [`LPPool1d`], [`LPPool2d`] and [`LPPool3d`] are its aliases. As in PyTorch, the elements are not made positive, and a
/// window that ends outside is scaled up to a full one. Where a sum is 0, the gradient is 0.
///
/// Source: Gulcehre et al., *Learned-Norm Pooling for Deep Feedforward and Recurrent Neural Networks* (2014).
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch; each size becomes
/// `⌊(size - kernel)/stride⌋ + 1`, rounded up with `ceil_mode`.
///
/// # Errors
///
/// A wrong number of dimensions, a window larger than the input, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[3.0_f32, 4.0, 6.0, 8.0]]);
/// assert_eq!(LPPool1d::new(2.0, 2)?.call(x)?.to_vec::<f32>()?, [5.0, 10.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct LPPool<const N: usize> {
    #[module(skip)]
    config: LPPoolConfig<N>,
}

/// The norms of sequences, [`LPPool`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = LPPool1d::new(2, 2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type LPPool1d = LPPool<1>;

/// The norms of images, [`LPPool`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = LPPool2d::new(2, 2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type LPPool2d = LPPool<2>;

/// The norms of volumes, [`LPPool`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = LPPool3d::new(2, 2)?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type LPPool3d = LPPool<3>;

config! {
    /// The arguments of [`LPPool`]; those of [`LPPool1d`], [`LPPool2d`] and [`LPPool3d`] are [`LPPool1dConfig`],
    /// [`LPPool2dConfig`] and [`LPPool3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[3.0_f32, 4.0, 6.0, 8.0, 5.0]]);
    /// let pool: LPPool<1> = LPPool1dConfig::new(1.0, 2).stride(2).ceil_mode(true).build()?;
    /// // The last window has one element, and counts as if it had two.
    /// assert_eq!(pool.call(x)?.to_vec::<f32>()?, [7.0, 14.0, 10.0]);
    /// let text = "LPPool2d(norm_type=2, kernel_size=3, stride=1, ceil_mode=False)";
    /// assert_eq!(LPPool2dConfig::new(2, 3).stride(1).build()?.tree().to_string(), text);
    /// let config: LPPoolConfig<3> = LPPool3dConfig::new(2.0, (1, 2, 2));
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LPPoolConfig<const N: usize> => LPPool {
        required {
            /// The power `p`, not 0; it may be infinite.
            norm_type: Number,
            /// The size of the window.
            kernel_size: Sizes<N>,
        }
        optional {
            /// The step of the window; by default its size.
            stride: Option<Sizes<N>> = None,
            /// Whether a last window that starts inside but ends outside is included.
            ceil_mode: bool = false,
        }
    }
}

/// The arguments of [`LPPool1d`].
pub type LPPool1dConfig = LPPoolConfig<1>;

/// The arguments of [`LPPool2d`].
pub type LPPool2dConfig = LPPoolConfig<2>;

/// The arguments of [`LPPool3d`].
pub type LPPool3dConfig = LPPoolConfig<3>;

impl<const N: usize> Build for LPPoolConfig<N> {
    type Output = LPPool<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A power of 0 or NaN, a zero window or stride.
    fn build(&self) -> Result<LPPool<N>> {
        let name = LPPool::<N>::NAME;
        check_positive_sizes(name, "kernel_size", self.kernel_size)?;
        check_positive_sizes(name, "stride", self.stride.unwrap_or(self.kernel_size))?;
        if *self.norm_type == 0.0 || self.norm_type.is_nan() {
            let problem = "must be a number other than 0";
            return Err(Error::argument(name, "norm_type", self.norm_type, problem));
        }
        let config = self.clone();
        Ok(LPPool { config })
    }
}

impl<const N: usize> LPPool<N> {
    const NAME: &'static str = of_dims::<N>(["LPPool1d", "LPPool2d", "LPPool3d"]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        let stride = config.stride.map(|stride| stride.as_given().to_string());
        write!(
            f,
            "norm_type={}, kernel_size={}, stride={}, ceil_mode={}",
            Repr(&config.norm_type),
            config.kernel_size.as_given(),
            stride.as_deref().unwrap_or("None"),
            Repr(&config.ceil_mode),
        )
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LPPoolConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for LPPool<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let config = &self.config;
        let options = LpPoolOptions::new(config.kernel_size.get())
            .stride(config.stride.unwrap_or(config.kernel_size).get())
            .ceil_mode(config.ceil_mode);
        lp_pool(&input, *config.norm_type, options)
    }
}
