//! Average pooling over one to three dimensions.

use super::AutocastPolicy;
use super::linear_map::LinearMap;
use super::pool::PoolOptions;
use super::window::name_by_dims;
use crate::backend::PoolDivisor;
use crate::tensor::Tensor;
use crate::{Error, Result};

crate::options! {
    /// The options of [`Tensor::avg_pool1d`], [`Tensor::avg_pool2d`] and [`Tensor::avg_pool3d`], with
    /// PyTorch's names and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{AvgPoolOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 5.0]]);
    /// let y = x.avg_pool1d(AvgPoolOptions::new([2]).stride([1]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    ///
    /// ```
    /// use module_tensor::{AvgPoolOptions, Tensor};
    ///
    /// // The last window is cut off, or has the one element that is left; and sums instead of means.
    /// let x = Tensor::from([[1.0_f32, 3.0, 5.0]]);
    /// let pool = |options| x.avg_pool1d(options)?.to_vec::<f32>();
    /// assert_eq!(pool(AvgPoolOptions::new([2]))?, [2.0]);
    /// assert_eq!(pool(AvgPoolOptions::new([2]).ceil_mode(true))?, [2.0, 5.0]);
    /// assert_eq!(pool(AvgPoolOptions::new([2]).divisor_override(1))?, [4.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AvgPoolOptions<const N: usize> {
        required {
            /// The size of the window.
            kernel_size: [usize; N],
        }
        optional {
            /// The step of the window.
            stride: [usize; N] = kernel_size,
            /// Zeros around the input; at most half the window.
            padding: [usize; N] = [0; N],
            /// Whether a last window that starts inside but ends outside is included.
            ceil_mode: bool = false,
            /// Whether the zeros of the padding count as elements.
            count_include_pad: bool = true,
            /// The divisor of the sums, instead of the number of elements.
            divisor_override: Option<usize> = None,
        }
    }
}

impl Tensor {
    /// The mean of each window of a sequence, as [`avg_pool2d`](Self::avg_pool2d).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, length]` or without the batch.
    ///
    /// # Errors
    ///
    /// Those of [`avg_pool2d`](Self::avg_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{AvgPoolOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 4.0, 2.0, 3.0, 5.0]]);
    /// assert_eq!(x.avg_pool1d(AvgPoolOptions::new([2]))?.to_vec::<f32>()?, [2.5, 2.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn avg_pool1d(&self, options: AvgPoolOptions<1>) -> Result<Self> {
        self.avg_pool(options)
    }

    /// The mean of each window: the sum of its elements divided by their number, which includes the zeros of the padding
    /// unless `count_include_pad` is false.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, height, width]` or without the batch.
    ///
    /// # Errors
    ///
    /// A wrong number of dimensions, a zero window, stride or divisor, padding of more than half the window, a window
    /// larger than the padded input, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{AvgPoolOptions, Tensor};
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 6.0]).reshape([1, 2, 2])?;
    /// let padded = AvgPoolOptions::new([2, 2]).padding([1, 1]).count_include_pad(false);
    /// assert_eq!(x.avg_pool2d(AvgPoolOptions::new([2, 2]))?.to_vec::<f32>()?, [3.0]);
    /// assert_eq!(x.avg_pool2d(padded)?.to_vec::<f32>()?, [1.0, 2.0, 3.0, 6.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn avg_pool2d(&self, options: AvgPoolOptions<2>) -> Result<Self> {
        self.avg_pool(options)
    }

    /// The mean of each window of a volume, as [`avg_pool2d`](Self::avg_pool2d).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, depth, height, width]` or without the batch.
    ///
    /// # Errors
    ///
    /// Those of [`avg_pool2d`](Self::avg_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{AvgPoolOptions, Tensor};
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 6.0]).reshape([1, 2, 1, 2])?;
    /// assert_eq!(x.avg_pool3d(AvgPoolOptions::new([2, 1, 2]))?.to_vec::<f32>()?, [3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn avg_pool3d(&self, options: AvgPoolOptions<3>) -> Result<Self> {
        self.avg_pool(options)
    }

    /// [`avg_pool1d`](Self::avg_pool1d), [`avg_pool2d`](Self::avg_pool2d) or
    /// [`avg_pool3d`](Self::avg_pool3d), as the options are for `N` dimensions.
    ///
    /// # Errors
    ///
    /// Those of [`avg_pool2d`](Self::avg_pool2d), and `N` that is not 1, 2 or 3.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{AvgPoolOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 4.0, 2.0, 3.0]]);
    /// assert_eq!(x.avg_pool(AvgPoolOptions::new([2]))?.to_vec::<f32>()?, [2.5, 2.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn avg_pool<const N: usize>(&self, options: AvgPoolOptions<N>) -> Result<Self> {
        if N == 3
            && let Some(out) =
                AutocastPolicy::Float32.apply([self], [], |[x], []| x.avg_pool(options))
        {
            return out;
        }
        let name = name_by_dims::<N>(["avg_pool1d", "avg_pool2d", "avg_pool3d"]);
        let (input, batched) = self.batched::<N>(name)?;
        input.check_floating(name)?;
        input.check_channels(name)?;
        if options.divisor_override == Some(0) {
            return Err(Error::argument(
                name,
                "divisor_override",
                0,
                "must not be 0",
            ));
        }
        let windows = PoolOptions::new(options.kernel_size)
            .stride(options.stride)
            .padding(options.padding)
            .dilation([1; N])
            .ceil_mode(options.ceil_mode);
        let divisor = match options.divisor_override {
            Some(divisor) => PoolDivisor::Override(divisor),
            None if options.count_include_pad => PoolDivisor::WithPadding,
            None => PoolDivisor::Inside,
        };
        let map = LinearMap::AvgPool(self.sliding(name, &input, windows)?, divisor);
        input.apply_map(name, map)?.unbatched(batched)
    }
}
