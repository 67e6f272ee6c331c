//! Tensors whose elements are packed, and those whose elements are not.

use super::Tensor;
use crate::backend::Operand;
use crate::{DTypeError, Result};

impl Tensor {
    /// Whether the elements are packed, in the scheme of the [`storage`](Self::storage).
    pub fn is_packed(&self) -> bool {
        self.storage.packed().is_some()
    }

    /// The bytes of the elements; those of a packed storage count as a whole, because its elements have no separate bytes.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// assert_eq!(Tensor::zeros([2, 3], DType::F16)?.nbytes(), 12);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn nbytes(&self) -> usize {
        match self.storage.packed() {
            Some(packed) => packed.size_in_bytes(),
            None => self.numel() * self.dtype().size_in_bytes(),
        }
    }

    /// Whether a gradient can flow to this tensor: whether it has plain elements of a differentiable dtype.
    pub(crate) fn is_differentiable(&self) -> bool {
        self.dtype().is_differentiable() && !self.is_packed()
    }

    /// The same elements one by one, untracked: the storage of a packed tensor unpacks them, and they are seen through the
    /// tensor's layout; a plain tensor is unchanged.
    ///
    /// # Errors
    ///
    /// The error of the storage's own code, or memory that it returns with another dtype or device or still packed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::backend::{HostData, Packed, Storage, StorageData};
    /// use module_tensor::{DType, Device, Layout, Result, Tensor};
    ///
    /// /// Booleans as bits, 8 in a byte.
    /// struct Bits(Vec<u8>);
    ///
    /// impl StorageData for Bits {
    ///     fn dtype(&self) -> DType {
    ///         DType::Bool
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
    /// impl Packed for Bits {
    ///     fn scheme(&self) -> &'static str {
    ///         "bits"
    ///     }
    ///
    ///     fn numel(&self) -> usize {
    ///         8 * self.0.len()
    ///     }
    ///
    ///     fn size_in_bytes(&self) -> usize {
    ///         self.0.len()
    ///     }
    ///
    ///     fn unpack(&self) -> Result<Storage> {
    ///         let bits = self.0.iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 != 0));
    ///         Device::cpu().backend().upload(HostData::Bool(bits.collect()))
    ///     }
    /// }
    ///
    /// let layout = Layout::contiguous([4, 2].into());
    /// let x = Tensor::from_storage(Storage::new(Bits(vec![0b0110_0001])), layout);
    /// assert_eq!((x.nbytes(), x.numel()), (1, 8));
    /// assert!(x.logical_not().is_err());
    /// let column = x.t()?.unpack()?.narrow(0, 0..1)?;
    /// assert_eq!(column.to_vec::<bool>()?, [true, false, false, true]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn unpack(&self) -> Result<Self> {
        const NAME: &str = "unpack";
        let Some(packed) = self.storage.packed() else {
            return Ok(self.clone());
        };
        let plain = Self::from_storage(packed.unpack()?, self.layout.clone());
        plain.storage.check_plain(NAME)?;
        if plain.dtype() != self.dtype() {
            let (op, lhs, rhs) = (NAME, self.dtype(), plain.dtype());
            return Err(DTypeError::Mismatch { op, lhs, rhs }.into());
        }
        self.check_device(NAME, &plain)?;
        Ok(plain)
    }

    /// The operand of a kernel of plain elements; packed elements are reported as an error of `op`.
    pub(crate) fn plain(&self, op: &'static str) -> Result<Operand> {
        self.storage.check_plain(op)?;
        Ok(self.operand())
    }
}
