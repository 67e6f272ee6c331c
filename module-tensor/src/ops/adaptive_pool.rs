//! Adaptive pooling, to a given size: one window per output element, of sizes as equal as possible.

use super::AutocastPolicy;
use super::linear_map::LinearMap;
use super::window::name_by_dims;
use crate::Result;
use crate::backend::{PoolDivisor, PoolGeometry, PoolWindows};
use crate::tensor::Tensor;

/// The size of the output of adaptive pooling, for each spatial dimension; `None` keeps the input's.
///
/// # Example
///
/// ```
/// use module_tensor::{AdaptiveSize, DType, Tensor};
///
/// let x = Tensor::ones([1, 3, 8, 6], DType::F32)?;
/// assert_eq!(AdaptiveSize::from([2, 3]), AdaptiveSize([Some(2), Some(3)]));
/// let y = x.adaptive_avg_pool2d(AdaptiveSize([None, Some(1)]))?;
/// assert_eq!(y.shape().to_string(), "[1, 3, 8, 1]");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveSize<const N: usize>(pub [Option<usize>; N]);

impl<const N: usize> From<usize> for AdaptiveSize<N> {
    fn from(size: usize) -> Self {
        Self([Some(size); N])
    }
}

impl<const N: usize> From<[usize; N]> for AdaptiveSize<N> {
    fn from(sizes: [usize; N]) -> Self {
        Self(sizes.map(Some))
    }
}

impl<const N: usize> From<[Option<usize>; N]> for AdaptiveSize<N> {
    fn from(sizes: [Option<usize>; N]) -> Self {
        Self(sizes)
    }
}

