//! Tensors whose elements can be dropped and brought back while a graph refers to them.

use std::fmt;

use super::{Tensor, TensorOptions};
use crate::backend::{Releasable, Storage};
use crate::{ErrorKind, Result, Shape, ShapeError};

/// The memory of a tensor that can be released and filled again while views of the tensor and graphs refer to it: what
/// `untyped_storage().resize_(0)` is in PyTorch's FSDP.
///
/// A weight that can be had again, from other processes or from a file, then takes memory only while a module computes with
/// it. Operations on the tensor see the elements that the memory has when they run, and are an error while it is released
/// ([`ErrorKind::Released`]).
///
/// **A tensor's elements never change**, so fill the memory with the same elements each time while a graph or another
/// handle to the tensor exists: the gradients of operations recorded before are computed with these elements. For other
/// elements, make a new `ReleasableMemory`.
///
/// Clones are the same memory. The elements are never written in place.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, ReleasableMemory, Tensor};
///
/// let memory = ReleasableMemory::new([2], DType::F32)?;
/// let weight = memory.tensor();
/// memory.fill(&Tensor::from([3.0_f32, 4.0]))?;
/// let x = Tensor::from([1.0_f32, 2.0]).with_grad()?;
/// let y = x.mul(&weight)?.sum(..)?;
///
/// memory.release();
/// assert!(!weight.has_values());
/// assert!(weight.add(1.0).unwrap_err().to_string().ends_with("are released; fill its memory before it is used"));
///
/// memory.fill(&Tensor::from([3.0_f32, 4.0]))?;
/// y.backward()?;
/// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct ReleasableMemory {
    tensor: Tensor,
}

impl ReleasableMemory {
    /// Memory for a tensor of this shape, released.
    ///
    /// # Errors
    ///
    /// A shape that is too large.
    pub fn new(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Self> {
        let (shape, options) = (shape.into(), options.into());
        let dtype = options.dtype_or_default();
        shape.checked_numel("ReleasableMemory::new", dtype.size_in_bytes())?;
        let data = Releasable::new(dtype, shape.clone(), options.device_or_default());
        let tensor = Tensor::fresh(Storage::new(data), shape);
        Ok(Self { tensor })
    }

    /// The tensor whose elements lie in this memory, untracked.
    pub fn tensor(&self) -> Tensor {
        self.tensor.clone()
    }

    /// Fills the memory with the elements of a tensor, which are not copied if they lie in row-major order from the start
    /// of their own memory.
    ///
    /// # Errors
    ///
    /// A tensor of another shape, dtype or device, packed elements, or one without elements; the memory is unchanged.
    pub fn fill(&self, values: &Tensor) -> Result<()> {
        const NAME: &str = "ReleasableMemory::fill";
        self.tensor.check_same(NAME, values)?;
        if values.shape() != self.tensor.shape() {
            let (lhs, rhs) = (self.tensor.shape().clone(), values.shape().clone());
            let (op, rule) = (NAME, "the memory keeps its shape".to_owned());
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        if !values.has_values() {
            let what = format!("the values of shape {}", values.shape());
            return Err(ErrorKind::NoValues { what }.into());
        }
        let storage = match values.is_contiguous() && values.layout.offset() == 0 {
            true => values.storage.resolved(),
            false => values.device().backend().contiguous(values.operand())?,
        };
        self.set(Some(storage));
        Ok(())
    }

    /// Drops the elements.
    pub fn release(&self) {
        self.set(None);
    }

    /// Whether the memory has elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, ReleasableMemory, Tensor};
    ///
    /// let memory = ReleasableMemory::new([1], DType::F32)?;
    /// memory.fill(&Tensor::from([3.0_f32]))?;
    /// assert!(memory.is_filled());
    /// memory.release();
    /// assert!(!memory.is_filled());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn is_filled(&self) -> bool {
        self.tensor.has_values()
    }

    fn set(&self, elements: Option<Storage>) {
        if let Some(releasable) = self.tensor.storage.downcast_ref::<Releasable>() {
            releasable.set(elements);
        }
    }
}

impl fmt::Debug for ReleasableMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filled = self.is_filled();
        let (dtype, shape) = (self.tensor.dtype(), self.tensor.shape());
        write!(f, "ReleasableMemory({dtype} {shape}, filled: {filled})")
    }
}

#[cfg(test)]
mod tests;
