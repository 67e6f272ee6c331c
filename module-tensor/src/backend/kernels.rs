//! The kernels that every device must implement.

use std::any::Any;
use std::ops::RangeInclusive;

use super::{
    ArgReduceOp, AttentionKernels, BinaryOp, CompareOp, ConvGeometry, ConvOp, CrossEntropyKernels,
    CtcKernels, DeviceGenerator, DropoutKernels, FillRange, GatherAlongGeometry, GridSampleKernels,
    HostData, LinearOp, NormKernels, Operand, PoolDivisor, PoolGeometry, RecurrentKernels,
    ReduceOp, ResampleGeometry, SampleGeometry, SampleOp, SharedBytes, SoftmaxKernels, SoftmaxOp,
    Storage, UnaryOp, UnfoldGeometry, UnfoldOp, UpdateKernels, composed,
};
use crate::layout::Layout;
use crate::{DType, Result, Scalar};

/// The kernels of a device, one method for each family.
///
/// Callers have checked shapes, dtypes, devices and argument ranges; every result is contiguous. Kernels without an errors
/// section have the errors of [`unary`](Self::unary). The families of kernels that do several steps at once, at the end, may be
/// missing, and are then composed of the others. If a device does not support something, such as a dtype, the error is
/// [`DTypeError::Unsupported`](crate::DTypeError::Unsupported) or
/// [`DeviceError::Unavailable`](crate::DeviceError::Unavailable) ([`Device::unavailable`](super::Device::unavailable)).
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// let backend = Device::cpu().backend();
/// assert_eq!((backend.kind(), backend.index()), ("cpu", 0));
/// ```
pub trait Backend: Any + Send + Sync {
    /// The kind of the device, in PyTorch's terms: `cpu`, `cuda`.
    fn kind(&self) -> &str;

    /// The index of the device among those of its kind, counted from 0.
    fn index(&self) -> usize {
        0
    }

    /// Waits until everything requested has been done. An asynchronous device reports its errors here at the latest.
    ///
    /// # Errors
    ///
    /// Errors since the last call.
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    /// Copies elements of another device in row-major order, if this device can access them without going through host
    /// memory; with `None`, they are downloaded and uploaded.
    ///
    /// # Errors
    ///
    /// Those of [`upload`](Self::upload).
    fn copy_from(&self, _x: &Operand) -> Result<Option<Storage>> {
        Ok(None)
    }

    /// Returns cached memory to the system.
    fn empty_cache(&self) {}

    /// This device's own source of random numbers; with `None`, they are drawn on the CPU and uploaded.
    fn generator(&self, _seed: u64) -> Option<Box<dyn DeviceGenerator>> {
        None
    }

    /// Moves host memory to the device. A device may return before the elements have arrived.
    ///
    /// # Errors
    ///
    /// [`DeviceError::OutOfMemory`](crate::DeviceError::OutOfMemory), [`DeviceError::Failed`](crate::DeviceError::Failed).
    fn upload(&self, data: HostData) -> Result<Storage>;

    /// Uses elements in host memory, little-endian, which stay there as long as they are needed: a device that can read
    /// host memory need not copy them.
    ///
    /// # Errors
    ///
    /// Those of [`upload`](Self::upload).
    fn borrow(&self, bytes: SharedBytes, dtype: DType) -> Result<Storage> {
        self.upload(HostData::from_le_bytes(dtype, bytes.as_ref()))
    }

    /// Copies elements to host memory, in row-major order.
    ///
    /// # Errors
    ///
    /// A device error.
    fn download(&self, x: &Operand) -> Result<HostData>;

    /// `numel` elements of one value.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    fn full(&self, numel: usize, dtype: DType, value: Scalar) -> Result<Storage>;

    /// The same elements in row-major order.
    fn contiguous(&self, x: Operand) -> Result<Storage>;

    /// The same elements as another dtype; for a complex number, which is only cast to booleans, the real part.
    fn cast(&self, x: Operand, dtype: DType) -> Result<Storage>;

    /// A function of one element.
    ///
    /// # Errors
    ///
    /// Those of [`full`](Self::full), and a dtype that the operation does not support.
    fn unary(&self, op: UnaryOp, x: Operand) -> Result<Storage>;

    /// A function of each element of `x`, times `factor`, which has its shape and dtype: a gradient in one pass.
    fn unary_times(&self, op: UnaryOp, x: Operand, factor: Operand) -> Result<Storage> {
        composed::unary_times(self, op, x, factor)
    }

    /// A function of two elements, for layouts of the same shape.
    fn binary(&self, op: BinaryOp, a: Operand, b: Operand) -> Result<Storage>;

    /// `value` where `x` is in the region, otherwise the other element, for layouts of the same shape.
    fn fill_in_range(
        &self,
        region: FillRange,
        value: Scalar,
        x: Operand,
        other: Operand,
    ) -> Result<Storage>;

    /// A function of an element and a number, which has the precision of the computation.
    fn binary_scalar(&self, op: BinaryOp, x: Operand, number: Scalar) -> Result<Storage>;