impl Tensor {
    /// The means of windows that cut a sequence into a given size, as [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, length]` or without the batch; `output_size` is a number, numbers, or numbers of
    /// which `None` keeps the input's.
    ///
    /// # Errors
    ///
    /// Those of [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// assert_eq!(x.adaptive_avg_pool1d([2])?.to_vec::<f32>()?, [1.5, 2.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_avg_pool1d(&self, output_size: impl Into<AdaptiveSize<1>>) -> Result<Self> {
        self.adaptive_avg_pool::<1>(output_size)
    }

    /// The maxima of windows that cut a sequence into a given size, as [`adaptive_avg_pool1d`](Self::adaptive_avg_pool1d)
    /// chooses them; NaN counts as the greatest.
    ///
    /// # Errors
    ///
    /// A wrong number of dimensions, a spatial dimension without elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// assert_eq!(x.adaptive_max_pool1d([2])?.to_vec::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_max_pool1d(&self, output_size: impl Into<AdaptiveSize<1>>) -> Result<Self> {
        self.adaptive_max_pool::<1>(output_size)
    }

    /// [`adaptive_max_pool1d`](Self::adaptive_max_pool1d) with the indices of the maxima in the flattened
    /// sequence, as `I64`.
    ///
    /// # Errors
    ///
    /// Those of [`adaptive_max_pool1d`](Self::adaptive_max_pool1d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// let (_, indices) = x.adaptive_max_pool1d_with_indices([2])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_max_pool1d_with_indices(
        &self,
        output_size: impl Into<AdaptiveSize<1>>,
    ) -> Result<(Self, Self)> {
        self.adaptive_max_pool_with_indices::<1>(output_size)
    }

    /// The means of windows that cut an image into a given size.
    ///
    /// Output element `i` of `n` covers the input elements from `⌊i·size/n⌋` up to but not including
    /// `⌈(i+1)·size/n⌉`.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, height, width]` or without the batch; `output_size` is a number, numbers, or numbers of
    /// which `None` keeps the input's.
    ///
    /// # Errors
    ///
    /// A wrong number of dimensions, a spatial dimension without elements, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).reshape([1, 2, 3])?;
    /// assert_eq!(x.adaptive_avg_pool2d([1, 2])?.to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_avg_pool2d(&self, output_size: impl Into<AdaptiveSize<2>>) -> Result<Self> {
        self.adaptive_avg_pool::<2>(output_size)
    }

    /// The maxima of windows that cut an image into a given size, as [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d)
    /// chooses them; NaN counts as the greatest.
    ///
    /// # Errors
    ///
    /// A wrong number of dimensions, a spatial dimension without elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).reshape([1, 2, 3])?;
    /// assert_eq!(x.adaptive_max_pool2d([1, 2])?.to_vec::<f32>()?, [5.0, 6.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_max_pool2d(&self, output_size: impl Into<AdaptiveSize<2>>) -> Result<Self> {
        self.adaptive_max_pool::<2>(output_size)
    }

    /// [`adaptive_max_pool2d`](Self::adaptive_max_pool2d) with the indices of the maxima in the flattened
    /// image, as `I64`.
    ///
    /// # Errors
    ///
    /// Those of [`adaptive_max_pool2d`](Self::adaptive_max_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).reshape([1, 2, 3])?;
    /// let (_, indices) = x.adaptive_max_pool2d_with_indices([1, 2])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [4, 5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_max_pool2d_with_indices(
        &self,
        output_size: impl Into<AdaptiveSize<2>>,
    ) -> Result<(Self, Self)> {
        self.adaptive_max_pool_with_indices::<2>(output_size)
    }

    /// The means of windows that cut a volume into a given size, as [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, depth, height, width]` or without the batch; `output_size` is a number, numbers, or numbers of
    /// which `None` keeps the input's.
    ///
    /// # Errors
    ///
    /// Those of [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).reshape([1, 2, 1, 3])?;
    /// assert_eq!(x.adaptive_avg_pool3d([1, 1, 2])?.to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_avg_pool3d(&self, output_size: impl Into<AdaptiveSize<3>>) -> Result<Self> {
        self.adaptive_avg_pool::<3>(output_size)
    }

    /// The maxima of windows that cut a volume into a given size, as [`adaptive_avg_pool3d`](Self::adaptive_avg_pool3d)
    /// chooses them; NaN counts as the greatest.
    ///
    /// # Errors
    ///
    /// A wrong number of dimensions, a spatial dimension without elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).reshape([1, 2, 1, 3])?;
    /// assert_eq!(x.adaptive_max_pool3d([1, 1, 2])?.to_vec::<f32>()?, [5.0, 6.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_max_pool3d(&self, output_size: impl Into<AdaptiveSize<3>>) -> Result<Self> {
        self.adaptive_max_pool::<3>(output_size)
    }

    /// [`adaptive_max_pool3d`](Self::adaptive_max_pool3d) with the indices of the maxima in the flattened
    /// volume, as `I64`.
    ///
    /// # Errors
    ///
    /// Those of [`adaptive_max_pool3d`](Self::adaptive_max_pool3d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).reshape([1, 2, 1, 3])?;
    /// let (_, indices) = x.adaptive_max_pool3d_with_indices([1, 1, 2])?;
    /// assert_eq!(indices.to_vec::<i64>()?, [4, 5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_max_pool3d_with_indices(
        &self,
        output_size: impl Into<AdaptiveSize<3>>,
    ) -> Result<(Self, Self)> {
        self.adaptive_max_pool_with_indices::<3>(output_size)
    }

    /// The geometry of windows that cut this tensor, `[batch, channels, size…]`, into a given size.
    fn adaptive<const N: usize>(
        &self,
        op: &'static str,
        output_size: AdaptiveSize<N>,
    ) -> Result<PoolGeometry> {
        let sizes = self.spatial::<N>();
        if sizes.contains(&0) {
            let expected = "spatial dimensions that are not empty";
            return Err(self.shape().error(op, expected));
        }
        let counts = std::array::from_fn::<_, N, _>(|d| output_size.0[d].unwrap_or(sizes[d]));
        Ok(self.pool_geometry(PoolWindows::Adaptive, counts))
    }

    /// [`adaptive_avg_pool1d`](Self::adaptive_avg_pool1d),
    /// [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d) or
    /// [`adaptive_avg_pool3d`](Self::adaptive_avg_pool3d), as the size is for `N` dimensions.
    ///
    /// # Errors
    ///
    /// Those of [`adaptive_avg_pool2d`](Self::adaptive_avg_pool2d), and `N` that is not 1, 2 or 3.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// assert_eq!(x.adaptive_avg_pool::<1>(2)?.to_vec::<f32>()?, [1.5, 2.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_avg_pool<const N: usize>(
        &self,
        output_size: impl Into<AdaptiveSize<N>>,
    ) -> Result<Self> {
        let output_size = output_size.into();
        if N == 3
            && let Some(out) = AutocastPolicy::Float32
                .apply([self], [], |[x], []| x.adaptive_avg_pool(output_size))
        {
            return out;
        }
        let name = name_by_dims::<N>([
            "adaptive_avg_pool1d",
            "adaptive_avg_pool2d",
            "adaptive_avg_pool3d",
        ]);
        let (input, batched) = self.batched::<N>(name)?;
        input.check_floating(name)?;
        if batched && N == 3 {
            input.check_channels(name)?;
        }
        let geometry = input.adaptive(name, output_size)?;
        let map = LinearMap::AvgPool(geometry, PoolDivisor::Inside);
        input.apply_map(name, map)?.unbatched(batched)
    }

    /// [`adaptive_max_pool1d`](Self::adaptive_max_pool1d),
    /// [`adaptive_max_pool2d`](Self::adaptive_max_pool2d) or
    /// [`adaptive_max_pool3d`](Self::adaptive_max_pool3d), as the size is for `N` dimensions.
    ///
    /// # Errors
    ///
    /// Those of [`adaptive_max_pool2d`](Self::adaptive_max_pool2d), and `N` that is not 1, 2 or 3.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// assert_eq!(x.adaptive_max_pool::<1>(2)?.to_vec::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_max_pool<const N: usize>(
        &self,
        output_size: impl Into<AdaptiveSize<N>>,
    ) -> Result<Self> {
        let output_size = output_size.into();
        if N == 3
            && let Some(out) = AutocastPolicy::Float32
                .apply([self], [], |[x], []| x.adaptive_max_pool(output_size))
        {
            return out;
        }
        let (input, geometry, batched) = self.adaptive_max_geometry(output_size)?;
        input.max_of_windows(adaptive_max_name::<N>(), &geometry, batched)
    }

    /// [`adaptive_max_pool`](Self::adaptive_max_pool) with the indices of the maxima in the flattened
    /// spatial dimensions, as `I64`.
    ///
    /// # Errors
    ///
    /// Those of [`adaptive_max_pool`](Self::adaptive_max_pool).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
    /// let (_, indices) = x.adaptive_max_pool_with_indices::<1>(2)?;
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn adaptive_max_pool_with_indices<const N: usize>(
        &self,
        output_size: impl Into<AdaptiveSize<N>>,
    ) -> Result<(Self, Self)> {
        let output_size = output_size.into();
        if N == 3
            && let Some(out) = AutocastPolicy::Float32.apply([self], [], |[x], []| {
                x.adaptive_max_pool_with_indices(output_size)
            })
        {
            return out;
        }
        let (input, geometry, batched) = self.adaptive_max_geometry(output_size)?;
        input.max_of_windows_with_indices(adaptive_max_name::<N>(), &geometry, batched)
    }

    /// The input with a batch, the windows, and whether it had a batch.
    fn adaptive_max_geometry<const N: usize>(
        &self,
        output_size: AdaptiveSize<N>,
    ) -> Result<(Self, PoolGeometry, bool)> {
        let name = adaptive_max_name::<N>();
        let (input, batched) = self.batched::<N>(name)?;
        if batched {
            input.check_channels(name)?;
        }
        let geometry = input.adaptive(name, output_size)?;
        Ok((input, geometry, batched))
    }
}

fn adaptive_max_name<const N: usize>() -> &'static str {
    name_by_dims::<N>([
        "adaptive_max_pool1d",
        "adaptive_max_pool2d",
        "adaptive_max_pool3d",
    ])
}
