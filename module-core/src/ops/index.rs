//! Reading and adding by index.

use crate::tensor::{Backward, Function, Gradients, Tensor, one, two};
use crate::{DType, Error, ErrorKind, Result, Shape};

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
        let (dim, column, shape) = self.listed(NAME, dim, index)?;
        self.gather(dim, &column.expand(shape)?)
    }

    /// A copy of this tensor with the slices of `source` added to those of dimension `dim` that a list
    /// of indices names; one that stands twice is added to twice.
    ///
    /// # Errors
    ///
    /// An index that is not `I64` with one dimension, or out of range; a source of another shape than
    /// the selection has, another dtype or device.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([10_i64, 20, 30]);
    /// let y = x.index_add(0, &Tensor::from([2_i64, 0, 2]), &Tensor::from([1_i64, 2, 3]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [12, 20, 34]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn index_add(&self, dim: isize, index: &Self, source: &Self) -> Result<Self> {
        const NAME: &str = "index_add";
        self.check_same(NAME, source)?;
        let (dim, column, shape) = self.listed(NAME, dim, index)?;
        if *source.shape() != shape {
            let (lhs, rhs) = (shape, source.shape().clone());
            let rule = "the source must have the shape of the selection".to_owned();
            let op = NAME;
            return Err(ErrorKind::ShapeMismatch { op, lhs, rhs, rule }.into());
        }
        self.scatter_add(dim, &column.expand(shape)?, source)
    }

    /// Rows of `classes` numbers, 1 at the class and 0 elsewhere, as `I64`, along a new last
    /// dimension.
    ///
    /// # Errors
    ///
    /// Classes that are not `I64` or outside `0..classes`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([2_i64, 0]).one_hot(3)?;
    /// assert_eq!(x.to_vec::<i64>()?, [0, 0, 1, 1, 0, 0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn one_hot(&self, classes: usize) -> Result<Self> {
        const NAME: &str = "one_hot";
        if self.dtype() != DType::I64 {
            let (dtype, needs) = (self.dtype(), "int64 classes");
            let op = NAME;
            return Err(ErrorKind::UnsupportedDType { op, dtype, needs }.into());
        }
        let shape: Shape = self.shape().iter().copied().chain([classes]).collect();
        let place = self.unsqueeze(-1)?;
        if classes == 0 {
            if self.numel() > 0 {
                let problem = "there is a class for each element, and none to choose";
                return Err(Error::argument(NAME, "classes", classes, problem));
            }
            return Self::zeros(shape, DType::I64, &self.device());
        }
        Self::zeros(shape, DType::I64, &self.device())?.scatter_add(-1, &place, &place.ones_like()?)
    }

    /// A list of indices for dimension `dim`: the dimension, the list as a column that broadcasts
    /// along it, and the shape of what it selects.
    fn listed(&self, op: &'static str, dim: isize, index: &Self) -> Result<(isize, Self, Shape)> {
        let dim = self.shape().dim(op, dim)?;
        if self.rank() == 0 {
            return Err(self.shape().error(op, "at least one dimension"));
        }
        let &[length] = &**index.shape() else {
            return Err(index.shape().error(op, "an index with one dimension"));
        };
        let with = |other: fn(usize) -> usize| -> Shape {
            let sizes = self.shape().iter().enumerate();
            sizes
                .map(|(d, &size)| if d == dim { length } else { other(size) })
                .collect()
        };
        let column = index.reshape_to(&with(|_| 1))?;
        Ok((dim as isize, column, with(|size| size)))
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
