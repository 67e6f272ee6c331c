//! Products with a packed factor, which gets no gradient; the gradient flows to the other factor.

use super::AutocastPolicy;
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{Result, Shape, ShapeError};

impl Tensor {
    /// `self · b + row` for a packed matrix `b`, in the dtype of `self` or of `autocast`, reported as `op`.
    pub(super) fn packed_matmul(
        &self,
        op: &'static str,
        b: &Self,
        row: Option<&Self>,
    ) -> Result<Self> {
        let policy = AutocastPolicy::LowerPrecision;
        match policy.apply([self], [row], |[x], [row]| {
            x.product_with_packed(op, b, row)
        }) {
            Some(out) => out,
            None => self.product_with_packed(op, b, row),
        }
    }

    fn product_with_packed(&self, op: &'static str, b: &Self, row: Option<&Self>) -> Result<Self> {
        self.check_computed(op)?;
        self.check_device(op, b)?;
        if !self.dtype().is_floating_point() {
            let needs = "a floating-point tensor beside packed elements";
            return Err(self.dtype().error(op, needs));
        }
        let &[k, n] = &**b.shape() else {
            // Any other plain factor is refused as packed.
            return Err(b
                .plain(op)
                .err()
                .unwrap_or_else(|| b.shape().error(op, "a matrix")));
        };
        let Some((_, leading)) = self.shape().split_last().filter(|(last, _)| **last == k) else {
            let (lhs, rhs) = (self.shape().clone(), b.shape().clone());
            let rule = format!("the last dimension on the left must be {k}");
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        };
        if let Some(row) = row {
            self.check_same(op, row)?;
            if **row.shape() != [n] {
                return Err(row.shape().error(op, format!("a bias [{n}]")));
            }
        }
        let shape: Shape = leading.iter().copied().chain([n]).collect();
        shape.checked_numel(op, self.dtype().size_in_bytes())?;
        let a = self.rows_operand(op)?;
        let added = row.map(|row| row.plain(op)).transpose()?;
        let backend = self.device().backend();
        let storage = backend.packed_matmul(added, a, b.operand())?;
        let out = Self::fresh(storage, shape);
        let function = |_: &Self| PackedMatmul { b: b.clone() };
        Ok(match row {
            Some(row) => out.record([self, row], function),
            None => out.record([self], function),
        })
    }
}

struct PackedMatmul {
    b: Tensor,
}

impl Function for PackedMatmul {
    fn name(&self) -> &'static str {
        "packed_matmul"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        let mut gradients = Gradients::new();
        let first = ctx.needs(0).then(|| grad.matmul(&self.b.t()?));
        gradients.push(first.transpose()?);
        if ctx.input_count() == 2 {
            let bias = || grad.as_rows()?.sum(0);
            gradients.push(ctx.needs(1).then(bias).transpose()?);
        }
        Ok(gradients)
    }
}
