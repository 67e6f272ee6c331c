//! Tensors whose elements are packed in blocks of ggml.

use super::Tensor;
use crate::backend::{BlockStorage, SharedBytes, Storage};
use crate::{BlockFormat, DType, Error, Layout, Result, Shape};

impl BlockFormat {
    /// An `f32` tensor of this shape, whose rows are the consecutive blocks of `bytes`.
    ///
    /// # Errors
    ///
    /// A last dimension that is not a multiple of a block, or bytes of a different length.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{BlockFormat, backend::SharedBytes};
    ///
    /// // A scale of 2 in half precision, and the codes 0 to 31.
    /// let bytes: Vec<u8> = [0x00, 0x40].into_iter().chain(0..32).collect();
    /// let x = BlockFormat::Q8_0.tensor(SharedBytes::new(bytes), [1, 32])?;
    /// assert!(x.is_packed());
    /// assert_eq!(x.unpack()?.narrow(1, 3..5)?.to_vec::<f32>()?, [6.0, 8.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn tensor(self, bytes: SharedBytes, shape: impl Into<Shape>) -> Result<Tensor> {
        let shape = shape.into();
        let blocks = self.blocks(&shape)?;
        let (needed, length) = (
            blocks.saturating_mul(self.size_in_bytes()),
            bytes.as_ref().len(),
        );
        if needed != length {
            let problem = format!(
                "must be {needed}, as {blocks} blocks of {} take",
                self.name()
            );
            return Err(Error::argument(self.name(), "bytes", length, problem));
        }
        let storage = Storage::new(BlockStorage::new(self, bytes));
        Ok(Tensor::from_storage(storage, Layout::contiguous(shape)))
    }

    /// The values packed in blocks, row by row: the tensor then has the precision of the format. `Q4K` and `Q6K` search for
    /// the scales with llama.cpp's algorithm without an importance matrix.
    ///
    /// # Errors
    ///
    /// A last dimension that is not a multiple of a block, elements that are not floating-point, values that are not
    /// finite.
    ///
    /// # Source
    ///
    /// `ggml-quants.c` of llama.cpp.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{BlockFormat, DType, Tensor};
    ///
    /// let x = Tensor::linspace(0.0, 63.0, 64, DType::F32)?.reshape([2, 32])?;
    /// let packed = BlockFormat::Q8_0.quantize(&x)?;
    /// assert_eq!((packed.nbytes(), BlockFormat::of(&packed)), (68, Some(BlockFormat::Q8_0)));
    /// let error = packed.unpack()?.sub(&x)?.abs()?.amax(..)?.item::<f32>()?;
    /// assert!(error < 0.3, "{error}");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn quantize(self, x: &Tensor) -> Result<Tensor> {
        self.blocks(x.shape())?;
        if !x.dtype().is_floating_point() {
            let problem = "must be a floating dtype; cast with `to_dtype`";
            return Err(Error::argument(self.name(), "dtype", x.dtype(), problem));
        }
        let values = x.detach().to_dtype(DType::F32)?.to_vec::<f32>()?;
        let bytes = SharedBytes::new(self.pack(&values)?);
        self.tensor(bytes, x.shape().clone())?
            .to_device(&x.device())
    }

    /// The format of a packed tensor, if it is one of these.
    pub fn of(x: &Tensor) -> Option<Self> {
        x.storage().packed()?.block_format()
    }

    /// The blocks of a tensor in row-major order, if it is packed, in host memory, and its layout keeps them whole: a matrix,
    /// or whole rows of one, but not a transpose.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{BlockFormat, DType, Tensor};
    ///
    /// let x = BlockFormat::Q8_0.quantize(&Tensor::ones([2, 32], DType::F32)?)?;
    /// assert_eq!(BlockFormat::bytes_of(&x).map(<[u8]>::len), Some(2 * 34));
    /// assert_eq!(BlockFormat::bytes_of(&x.narrow(0, 1..2)?).map(<[u8]>::len), Some(34));
    /// assert!(BlockFormat::bytes_of(&x.t()?).is_none());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn bytes_of(x: &Tensor) -> Option<&[u8]> {
        let storage = x.storage().downcast_ref::<BlockStorage>()?;
        let format = storage.format();
        let (offset, numel) = (x.layout().offset(), format.numel());
        let whole =
            x.is_contiguous() && offset.is_multiple_of(numel) && x.numel().is_multiple_of(numel);
        let (start, blocks) = (offset / numel, x.numel() / numel);
        let size = format.size_in_bytes();
        storage
            .bytes()
            .get(start * size..(start + blocks) * size)
            .filter(|_| whole)
    }

    /// The number of blocks of a tensor of this shape.
    fn blocks(self, shape: &Shape) -> Result<usize> {
        let numel = shape.checked_numel(self.name(), 4)?;
        match shape.last() {
            Some(last) if last.is_multiple_of(self.numel()) => Ok(numel / self.numel()),
            _ => {
                let expected = format!("a last dimension that is a multiple of {}", self.numel());
                Err(shape.error(self.name(), expected))
            }
        }
    }
}
