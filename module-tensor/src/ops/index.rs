//! Reading elements by index, and positions as indices.

use super::Integers;
use crate::backend::{Operand, cpu_scratch, cpu_storage, host_slice};
use crate::layout::Layout;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Error, ErrorKind, Result, Shape, ShapeError};

impl Tensor {
    /// `out[.., i, ..] = self[.., index[.., i, ..], ..]` along `dim`; the result has the shape of `index`, whose other
    /// sizes are at most this tensor's. A zero-dimensional tensor counts as a vector of one element.
    ///
    /// # Errors
    ///
    /// An index that is not `I64` or `I32`, or is out of range; incompatible shapes.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// let y = x.gather(1, &Tensor::from([[1_i64], [0]]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn gather(&self, dim: isize, index: &Self) -> Result<Self> {
        if self.rank() == 0 || index.rank() == 0 {
            let out = self.as_vector()?.gather(dim, &index.as_vector()?)?;
            return out.reshape_to(index.shape());
        }
        let (dim, index) = self.check_index("gather", dim, index, self.shape())?;
        let storage =
            self.device()
                .backend()
                .gather(self.plain("gather")?, dim, index.operand())?;
        Ok(index.like_shape(storage).record([self], |_| Gather {
            from: self.shape().clone(),
            dim,
            index: index.clone(),
        }))
    }

    /// [`gather`](Self::gather) along `dim`, with the other dimensions of both broadcast to each other.
    ///
    /// It reads the elements that [`argsort`](Self::argsort) or [`argmax`](Self::argmax) found. Negative indices count
    /// from the end, as in PyTorch; indices beyond the size, which PyTorch wraps, are an error here.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather), and shapes that do not broadcast.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// let y = x.take_along_dim(&Tensor::from([[1_i64]]), 1)?;
    /// assert_eq!(y.to_vec::<i64>()?, [2, 4]);
    /// let last = x.take_along_dim(&Tensor::from([[-1_i64]]), 1)?;
    /// assert_eq!(last.to_vec::<i64>()?, [2, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn take_along_dim(&self, index: &Self, dim: isize) -> Result<Self> {
        const NAME: &str = "take_along_dim";
        let position = self.shape().dim(NAME, dim)?;
        if self.rank() != index.rank() || self.rank() == 0 {
            let (lhs, rhs) = (self.shape().clone(), index.shape().clone());
            let rule = "both must have as many dimensions, at least one".to_owned();
            let op = NAME;
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        let with = |shape: &Shape, size: usize| -> Shape {
            let sizes = shape.iter().enumerate();
            sizes
                .map(|(d, &s)| if d == position { size } else { s })
                .collect()
        };
        let common = with(self.shape(), 1).broadcast(NAME, &with(index.shape(), 1))?;
        let size = self.shape()[position];
        let from_start = self.indices(NAME, index)?.counted_from_start(size)?;
        let x = self.expand(with(&common, size))?;
        let index = from_start.expand(with(&common, index.shape()[position]))?;
        x.gather(dim, &index).map_err(|error| match error.kind() {
            // The number that the user passed.
            &ErrorKind::Shape(ShapeError::Index { index, size, .. }) if index < 0 => {
                ShapeError::Index {
                    op: NAME,
                    index: index - size as i64,
                    size,
                }
                .into()
            }
            _ => error,
        })
    }

    /// The indices of the nonzero elements, one in each row, as `I64` of the shape `[count, rank]`.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[0_i64, 5], [7, 0]]).nonzero()?;
    /// assert_eq!(x.to_vec::<i64>()?, [0, 1, 1, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "argwhere")]
    pub fn nonzero(&self) -> Result<Self> {
        let mask = self.is_true()?.detach();
        let (storage, count) = self.device().backend().nonzero(mask.plain("nonzero")?)?;
        Ok(Self::fresh(storage, [count, self.rank()].into()))
    }

    /// One-hot rows of `classes` numbers, as `I64`, along a new last dimension.
    ///
    /// # Errors
    ///
    /// Classes that are not `I64`, `I32` or `U8`, or are outside `0..classes`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([2_i64, 0]).one_hot(3)?;
    /// assert_eq!(x.to_vec::<i64>()?, [0, 0, 1, 1, 0, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn one_hot(&self, classes: usize) -> Result<Self> {
        const NAME: &str = "one_hot";
        let shape: Shape = self.shape().iter().copied().chain([classes]).collect();
        let position = self.to_integers(NAME, Integers::Classes)?.unsqueeze(-1)?;
        if classes == 0 {
            if self.numel() > 0 {
                let problem = "there is a class for each element, and none to choose";
                return Err(Error::argument(NAME, "classes", classes, problem));
            }
            return Self::zeros(shape, (DType::I64, &self.device()));
        }
        let no_class = |index: i64| {
            let problem = format!("has no class {index}");
            Error::argument(NAME, "classes", classes, problem)
        };
        if let Some(chosen) = host_slice::<i64>(position.storage(), &position.layout) {
            let numel = shape.checked_numel(NAME, size_of::<i64>())?;
            let mut out = cpu_scratch::<i64>(numel)?;
            out.fill(0);
            for (row, &class) in out.chunks_exact_mut(classes).zip(chosen) {
                let slot = usize::try_from(class).ok().and_then(|i| row.get_mut(i));
                *slot.ok_or_else(|| no_class(class))? = 1;
            }
            return Ok(Self::fresh(cpu_storage(out), shape));
        }
        let class_error = |error: Error| match error.kind() {
            &ErrorKind::Shape(ShapeError::Index { index, .. }) => no_class(index),
            _ => error,
        };
        Self::zeros(shape, (DType::I64, &self.device()))?
            .scatter_add(-1, &position, &position.ones_like()?)
            .map_err(class_error)
    }

    /// Indices of a dimension of `size` elements, with negative ones converted.
    fn counted_from_start(&self, size: usize) -> Result<Self> {
        let negative = self.lt(0_i64)?;
        // The size of a dimension is far below the greatest number.
        negative.where_(&self.add(size as i64)?, self)
    }

    pub(super) fn check_index(
        &self,
        op: &'static str,
        dim: isize,
        index: &Self,
        bound: &Shape,
    ) -> Result<(usize, Self)> {
        let dim = self.shape().dim(op, dim)?;
        let index = self.indices(op, index)?;
        let fits = self.rank() > 0
            && index.rank() == bound.rank()
            && (0..bound.rank()).all(|d| d == dim || index.shape()[d] <= bound[d]);
        if fits {
            return Ok((dim, index));
        }
        let (lhs, rhs) = (self.shape().clone(), index.shape().clone());
        let rule = format!("the index may exceed the tensor in dimension {dim} only");
        Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into())
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
        let Self { from, dim, index } = self;
        one(ctx.grad().added_to_zeros(from, *dim, index, false)?)
    }
}

