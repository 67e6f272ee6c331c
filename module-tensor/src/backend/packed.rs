use std::ops::Range;

use super::{BlockFormat, Device, Storage};
pub use crate::simd::CodeTables;
use crate::{DTypeError, Error, Result};

/// Elements that are not stored one by one, such as those of quantized blocks; they have their own scheme and length in
/// bytes.
///
/// A storage declares this by [`StorageData::packed`](super::StorageData::packed), and
/// [`Tensor::from_storage`](crate::Tensor::from_storage) makes a tensor of it. The tensor has the dtype and the shape that
/// its elements have when they are unpacked. Its layout counts the unpacked elements, so views of it are like those of any
/// tensor: [`Tensor::unpack`](crate::Tensor::unpack) of a transpose is the transpose of the unpacked tensor.
///
/// [`Tensor::linear`](crate::Tensor::linear) takes a packed weight, and [`Tensor::matmul`](crate::Tensor::matmul) a packed
/// matrix on the right; the gradient flows to the other factor. The CPU computes from the packed elements if they can be
/// unpacked in runs ([`runs`](Self::runs)); a device that does not know the scheme [`unpack`](Self::unpack)s them first.
///
/// Custom operations find the memory with [`Storage::downcast_ref`], and state which layouts they support. Operations that
/// need plain elements, which all others in this crate do, return [`DTypeError::Packed`](crate::DTypeError::Packed). A
/// packed tensor has no gradient.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{HostData, Packed, Storage, StorageData};
/// use module_tensor::{DType, Device, Layout, Result, Shape, Tensor};
///
/// /// Elements that are all the same: one number is stored.
/// struct Same {
///     number: f32,
///     count: usize,
/// }
///
/// impl StorageData for Same {
///     fn dtype(&self) -> DType {
///         DType::F32
///     }
///
///     fn device(&self) -> Device {
///         Device::cpu()
///     }
///
///     fn packed(&self) -> Option<&dyn Packed> {
///         Some(self)
///     }
/// }
///
/// impl Packed for Same {
///     fn scheme(&self) -> &'static str {
///         "same"
///     }
///
///     fn numel(&self) -> usize {
///         self.count
///     }
///
///     fn size_in_bytes(&self) -> usize {
///         size_of::<f32>()
///     }
///
///     fn unpack(&self) -> Result<Storage> {
///         Device::cpu().backend().upload(HostData::F32(vec![self.number; self.count]))
///     }
/// }
///
/// let storage = Storage::new(Same { number: 0.5, count: 6 });
/// let packed = Tensor::from_storage(storage, Layout::contiguous(Shape::from([2, 3])));
/// assert!(packed.is_packed());
/// assert_eq!(packed.unpack()?.to_vec::<f32>()?, [0.5; 6]);
/// let x = Tensor::from([[1.0_f32, 1.0]]);
/// assert_eq!(x.matmul(&packed)?.to_vec::<f32>()?, [1.0; 3]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
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

    /// The layout of the blocks, if the elements are packed in blocks of ggml.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{BlockFormat, DType, Tensor};
    ///
    /// let x = BlockFormat::Q4_0.quantize(&Tensor::ones([2, 32], DType::F32)?)?;
    /// let format = x.storage().packed().and_then(|packed| packed.block_format());
    /// assert_eq!(format, Some(BlockFormat::Q4_0));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    fn block_format(&self) -> Option<BlockFormat> {
        None
    }

    /// The elements in runs, if they are in host memory; then products do not unpack the whole matrix.
    fn runs(&self) -> Option<&dyn PackedRuns> {
        None
    }

    /// The same packed elements on another device; a device that knows the scheme may be faster
    /// ([`Backend::copy_from`](super::Backend::copy_from)).
    ///
    /// # Errors
    ///
    /// [`DTypeError::Packed`](crate::DTypeError::Packed) if they cannot be moved, which is the default.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::backend::{BlockFormat, Device};
    /// use module_tensor::{DType, Tensor};
    ///
    /// // Blocks are in host memory, where they are unpacked in runs, and can be moved.
    /// let x = BlockFormat::Q8_0.quantize(&Tensor::ones([1, 32], DType::F32)?)?;
    /// let packed = x.storage().packed().expect("it is quantized");
    /// assert_eq!(packed.runs().map(|runs| runs.group()), Some(32));
    /// assert_eq!(packed.to_device(&Device::cpu())?.dtype(), DType::F32);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    fn to_device(&self, device: &Device) -> Result<Storage> {
        let _ = device;
        let (op, scheme) = ("to_device", self.scheme());
        Err(Error::from(DTypeError::Packed { op, scheme }))
    }
}

