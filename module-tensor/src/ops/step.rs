//! The common code of optimizer steps, which write over the parameter where nothing else holds its memory.

use crate::tensor::Tensor;
use crate::{Result, ShapeError};

impl Tensor {
    /// Checks that a tensor that a step reads matches the parameter.
    pub(super) fn check_step<'a>(
        &self,
        op: &'static str,
        others: impl IntoIterator<Item = &'a Self>,
    ) -> Result<()> {
        self.check_floating(op)?;
        for other in others {
            self.check_same(op, other)?;
            if self.shape() != other.shape() {
                let (lhs, rhs) = (self.shape().clone(), other.shape().clone());
                let rule = "gradient and state must have the shape of the parameter".to_owned();
                return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
            }
        }
        Ok(())
    }

    /// Makes the elements start at the beginning of the storage, in row-major order, as kernels write them.
    pub(super) fn lie_from_start(&mut self) -> Result<()> {
        self.storage.resolve();
        if !self.is_contiguous() || self.layout.offset() != 0 {
            let backend = self.device().backend();
            *self = self.like_shape(backend.contiguous(self.operand())?);
        }
        self.edge = None;
        Ok(())
    }
}
