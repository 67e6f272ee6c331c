//! Reading and adding by index.

use crate::tensor::{Backward, Function, Gradients, Tensor, one, two};
use crate::{DType, ErrorKind, Result, Shape};

impl Tensor {
    /// `out[.., i, ..] = self[.., index[.., i, ..], ..]` along `dim`; the result has the shape of
    /// `index`, whose other sizes are at most this tensor's.
    ///
    /// # Errors
    ///
    /// An index that is not `I64` or out of range, shapes that do not fit.
    pub fn gather(&self, dim: isize, index: &Self) -> Result<Self> {
        let dim = self.check_index("gather", dim, index, self.shape())?;
        let storage = self
            .device()
            .backend()
            .gather(self.operand(), dim, index.operand())?;
        Ok(index.like_shape(storage).record([self], |_| Gather {
            from: self.shape().clone(),
            dim,
            index: index.clone(),
        }))
    }

    /// A copy of this tensor with `out[.., index[.., i, ..], ..] += source[.., i, ..]` along `dim`.
    ///
    /// # Errors
    ///
    /// As [`gather`](Self::gather), and a source smaller than the index.
    pub fn scatter_add(&self, dim: isize, index: &Self, source: &Self) -> Result<Self> {
        const NAME: &str = "scatter_add";
        self.check_same(NAME, source)?;
        let dim = self.check_index(NAME, dim, index, self.shape())?;
        if index.shape() != source.shape() {
            let (lhs, rhs) = (index.shape().clone(), source.shape().clone());
            let rule = "index and source must have one shape".to_owned();
            return Err(ErrorKind::ShapeMismatch {
                op: NAME,
                lhs,
                rhs,
                rule,
            }
            .into());
        }
        let storage = self.device().backend().scatter_add(
            self.operand(),
            dim,
            index.operand(),
            source.operand(),
        )?;
        Ok(self
            .like_shape(storage)
            .record([self, source], |_| ScatterAdd {
                dim,
                index: index.clone(),
            }))
    }

    /// The slices of dimension `dim` that a list of indices names, in its order.
    ///
    /// # Errors
    ///
    /// An index that is not `I64` with one dimension, or out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4], [5, 6]]);
    /// let rows = x.index_select(0, &Tensor::from([2_i64, 0]))?;
    /// assert_eq!(rows.to_vec::<i64>()?, [5, 6, 1, 2]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn index_select(&self, dim: isize, index: &Self) -> Result<Self> {
        const NAME: &str = "index_select";
        let dim = self.shape().dim(NAME, dim)?;
        if self.rank() == 0 {
            return Err(self.shape().error(NAME, "at least one dimension"));
        }
        let &[length] = &**index.shape() else {
            return Err(index.shape().error(NAME, "an index with one dimension"));
        };
        let sizes = self.shape().iter().enumerate();
        let shape: Shape = sizes
            .map(|(d, &size)| if d == dim { length } else { size })
            .collect();
        let column: Vec<isize> = (0..self.rank())
            .map(|d| if d == dim { length as isize } else { 1 })
            .collect();
        self.gather(dim as isize, &index.reshape(column)?.expand(shape)?)
    }

    fn check_index(
        &self,
        op: &'static str,
        dim: isize,
        index: &Self,
        bound: &Shape,
    ) -> Result<usize> {
        let dim = self.shape().dim(op, dim)?;
        self.check_device(op, index)?;
        if index.dtype() != DType::I64 {
            let (dtype, needs) = (index.dtype(), "an int64 index");
            return Err(ErrorKind::UnsupportedDType { op, dtype, needs }.into());
        }
        let fits = self.rank() > 0
            && index.rank() == bound.rank()
            && (0..bound.rank()).all(|d| d == dim || index.shape()[d] <= bound[d]);
        if fits {
            return Ok(dim);
        }
        let (lhs, rhs) = (self.shape().clone(), index.shape().clone());
        let rule = format!("the index may exceed the tensor in dimension {dim} only");
        Err(ErrorKind::ShapeMismatch { op, lhs, rhs, rule }.into())
    }
}

struct Gather {
    from: Shape,
    dim: usize,
    index: Tensor,
}

impl Function for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        let zeros = Tensor::zeros(&self.from, grad.dtype(), &grad.device())?;
        one(zeros.scatter_add(self.dim as isize, &self.index, grad)?)
    }
}

struct ScatterAdd {
    dim: usize,
    index: Tensor,
}

impl Function for ScatterAdd {
    fn name(&self) -> &'static str {
        "scatter_add"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        two(
            ctx,
            || Ok(ctx.grad().clone()),
            || ctx.grad().gather(self.dim as isize, &self.index),
        )
    }
}