/// Packed elements in host memory that can be unpacked a few at a time.
///
/// Elements are counted in row-major order. A run starts at a multiple of [`group`](Self::group) and ends at another one or
/// at the last element; it may extend over several rows.
///
/// # Example
///
/// ```
/// use std::ops::Range;
///
/// use module_tensor::backend::PackedRuns;
///
/// /// Bytes that stand for multiples of a scale.
/// struct Scaled<'a> {
///     bytes: &'a [u8],
///     scale: f32,
/// }
///
/// impl PackedRuns for Scaled<'_> {
///     fn group(&self) -> usize {
///         1
///     }
///
///     fn unpack_run(&self, run: Range<usize>, out: &mut [f32]) {
///         for (out, byte) in out.iter_mut().zip(&self.bytes[run]) {
///             *out = f32::from(*byte) * self.scale;
///         }
///     }
/// }
///
/// let mut out = [0.0; 2];
/// Scaled { bytes: &[2, 4, 6], scale: 0.5 }.unpack_run(1..3, &mut out);
/// assert_eq!(out, [2.0, 3.0]);
/// ```
///
/// ```
/// use std::ops::Range;
///
/// use module_tensor::backend::{CodeOrder, CodeTables, CodedRows, Int8Rows, PackedRuns};
///
/// /// Each byte is two codes of 4 bits, and each code stands for its square.
/// struct Squares {
///     codes: Vec<u8>,
///     scales: Vec<f32>,
///     squares: [f32; 16],
/// }
///
/// impl PackedRuns for Squares {
///     fn group(&self) -> usize {
///         32
///     }
///
///     fn unpack_run(&self, run: Range<usize>, out: &mut [f32]) {
///         for (i, out) in run.zip(out) {
///             let byte = self.codes[i / 2];
///             let code = if i % 2 == 0 { byte >> 4 } else { byte & 15 };
///             *out = self.scales[i / 32] * self.squares[usize::from(code)];
///         }
///     }
///
///     // Products of few rows then look the codes up in place.
///     fn coded_rows(&self) -> Option<CodedRows<'_>> {
///         Some(CodedRows {
///             codes: &self.codes,
///             order: CodeOrder::UpperFirst,
///             block_size: 32,
///             scales: &self.scales,
///             tables: CodeTables::Same(&self.squares),
///         })
///     }
///
///     // Inputs are not rounded.
///     fn rounding_inputs(&self) -> Option<Int8Rows<'_>> {
///         None
///     }
/// }
///
/// let squares = std::array::from_fn(|code| (code * code) as f32);
/// let packed = Squares { codes: vec![0x23; 16], scales: vec![0.5], squares };
/// let mut out = [0.0; 2];
/// packed.unpack_run(0..2, &mut out);
/// assert_eq!(out, [2.0, 4.5]);
/// let rows = packed.coded_rows().unwrap();
/// assert_eq!((rows.order, rows.codes.len() * 2), (CodeOrder::UpperFirst, rows.block_size));
/// assert!(packed.rounding_inputs().is_none());
/// ```
pub trait PackedRuns: Sync {
    /// The number of elements that are unpacked together.
    fn group(&self) -> usize;

    /// Writes a run of elements to `out`, which has its length.
    fn unpack_run(&self, run: Range<usize>, out: &mut [f32]);

    /// `Σ elementᵢ · inputᵢ` of a run and as many inputs, if that takes less time than to unpack the run.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::DType;
    /// use module_tensor::backend::{Int8Parts, Int8Storage, PackedRuns};
    ///
    /// // Two groups of 64 elements, each with a scale of its own.
    /// let values = [[1.0; 64], [-2.0; 64]].concat();
    /// let storage = Int8Storage::new(Int8Parts::quantize(&values, 64, false, DType::F32)?)?;
    /// let dot = storage.dot_run(0..128, &[0.5; 128]).unwrap();
    /// assert!((dot + 32.0).abs() < 0.5);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    fn dot_run(&self, run: Range<usize>, inputs: &[f32]) -> Option<f32> {
        let _ = (run, inputs);
        None
    }

    /// The rows as 8-bit integers, if products also round their inputs to such numbers.
    fn rounding_inputs(&self) -> Option<Int8Rows<'_>> {
        None
    }

    /// All elements as 4-bit codes, if they are; products of few rows then look them up in place.
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

/// A matrix of `scales[i] · codes[i, j]`, whose products round their inputs to 8 bits.
#[derive(Clone, Copy, Debug)]
pub struct Int8Rows<'a> {
    /// All rows, one after another.
    pub codes: &'a [i8],
    /// One for each row.
    pub scales: &'a [f32],
    /// The sum of the codes of each row.
    pub sums: &'a [i32],
}
