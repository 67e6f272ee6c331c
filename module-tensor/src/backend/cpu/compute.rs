//! Operands in the dtype in which a fused kernel computes, and its results in that of the tensors: half
//! precision is widened here, and rounded once when all is done.

use super::cast::cast;
use super::map::narrowed;
use super::storage::elements_of;
use super::{
    AttentionInputs, CrossEntropyInputs, Element, NormInputs, Operand, RecurrentInputs, Storage,
};
use crate::layout::Layout;
use crate::{DType, Error, Result};

/// Operands that can be cast to the dtype of the computation.
pub(super) trait Compute: Sized {
    /// Casts to the dtype of the computation.
    fn computed_in(self, dtype: DType) -> Result<Self>;
}

impl Compute for Operand {
    fn computed_in(self, dtype: DType) -> Result<Self> {
        if self.storage.dtype() == dtype {
            return Ok(self);
        }
        // A broadcast element is cast once, and the elements keep their order in memory.
        let shape = self.layout.shape().clone();
        let mut once = self.layout;
        for dim in 0..once.rank() {
            if once.strides()[dim] == 0 && once.shape()[dim] > 1 {
                once = once.slice(dim, 0, 1, 1);
            }
        }
        let (order, back) = once.memory_order();
        let layout = once.permute(&order);
        let cast_layout = Layout::contiguous(layout.shape().clone()).permute(&back);
        let storage = cast(Self { layout, ..self }, dtype)?;
        let layout = cast_layout.broadcast_to("cast", &shape)?;
        Ok(Self { storage, layout })
    }
}

impl<T: Compute> Compute for Option<T> {
    fn computed_in(self, dtype: DType) -> Result<Self> {
        self.map(|x| x.computed_in(dtype)).transpose()
    }
}

impl<T: Compute> Compute for [T; 2] {
    fn computed_in(self, dtype: DType) -> Result<Self> {
        let [a, b] = self;
        Ok([a.computed_in(dtype)?, b.computed_in(dtype)?])
    }
}

impl Compute for NormInputs {
    fn computed_in(self, dtype: DType) -> Result<Self> {
        Ok(Self {
            x: self.x.computed_in(dtype)?,
            weight: self.weight.computed_in(dtype)?,
            bias: self.bias.computed_in(dtype)?,
            // Statistics are computed with in `f64`.
            statistics: self.statistics.computed_in(DType::F64)?,
        })
    }
}

impl Compute for CrossEntropyInputs {
    fn computed_in(self, dtype: DType) -> Result<Self> {
        Ok(Self {
            x: self.x.computed_in(dtype)?,
            target: self.target,
            weight: self.weight.computed_in(dtype)?,
        })
    }
}

impl Compute for AttentionInputs {
    fn computed_in(self, dtype: DType) -> Result<Self> {
        Ok(Self {
            query: self.query.computed_in(dtype)?,
            key: self.key.computed_in(dtype)?,
            value: self.value.computed_in(dtype)?,
            mask: self.mask.computed_in(dtype)?,
        })
    }
}

impl Compute for RecurrentInputs {
    fn computed_in(self, dtype: DType) -> Result<Self> {
        Ok(Self {
            gates: self.gates.computed_in(dtype)?,
            hidden: self.hidden.computed_in(dtype)?,
            cell: self.cell.computed_in(dtype)?,
            weight: self.weight.computed_in(dtype)?,
            bias: self.bias.computed_in(dtype)?,
            projection: self.projection.computed_in(dtype)?,
        })
    }
}

/// A result in the dtype that it is to have.
pub(super) fn rounded(x: Storage, dtype: DType) -> Result<Storage> {
    match x.dtype() == dtype {
        true => Ok(x),
        false => narrowed(x, dtype),
    }
}

/// A result that there may be, like an operand that there may be.
pub(super) fn rounded_if(x: Option<Storage>, dtype: Option<DType>) -> Result<Option<Storage>> {
    x.zip(dtype).map(|(x, dtype)| rounded(x, dtype)).transpose()
}

/// The dtype of an operand that there may be.
pub(super) fn dtype_of(x: Option<&Operand>) -> Option<DType> {
    x.map(|x| x.storage.dtype())
}

/// The `len` elements that a forward pass saved; an error if another pass saved them.
pub(super) fn saved_elements<'a, T: Element>(
    storage: &'a Storage,
    len: usize,
    op: &'static str,
) -> Result<&'a [T]> {
    let elements = elements_of(storage)?;
    if elements.len() == len {
        return Ok(elements);
    }
    let problem =
        format!("element(s) where {len} were saved; pass back the result of the forward pass");
    Err(Error::argument(op, "saved", elements.len(), problem))
}
