use module_core::{Error, Forward, Module, Result, Sizes, Tensor};

use super::WithIndices;
use super::spatial::{check_images, of_dims};
use crate::config::{Build, check_positive_sizes, config};

/// The maximum of each window, where the windows are spread over the input at random, so that any output size is
/// possible; see [`Tensor::fractional_max_pool`].
///
/// [`FractionalMaxPool2d`] and [`FractionalMaxPool3d`] are its aliases. The samples are redrawn in each pass, also in
/// evaluation, for each channel of each element of the batch. Called with [`WithIndices`]`(x)` it also returns the
/// indices of the elements.
///
/// Source: Graham, *Fractional Max-Pooling* (2014).
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch, to the same with `output_size` or
/// `⌊size · output_ratio⌋`.
///
/// # Errors
///
/// A wrong number of dimensions, fewer than `kernel + out - 1` elements in a dimension, a dtype that is not
/// floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool = FractionalMaxPool2dConfig::new(2).output_ratio(0.7).build()?;
/// let x = Tensor::randn([1, 3, 10, 20], DType::F32)?;
/// assert_eq!(pool.call(x)?.shape().to_string(), "[1, 3, 7, 14]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct FractionalMaxPool<const N: usize> {
    #[module(skip)]
    config: FractionalMaxPoolConfig<N>,
}

/// The maxima of images, [`FractionalMaxPool`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool: FractionalMaxPool2d = FractionalMaxPool2dConfig::new(2).output_size(3).build()?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 3, 3]");
/// # Ok::<(), Error>(())
/// ```
pub type FractionalMaxPool2d = FractionalMaxPool<2>;

/// The maxima of volumes, [`FractionalMaxPool`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let pool: FractionalMaxPool3d = FractionalMaxPool3dConfig::new(2).output_size(3).build()?;
/// let y = pool.call(Tensor::randn([3, 2, 8, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 3, 3, 3]");
/// # Ok::<(), Error>(())
/// ```
pub type FractionalMaxPool3d = FractionalMaxPool<3>;

config! {
    /// The arguments of [`FractionalMaxPool`], of which either `output_size` or `output_ratio` is given; those of
    /// [`FractionalMaxPool2d`] and [`FractionalMaxPool3d`] are [`FractionalMaxPool2dConfig`] and
    /// [`FractionalMaxPool3dConfig`].
    ///
    /// For PyTorch's `return_indices`, call it with [`WithIndices`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let pool: FractionalMaxPool<2> = FractionalMaxPool2dConfig::new(2).output_size([3, 4]).build()?;
    /// let (y, indices) = pool.call(WithIndices(Tensor::randn([1, 8, 8], DType::F32)?))?;
    /// assert_eq!((y.shape().to_string().as_str(), indices.dtype()), ("[1, 3, 4]", DType::I64));
    /// let config: FractionalMaxPoolConfig<3> = FractionalMaxPool3dConfig::new(2).output_ratio(0.5);
    /// let pool: FractionalMaxPool3d = config.build()?;
    /// assert_eq!(pool.config(), config);
    /// assert!(FractionalMaxPool2dConfig::new(2).build().is_err()); // The size is missing.
    /// # Ok::<(), Error>(())
    /// ```
    pub struct FractionalMaxPoolConfig<const N: usize> {
        required {
            /// The size of the window.
            kernel_size: Sizes<N>,
        }
        optional {
            /// The size of the output.
            output_size: Option<Sizes<N>> = None,
            /// The ratio of the output size to the input size, between 0 and 1.
            output_ratio: Option<Sizes<N, f64>> = None,
        }
    }
}

/// The arguments of [`FractionalMaxPool2d`].
pub type FractionalMaxPool2dConfig = FractionalMaxPoolConfig<2>;

/// The arguments of [`FractionalMaxPool3d`].
pub type FractionalMaxPool3dConfig = FractionalMaxPoolConfig<3>;

impl<const N: usize> Build for FractionalMaxPoolConfig<N> {
    type Output = FractionalMaxPool<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A zero window or output, a ratio that is not between 0 and 1, neither or both of `output_size` and
    /// `output_ratio`.
    fn build(&self) -> Result<FractionalMaxPool<N>> {
        let name = FractionalMaxPool::<N>::NAME;
        check_positive_sizes(name, "kernel_size", self.kernel_size)?;
        match (self.output_size, self.output_ratio) {
            (Some(size), None) => check_positive_sizes(name, "output_size", size)?,
            (None, Some(ratio)) => {
                if !ratio.get().iter().all(|&ratio| 0.0 < ratio && ratio < 1.0) {
                    let problem = "must be between 0 and 1";
                    return Err(Error::argument(name, "output_ratio", ratio, problem));
                }
            }
            (None, None) => {
                let problem = "either it or output_ratio must be given";
                return Err(Error::argument(name, "output_size", "None", problem));
            }
            (Some(size), Some(ratio)) => {
                let problem = format!("cannot be given together with output_ratio = {ratio}");
                return Err(Error::argument(name, "output_size", size, problem));
            }
        }
        let config = self.clone();
        Ok(FractionalMaxPool { config })
    }
}

/// Written by hand, because the required argument alone, as in `new`, does not make a layer.
impl<const N: usize> FractionalMaxPoolConfig<N> {
    /// The [`FractionalMaxPool`].
    ///
    /// # Errors
    ///
    /// Those that [`Build`] of this configuration lists.
    pub fn build(&self) -> Result<FractionalMaxPool<N>> {
        Build::build(self)
    }
}

impl<const N: usize> FractionalMaxPool<N> {
    const NAME: &'static str = of_dims::<N>([
        "FractionalMaxPool1d",
        "FractionalMaxPool2d",
        "FractionalMaxPool3d",
    ]);

    /// PyTorch prints nothing.
    fn extra_repr(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> FractionalMaxPoolConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for FractionalMaxPool<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        Ok(self.forward(WithIndices(input))?.0)
    }
}

impl<const N: usize> Forward<WithIndices> for FractionalMaxPool<N> {
    type Output = (Tensor, Tensor);

    fn forward(&self, WithIndices(input): WithIndices) -> Result<(Tensor, Tensor)> {
        check_images::<N>(Self::NAME, &input)?;
        let FractionalMaxPoolConfig {
            kernel_size,
            output_size,
            output_ratio,
        } = self.config;
        let lead = input.rank() - N;
        let mut size = [0; N];
        for (d, &from) in input.shape().iter().skip(lead).enumerate() {
            size[d] = match (output_size, output_ratio) {
                (Some(size), _) => size.get()[d],
                (None, Some(ratio)) => (from as f64 * ratio.get()[d]) as usize,
                (None, None) => from,
            };
        }
        let batch = if lead == 2 { input.shape()[0] } else { 1 };
        let samples = [batch, input.shape()[lead - 1], N];
        let samples = Tensor::rand(samples, input.dtype())?.to_device(&input.device())?;
        input.fractional_max_pool(kernel_size.get(), size, &samples)
    }
}
