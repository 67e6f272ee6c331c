use std::ops::Range;

use super::{Device, Storage};
pub use crate::simd::CodeTables;
use crate::{DTypeError, Error, Result};

/// Elements that do not lie one by one in a storage, as those of quantized blocks, which have a scheme
/// and a length in bytes of their own.
///
/// A storage says so by [`StorageData::packed`](super::StorageData::packed), and
/// [`Tensor::from_storage`](crate::Tensor::from_storage) makes a tensor of it. The tensor has the dtype and the shape
/// that its elements have when they are unpacked. Its layout counts the unpacked elements, so that views
/// of it are as those of any tensor: [`Tensor::unpack`](crate::Tensor::unpack) of a transpose is the
/// transpose of what is unpacked.
///
/// [`Tensor::linear`](crate::Tensor::linear) takes a packed weight, and [`Tensor::matmul`](crate::Tensor::matmul) a
/// packed matrix on the right; the gradient flows to the other factor. The CPU computes from the packed elements
/// where they are unpacked in runs ([`runs`](Self::runs)), and other devices from what [`unpack`](Self::unpack) gives.
///
/// Operations of one's own find the memory by [`Storage::downcast_ref`], and say which layouts they
/// serve. What needs plain elements, as every other operation of this crate does, answers
/// [`DTypeError::Packed`](crate::DTypeError::Packed). A packed tensor carries no gradient.
pub trait Packed {
    /// The name of the scheme, such as `q4_0`.
    fn scheme(&self) -> &'static str;

    /// The number of elements.
    fn numel(&self) -> usize;

    /// The bytes that they take.
    fn size_in_bytes(&self) -> usize;

    /// The elements one by one, in row-major order, on the same device.
    ///
    /// # Errors
    ///
    /// Not enough memory, a device that fails.
    fn unpack(&self) -> Result<Storage>;

    /// The elements in runs, if they lie in host memory; then products do not unpack the whole matrix.
    fn runs(&self) -> Option<&dyn PackedRuns> {
        None
    }

    /// The same packed elements on another device; a device that knows the scheme may be faster
    /// ([`Backend::copy_from`](super::Backend::copy_from)).
    ///
    /// # Errors
    ///
    /// [`DTypeError::Packed`](crate::DTypeError::Packed) if they cannot be moved, which is the default.
    fn to_device(&self, device: &Device) -> Result<Storage> {
        let _ = device;
        let (op, scheme) = ("to_device", self.scheme());
        Err(Error::from(DTypeError::Packed { op, scheme }))
    }
}

/// Packed elements in host memory that can be unpacked a few at a time.
///
/// They are counted in row-major order. A run starts at a multiple of [`group`](Self::group) and ends at another
/// or at the last element; it may go from one row to the next.
pub trait PackedRuns: Sync {
    /// The number of elements that are unpacked together.
    fn group(&self) -> usize;

    /// Writes a run of elements to `out`, which is as long.
    fn unpack_run(&self, run: Range<usize>, out: &mut [f32]);

    /// The rows as numbers of 8 bits, if products round their inputs to such numbers too.
    fn rounding_inputs(&self) -> Option<Int8Rows<'_>> {
        None
    }

    /// All elements as codes of 4 bits, if that is what they are; then products of few rows look them up where they
    /// lie.
    fn coded_rows(&self) -> Option<CodedRows<'_>> {
        None
    }
}

/// Elements `scale · table[code]`, with a scale and a table for each block.
#[derive(Clone, Copy, Debug)]
pub struct CodedRows<'a> {
    /// Two codes in each byte.
    pub codes: &'a [u8],
    /// Which elements the codes of a byte are.
    pub order: CodeOrder,
    /// The elements of a block.
    pub block_size: usize,
    /// One for each block.
    pub scales: &'a [f32],
    /// The values of codes.
    pub tables: CodeTables<'a>,
}

/// Which elements of a block the two codes of a byte are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeOrder {
    /// Byte `i` has element `2i` in its upper half and element `2i + 1` in its lower one.
    UpperFirst,
    /// Byte `i` has element `i` in its lower half and, in its upper one, element `i` of the block's second half.
    LowerHalfFirst,
}

/// A matrix of `scales[i] · codes[i, j]`, which is multiplied by inputs that are rounded to 8 bits.
#[derive(Clone, Copy, Debug)]
pub struct Int8Rows<'a> {
    /// All rows, one after the other.
    pub codes: &'a [i8],
    /// One for each row.
    pub scales: &'a [f32],
    /// The sum of the codes of each row.
    pub sums: &'a [i32],
}
