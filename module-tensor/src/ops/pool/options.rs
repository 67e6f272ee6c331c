//! The options of max pooling.

#[cfg(doc)]
use crate::Tensor;

crate::options! {
    /// The options of [`Tensor::max_pool1d`], [`Tensor::max_pool2d`] and [`Tensor::max_pool3d`], with
    /// PyTorch's names and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{PoolOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 5.0, 2.0, 4.0, 3.0]]);
    /// let pool = |options| x.max_pool1d(options)?.to_vec::<f32>();
    /// assert_eq!(pool(PoolOptions::new([2]))?, [5.0, 4.0]);
    /// assert_eq!(pool(PoolOptions::new([2]).ceil_mode(true))?, [5.0, 4.0, 3.0]);
    /// assert_eq!(pool(PoolOptions::new([2]).stride([3]))?, [5.0, 4.0]);
    /// assert_eq!(pool(PoolOptions::new([2]).padding([1]))?, [1.0, 5.0, 4.0]);
    /// assert_eq!(pool(PoolOptions::new([2]).dilation([2]).stride([1]))?, [2.0, 5.0, 3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PoolOptions<const N: usize> {
        required {
            /// The size of the window.
            kernel_size: [usize; N],
        }
        optional {
            /// The step of the window.
            stride: [usize; N] = kernel_size,
            /// Padding around the input, which is never the maximum; at most half the window.
            padding: [usize; N] = [0; N],
            /// The distance between neighbors of the window.
            dilation: [usize; N] = [1; N],
            /// Whether a last window that starts inside but ends outside is included.
            ceil_mode: bool = false,
        }
    }
}

/// The options of [`Tensor::max_pool2d`].
pub type Pool2dOptions = PoolOptions<2>;
