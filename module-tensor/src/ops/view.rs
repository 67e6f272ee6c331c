//! Views: other shapes of the same elements, without a copy wherever memory allows.

use std::ops::Range;

use crate::layout::{Dims, IntoSizes, check_rank, view::infer};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Error, Result, Shape};

impl Tensor {
    /// The same elements in row-major order as another shape; one size may be `-1` and is inferred.
    ///
    /// It copies only if the shape cannot be a view. The result has its own gradient and hooks even if the shape is the same.
    ///
    /// # Errors
    ///
    /// Sizes whose product is not the number of elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 6, ())?.reshape([2, -1])?;
    /// assert_eq!(x.shape().to_string(), "[2, 3]");
    /// let rows = x.size(0)?;
    /// assert_eq!(x.reshape([rows * 3, 1])?.shape().to_string(), "[6, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn reshape(&self, sizes: impl IntoSizes) -> Result<Self> {
        self.reshape_sizes(&sizes.into_sizes())
    }

    fn reshape_sizes(&self, sizes: &[isize]) -> Result<Self> {
        self.as_shape(&infer("reshape", self.shape(), sizes)?)
    }

    /// The same elements as the output of an operation: as a result that did not change anything, it still has its own
    /// gradient and hooks, not those of the input.
    pub(crate) fn alias(&self) -> Self {
        let out = self.with_layout(self.layout.clone());
        out.record([self], |_| Unchanged { name: "alias" })
    }

    /// [`reshape`](Self::reshape) for callers.
    fn as_shape(&self, shape: &Shape) -> Result<Self> {
        match shape == self.shape() {
            true => Ok(self.alias()),
            false => self.reshape_to(shape),
        }
    }

    /// [`reshape`](Self::reshape) to a shape that is known, within an operation: the tensor itself if it has the shape.
    pub(crate) fn reshape_to(&self, shape: &Shape) -> Result<Self> {
        if shape == self.shape() {
            return Ok(self.clone());
        }
        if shape.checked_numel("reshape", 1)? != self.numel() {
            let problem = format!("has another number of elements than {}", self.shape());
            return Err(Error::argument("reshape", "shape", shape, problem));
        }
        let out = match self.layout.reshape(shape) {
            Some(layout) => self.with_layout(layout),
            None => {
                let storage = self.device().backend().contiguous(self.plain("reshape")?)?;
                Self::fresh(storage, shape.clone())
            }
        };
        Ok(out.record([self], |_| Reshape {
            from: self.shape().clone(),
        }))
    }

    /// Merges the dimensions from `start_dim` to `end_dim`, inclusive.
    ///
    /// # Errors
    ///
    /// Dimensions that are out of range or out of order.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 24, ())?.reshape([2, 3, 4])?;
    /// assert_eq!(x.flatten(1, -1)?.shape().to_string(), "[2, 12]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "ravel")]
    pub fn flatten(&self, start_dim: isize, end_dim: isize) -> Result<Self> {
        let (first, last) = (
            self.shape().dim("flatten", start_dim)?,
            self.shape().dim("flatten", end_dim)?,
        );
        if first > last {
            let problem = format!("lies after end_dim = {end_dim} in shape {}", self.shape());
            return Err(Error::argument("flatten", "start_dim", start_dim, problem));
        }
        if self.rank() == 0 {
            return self.reshape_to(&[1].into());
        }
        let joined = self.shape()[first..=last].iter().product();
        let shape = self.shape()[..first]
            .iter()
            .copied()
            .chain([joined])
            .chain(self.shape()[last + 1..].iter().copied())
            .collect();
        self.reshape_to(&shape)
    }

    /// The same elements in row-major order in memory; the tensor itself if they already are.
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
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert!(x.t()?.contiguous()?.is_contiguous());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn contiguous(&self) -> Result<Self> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        let backend = self.device().backend();
        let storage = backend.contiguous(self.plain("contiguous")?)?;
        Ok(self
            .like_shape(storage)
            .record([self], |_| Unchanged { name: "contiguous" }))
    }

    /// The elements `range` of dimension `dim`, as a view; PyTorch takes a start and a length.
    ///
    /// # Errors
    ///
    /// A dimension or a range that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.narrow(1, 1..3)?.to_vec::<i64>()?, [2, 3, 5, 6]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn narrow(&self, dim: isize, range: Range<usize>) -> Result<Self> {
        const NAME: &str = "narrow";
        let (dim, size) = self.dim_and_size(NAME, dim)?;
        let length = range.end.checked_sub(range.start).ok_or_else(|| {
            let problem = "ends before it starts";
            Error::argument(NAME, "range", format_args!("{range:?}"), problem)
        })?;
        if range.end > size {
            let problem = format!(
                "is out of range for dimension {dim} of shape {}",
                self.shape()
            );
            let range = format_args!("{range:?}");
            return Err(Error::argument(NAME, "range", range, problem));
        }
        self.view_by(NAME, |layout| layout.slice(dim, range.start, length, 1))
    }

    /// The same elements as another shape without a copy; one size may be `-1` and is inferred.
    ///
    /// [`reshape`](Self::reshape) does the same, but copies where this is an error.
    ///
    /// # Errors
    ///
    /// Those of [`reshape`](Self::reshape), and a shape that cannot be a view.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 6, ())?.view([2, 3])?;
    /// assert!(x.t()?.view([6]).is_err());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn view(&self, sizes: impl IntoSizes) -> Result<Self> {
        self.view_as(&sizes.into_sizes())
    }

    fn view_as(&self, sizes: &[isize]) -> Result<Self> {
        const NAME: &str = "view";
        let shape = infer(NAME, self.shape(), sizes)?;
        if self.layout.reshape(&shape).is_none() {
            let problem = format!(
                "is not a view of shape {} with strides {:?}; use `reshape`, which copies",
                self.shape(),
                self.layout.strides()
            );
            return Err(Error::argument(NAME, "shape", shape, problem));
        }
        self.as_shape(&shape)
    }

    /// Splits dimension `dim` into these sizes, one of which may be `-1` and is inferred.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, sizes whose product is not that of the dimension.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 12, ())?.reshape([2, 6])?.unflatten(1, [3, -1])?;
    /// assert_eq!(x.shape().to_string(), "[2, 3, 2]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn unflatten(&self, dim: isize, sizes: impl IntoSizes) -> Result<Self> {
        self.unflatten_to(dim, &sizes.into_sizes())
    }

    fn unflatten_to(&self, dim: isize, sizes: &[isize]) -> Result<Self> {
        const NAME: &str = "unflatten";
        let (dim, size) = self.dim_and_size(NAME, dim)?;
        let parts = infer(NAME, &size.into(), sizes)?;
        let mut shape = self.shape().to_vec();
        shape.splice(dim..=dim, parts.iter().copied());
        self.as_shape(&shape.into())
    }

    /// Inserts a dimension of size 1 before `dim`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2]);
    /// assert_eq!(x.unsqueeze(0)?.shape().to_string(), "[1, 2]");
    /// assert_eq!(x.unsqueeze(-1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn unsqueeze(&self, dim: isize) -> Result<Self> {
        let dim = self.new_dim("unsqueeze", dim)?;
        let out = self.with_layout(self.layout.unsqueeze(dim));
        Ok(out.record([self], |_| Reshape {
            from: self.shape().clone(),
        }))
    }

    /// Where `op` inserts a dimension: before one of the tensor's, or after the last.
    pub(super) fn new_dim(&self, op: &'static str, dim: isize) -> Result<usize> {
        check_rank(op, self.rank() + 1)?;
        let wider: Shape = self.shape().iter().copied().chain([1]).collect();
        wider.dim(op, dim)
    }

    /// Removes the dimensions of size 1 among `dims` (`..` for all of them).
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[[1_i64], [2]]]);
    /// assert_eq!(x.squeeze(0)?.shape().to_string(), "[2, 1]");
    /// assert_eq!(x.squeeze(..)?.shape().to_string(), "[2]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn squeeze(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.squeeze_dims(&dims.into())
    }

    fn squeeze_dims(&self, dims: &Dims) -> Result<Self> {
        let mut dims = self.shape().dims("squeeze", dims)?;
        dims.retain(|dim| self.shape()[dim] == 1);
        let out = self.with_layout(self.layout.squeeze(&dims));
        Ok(out.record([self], |_| Reshape {
            from: self.shape().clone(),
        }))
    }

    /// Broadcasts to `sizes` without a copy: PyTorch's `expand` and `broadcast_to`.
    ///
    /// `-1` keeps a size.
    ///
    /// # Errors
    ///
    /// Sizes that this shape does not broadcast to, a `-1` for a new leading dimension.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64], [2]]);
    /// assert_eq!(x.expand([-1, 2])?.to_vec::<i64>()?, [1, 1, 2, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "broadcast_to")]
    #[inline]
    pub fn expand(&self, sizes: impl IntoSizes) -> Result<Self> {
        self.expand_to(&sizes.into_sizes())
    }

    fn expand_to(&self, sizes: &[isize]) -> Result<Self> {
        const NAME: &str = "expand";
        check_rank(NAME, sizes.len())?;
        let lead = sizes.len().saturating_sub(self.rank());
        let kept = |i: usize| self.shape().get(i.checked_sub(lead)?).copied();
        let size = |(i, &size): (usize, &isize)| match size {
            -1 => kept(i),
            size => usize::try_from(size).ok(),
        };
        let shape: Option<Shape> = sizes.iter().enumerate().map(size).collect();
        let shape = shape.ok_or_else(|| {
            let problem = format!(
                "has a negative size that keeps none of shape {}",
                self.shape()
            );
            Error::argument(NAME, "sizes", format_args!("{sizes:?}"), problem)
        })?;
        shape.checked_numel(NAME, self.dtype().size_in_bytes())?;
        let out = self.with_layout(self.layout.broadcast_to(NAME, &shape)?);
        Ok(out.record([self], |_| Expand {
            from: self.shape().clone(),
        }))
    }
}

struct Reshape {
    from: Shape,
}

impl Function for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().reshape_to(&self.from)?)
    }
}

/// The elements of the input.
struct Unchanged {
    name: &'static str,
}

impl Function for Unchanged {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().clone())
    }
}

struct Expand {
    from: Shape,
}

impl Function for Expand {
    fn name(&self) -> &'static str {
        "expand"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().sum_to(&self.from)?)
    }
}