impl Tensor {
    /// A zero-dimensional tensor as a vector of one element; any other unchanged.
    pub(super) fn as_vector(&self) -> Result<Self> {
        match self.rank() {
            0 => self.unsqueeze(0),
            _ => Ok(self.clone()),
        }
    }

    /// Zeros of `shape` with this tensor added: its elements, or its slices if `slices`, where an
    /// index says.
    ///
    /// Nothing else holds the zeros, so that the kernel need not copy them.
    pub(super) fn added_to_zeros(
        &self,
        shape: &Shape,
        dim: usize,
        index: &Self,
        slices: bool,
    ) -> Result<Self> {
        let backend = self.device().backend();
        let numel = shape.checked_numel("zeros", self.dtype().size_in_bytes())?;
        let zeros = Operand {
            storage: backend.full(numel, self.dtype(), 0.into())?,
            layout: Layout::contiguous(shape.clone()),
        };
        let storage = if slices {
            backend.index_add(zeros, dim, index.operand(), self.operand())?
        } else {
            backend.scatter_add(zeros, dim, index.operand(), self.operand())?
        };
        let index = index.clone();
        Ok(
            Self::fresh(storage, shape.clone()).record([self], |_| AddedToZeros {
                dim,
                index,
                slices,
            }),
        )
    }
}

struct AddedToZeros {
    dim: usize,
    index: Tensor,
    slices: bool,
}

impl Function for AddedToZeros {
    fn name(&self) -> &'static str {
        "gather_backward"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let dim = self.dim as isize;
        one(if self.slices {
            ctx.grad().index_select(dim, &self.index)?
        } else {
            ctx.grad().gather(dim, &self.index)?
        })
    }
}