    /// `a + α·b`, for layouts of the same shape; in the memory of `a`, if nothing else holds it.
    fn add_scaled(&self, a: Operand, b: Operand, alpha: Scalar) -> Result<Storage>;

    /// A comparison of two elements, for layouts of the same shape.
    fn compare(&self, op: CompareOp, a: Operand, b: Operand) -> Result<Storage>;

    /// A comparison of an element and a number, which the dtype of `x` holds exactly.
    fn compare_scalar(&self, op: CompareOp, x: Operand, number: Scalar) -> Result<Storage>;

    /// The element of `a` where `condition` is true, otherwise that of `b`, for layouts of the same shape.
    fn select(&self, condition: Operand, a: Operand, b: Operand) -> Result<Storage>;

    /// The number, which the dtype of `x` holds exactly, where `mask` is `on`, otherwise the element of `x`, for layouts of
    /// the same shape.
    fn masked_fill(&self, x: Operand, mask: Operand, on: bool, number: Scalar) -> Result<Storage>;

    /// Reduces the dimensions `dims`.
    fn reduce(&self, op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage>;

    /// The sums of squares along the dimensions `dims`.
    fn sum_squares(&self, x: Operand, dims: &[usize]) -> Result<Storage> {
        composed::sum_squares(self, x, dims)
    }

    /// Whether any element of a `Bool` operand is true along the dimensions `dims`, which have elements.
    fn any(&self, x: Operand, dims: &[usize]) -> Result<Storage> {
        composed::extreme_truths(self, ReduceOp::Max, x, dims)
    }

    /// Whether all elements of a `Bool` operand are true along the dimensions `dims`, which have elements.
    fn all(&self, x: Operand, dims: &[usize]) -> Result<Storage> {
        composed::extreme_truths(self, ReduceOp::Min, x, dims)
    }

    /// The index of an extreme element along `dim`, as `I64`.
    fn arg_reduce(&self, op: ArgReduceOp, x: Operand, dim: usize) -> Result<Storage>;

    /// The sums along `dim` up to each element, or from each element on if `reverse`.
    fn cumsum(&self, x: Operand, dim: usize, reverse: bool) -> Result<Storage>;

    /// The products along `dim` up to each element.
    fn cumprod(&self, x: Operand, dim: usize) -> Result<Storage>;

    /// The indices of the first `count` elements along the last dimension in stable order, as `I64`; NaN is the greatest.
    fn argsort(&self, x: Operand, count: usize, descending: bool) -> Result<Storage>;

    /// `numel` elements `fill`, with those of `x` written at the positions of `layout`, which has its shape; if positions
    /// coincide, elements are added to a `fill` of 0.
    fn as_strided_scatter(
        &self,
        x: Operand,
        layout: &Layout,
        numel: usize,
        fill: Scalar,
    ) -> Result<Storage>;

    /// The elements of matrices, those of the last two dimensions, whose column minus their row is in the band; 0 elsewhere.
    fn keep_band(&self, x: Operand, band: RangeInclusive<i64>) -> Result<Storage> {
        composed::keep_band(self, x, &band)
    }

    /// Elements in another order along each dimension, possibly repeated: flips, and padding with existing elements.
    /// Backward, `x` has the shape `geometry.output` and the result `geometry.input`.
    fn gather_along(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &GatherAlongGeometry,
    ) -> Result<Storage>;

    /// `[…, m, k]` times `[…, k, n]`, with the same leading sizes. A factor that was broadcast over some of these has
    /// strides of 0 there.
    fn matmul(&self, a: Operand, b: Operand) -> Result<Storage>;

    /// `[m, k]` times `[k, n]` plus a row of `n` added to each of the `m`.
    fn addmm(&self, row: Operand, a: Operand, b: Operand) -> Result<Storage>;

    /// `[m, k]` times packed `[k, n]`, plus a row of `n` added to each of the `m` if there is one, in the dtype of `a`. By
    /// default the packed factor is unpacked first.
    ///
    /// # Errors
    ///
    /// Those of [`full`](Self::full), and those of [`Packed::unpack`](super::Packed::unpack).
    fn packed_matmul(&self, row: Option<Operand>, a: Operand, b: Operand) -> Result<Storage> {
        composed::packed_matmul(self, row, a, b)
    }

    /// A packed operand in its layout, unpacked and cast.
    ///
    /// # Errors
    ///
    /// Those of [`packed_matmul`](Self::packed_matmul).
    fn unpacked(&self, x: Operand, dtype: DType) -> Result<Operand> {
        composed::unpacked(self, x, dtype)
    }

    /// Softmax or its logarithm along `dim`.
    fn softmax(&self, op: SoftmaxOp, x: Operand, dim: usize) -> Result<Storage>;

    /// `out[.., i, ..] = x[.., index[.., i, ..], ..]` along `dim`.
    ///
    /// # Errors
    ///
    /// Those of [`unary`](Self::unary), and an index that is out of range.
    fn gather(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage>;

    /// A copy of `x` with `x[.., index[.., i, ..], ..] += source[.., i, ..]` along `dim`.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather).
    fn scatter_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage>;

    /// A copy of `x` with `x[.., index[.., i, ..], ..] = source[.., i, ..]` along `dim`; of several, the last one stays.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather).
    fn scatter(&self, x: Operand, dim: usize, index: Operand, source: Operand) -> Result<Storage>;

    /// A copy of `x`, with `op` of `x[.., index[.., i, ..], ..]` and `source[.., i, ..]` in place of the former, along `dim`.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather).
    fn scatter_reduce(
        &self,
        op: ReduceOp,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage>;

    /// The slices of dimension `dim` selected by a one-dimensional index.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather).
    fn index_select(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage>;

    /// A copy of `x` with the slices of `source` added to those of dimension `dim` selected by a one-dimensional index.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather).
    fn index_add(&self, x: Operand, dim: usize, index: Operand, source: Operand)
    -> Result<Storage>;

    /// The number of occurrences of each number below `length` in a vector of `I64`, as `I64`; all numbers are.
    fn bincount(&self, x: Operand, length: usize) -> Result<Storage> {
        composed::bincount(self, x, length)
    }

    /// The indices of the true elements of a mask in row-major order, `[count, rank]` as `I64`, and their count.
    fn nonzero(&self, mask: Operand) -> Result<(Storage, usize)>;

    /// The parts concatenated along `dim`.
    fn cat(&self, parts: Vec<Operand>, dim: usize) -> Result<Storage>;

    /// A convolution or one of its two gradients; [`ConvOp`] describes `a` and `b`.
    fn convolution(
        &self,
        op: ConvOp,
        a: Operand,
        b: Operand,
        geometry: &ConvGeometry,
    ) -> Result<Storage>;

    /// The windows of a convolution laid out side by side, or added back.
    fn unfold(&self, op: UnfoldOp, x: Operand, geometry: &UnfoldGeometry) -> Result<Storage>;

    /// The maximum of each window, in the shape `geometry.output`. Of equal elements, the first in row-major order is the
    /// maximum; NaN is greater than any number, and of several NaN the last one counts.
    fn max_pool(&self, x: Operand, geometry: &PoolGeometry) -> Result<Storage>;

    /// [`max_pool`](Self::max_pool), and the index of each maximum in the flattened spatial dimensions of the input, as
    /// `I64`.
    fn max_pool_with_indices(
        &self,
        x: Operand,
        geometry: &PoolGeometry,
    ) -> Result<(Storage, Storage)>;

    /// The gradient of max pooling: zeros of the shape `geometry.input`, to which each element of `grad`, of the shape
    /// `geometry.output`, is added at its index in `indices`.
    fn max_pool_backward(
        &self,
        grad: Operand,
        indices: Operand,
        geometry: &PoolGeometry,
    ) -> Result<Storage>;

    /// The sum of each window over the divisor. Backward, `x` has the shape `geometry.output` and the result
    /// `geometry.input`: each element is divided by the divisor of its window and added to every position in the window.
    fn avg_pool(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &PoolGeometry,
        divisor: PoolDivisor,
    ) -> Result<Storage>;

    /// Resized images. Backward, `x` has the shape `geometry.output` and the result `geometry.input`: each element is added
    /// to every position that it was computed from, times its weight.
    fn resample(&self, op: LinearOp, x: Operand, geometry: &ResampleGeometry) -> Result<Storage>;

    /// Images sampled between pixels, or one of the two gradients; [`SampleOp`] describes `a` and `b`, and the locations,
    /// `[batch, dimensions, locations]`, have no gradient here.
    fn sample(
        &self,
        op: SampleOp,
        a: Operand,
        b: Operand,
        locations: Operand,
        geometry: &SampleGeometry,
    ) -> Result<Storage>;

    /// The gradient of softmax, and `ln Σ eˣ`.
    fn softmax_family(&self) -> Option<&dyn SoftmaxKernels> {
        None
    }

    /// Layer, group, instance and batch normalization.
    fn normalization(&self) -> Option<&dyn NormKernels> {
        None
    }

    /// The cross-entropy of classes.
    fn cross_entropy(&self) -> Option<&dyn CrossEntropyKernels> {
        None
    }

    /// Sampling of images at the locations of a grid.
    fn grid_sample(&self) -> Option<&dyn GridSampleKernels> {
        None
    }

    /// Connectionist temporal classification.
    fn ctc(&self) -> Option<&dyn CtcKernels> {
        None
    }

    /// Scaled dot-product attention.
    fn attention(&self) -> Option<&dyn AttentionKernels> {
        None
    }

    /// The steps of RNNs, LSTMs and GRUs.
    fn recurrent(&self) -> Option<&dyn RecurrentKernels> {
        None
    }

    /// Dropout by a key.
    fn dropout(&self) -> Option<&dyn DropoutKernels> {
        None
    }

    /// Elementwise formulas over several tensors.
    fn updates(&self) -> Option<&dyn UpdateKernels> {
        None
    }
}
