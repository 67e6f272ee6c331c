//! Views: other shapes and orders of the same elements, without a copy wherever memory allows.

use std::ops::Range;

use smallvec::SmallVec;

use crate::layout::{Dims, view::infer};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Error, Result, Shape};

impl Tensor {
    /// The same elements in row-major order as another shape; one size may be `-1` and is inferred.
    ///
    /// It copies only if the elements do not lie so that the shape is a view.
    ///
    /// # Errors
    ///
    /// Sizes whose product is not the number of elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::arange(0, 6)?.reshape([2, -1])?;
    /// assert_eq!(x.shape().to_string(), "[2, 3]");
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn reshape(&self, sizes: impl AsRef<[isize]>) -> Result<Self> {
        self.reshape_to(&infer("reshape", self.shape(), sizes.as_ref())?)
    }

    /// [`reshape`](Self::reshape) to a shape that is known.
    ///
    /// # Errors
    ///
    /// As [`reshape`](Self::reshape).
    pub fn reshape_to(&self, shape: &Shape) -> Result<Self> {
        if shape == self.shape() {
            return Ok(self.clone());
        }
        if shape.checked_numel("reshape", 1)? != self.numel() {
            let problem = format!("has another number of elements than {}", self.shape());
            return Err(Error::argument("reshape", "shape", shape, problem));
        }
        let out = match self.layout.reshape(shape) {
            Some(layout) => self.view(layout),
            None => {
                let storage = self.device().backend().contiguous(self.operand())?;
                Self::fresh(storage, shape.clone())
            }
        };
        Ok(out.record([self], |_| Reshape {
            from: self.shape().clone(),
        }))
    }

    /// The dimensions from `start` to `end`, both included, as one.
    ///
    /// # Errors
    ///
    /// Dimensions that are out of range or out of order.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Self> {
        let (first, last) = (
            self.shape().dim("flatten", start)?,
            self.shape().dim("flatten", end)?,
        );
        if first > last {
            let problem = format!("lies after end = {end} in shape {}", self.shape());
            return Err(Error::argument("flatten", "start", start, problem));
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

    /// The same elements in row-major order in memory; itself if they lie so already.
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
    pub fn contiguous(&self) -> Result<Self> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        let storage = self.device().backend().contiguous(self.operand())?;
        Ok(self.like_shape(storage).record([self], |_| Contiguous))
    }

    /// The dimensions in another order.
    ///
    /// # Errors
    ///
    /// An order that does not name each dimension once.
    pub fn permute(&self, order: impl AsRef<[isize]>) -> Result<Self> {
        let order = order.as_ref();
        let mut places: SmallVec<[usize; 4]> = SmallVec::new();
        for &dim in order {
            let place = self.shape().dim("permute", dim)?;
            if places.contains(&place) || places.len() == self.rank() {
                break;
            }
            places.push(place);
        }
        if places.len() != order.len() || places.len() != self.rank() {
            let problem = format!(
                "does not name each dimension of shape {} once",
                self.shape()
            );
            return Err(Error::argument(
                "permute",
                "order",
                format_args!("{order:?}"),
                problem,
            ));
        }
        Ok(self
            .view(self.layout.permute(&places))
            .record([self], |_| Permute { order: places }))
    }

    /// With two dimensions exchanged.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Self> {
        let (a, b) = (
            self.shape().dim("transpose", a)?,
            self.shape().dim("transpose", b)?,
        );
        let mut order: SmallVec<[usize; 4]> = (0..self.rank()).collect();
        if !order.is_empty() {
            order.swap(a, b);
        }
        Ok(self
            .view(self.layout.permute(&order))
            .record([self], |_| Permute { order }))
    }

    /// The transpose of a matrix; a tensor of fewer dimensions is returned as it is.
    ///
    /// # Errors
    ///
    /// More than two dimensions.
    pub fn t(&self) -> Result<Self> {
        match self.rank() {
            0 | 1 => Ok(self.clone()),
            2 => self.transpose(0, 1),
            _ => Err(self.shape().error("t", "at most two dimensions")),
        }
    }

    /// The elements `range` of dimension `dim`.
    ///
    /// # Errors
    ///
    /// A dimension or a range that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.narrow(1, 1..3)?.to_vec::<i64>()?, [2, 3, 5, 6]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn narrow(&self, dim: isize, range: Range<usize>) -> Result<Self> {
        let dim = self.shape().dim("narrow", dim)?;
        if self.rank() == 0 {
            return Err(self.shape().error("narrow", "at least one dimension"));
        }
        let length = range.end.checked_sub(range.start).ok_or_else(|| {
            let problem = "ends before it starts";
            Error::argument("narrow", "range", format_args!("{range:?}"), problem)
        })?;
        let layout = self.layout.narrow("narrow", dim, range.start, length)?;
        Ok(self.view(layout).record([self], |_| Narrow {
            from: self.shape().clone(),
            dim,
            start: range.start,
        }))
    }

    /// With a dimension of size 1 inserted before `dim`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    pub fn unsqueeze(&self, dim: isize) -> Result<Self> {
        // One more place than there are dimensions: before each, and after the last.
        let wider: Shape = self.shape().iter().copied().chain([1]).collect();
        let dim = wider.dim("unsqueeze", dim)?;
        let out = self.view(self.layout.unsqueeze(dim));
        Ok(out.record([self], |_| Reshape {
            from: self.shape().clone(),
        }))
    }

    /// Without the dimensions of size 1 among `dims` (`..` for all of them).
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    pub fn squeeze(&self, dims: impl Into<Dims>) -> Result<Self> {
        let mut dims = self.shape().dims("squeeze", &dims.into())?;
        dims.retain(|dim| self.shape()[dim] == 1);
        let out = self.view(self.layout.squeeze(&dims));
        Ok(out.record([self], |_| Reshape {
            from: self.shape().clone(),
        }))
    }

    /// Stretched to `shape` by broadcasting, without a copy.
    ///
    /// # Errors
    ///
    /// A shape that this one does not broadcast to.
    pub fn expand(&self, shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        shape.checked_numel("expand", self.dtype().size_in_bytes())?;
        let out = self.view(self.layout.broadcast_to("expand", &shape)?);
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

struct Contiguous;

impl Function for Contiguous {
    fn name(&self) -> &'static str {
        "contiguous"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().clone())
    }
}

struct Permute {
    order: SmallVec<[usize; 4]>,
}

impl Function for Permute {
    fn name(&self) -> &'static str {
        "permute"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let mut inverse = vec![0_isize; self.order.len()];
        for (place, &dim) in self.order.iter().enumerate() {
            inverse[dim] = place as isize;
        }
        one(ctx.grad().permute(inverse)?)
    }
}

struct Narrow {
    from: Shape,
    dim: usize,
    start: usize,
}

impl Function for Narrow {
    fn name(&self) -> &'static str {
        "narrow"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        let length = grad.shape()[self.dim];
        let zeros = |size: usize| {
            let sizes = self.from.iter().enumerate();
            let shape: Shape = sizes
                .map(|(d, &s)| if d == self.dim { size } else { s })
                .collect();
            Tensor::zeros(shape, grad.dtype(), &grad.device())
        };
        let before = zeros(self.start)?;
        let after = zeros(self.from[self.dim] - self.start - length)?;
        one(Tensor::cat(&[&before, grad, &after], self.dim as isize)?)
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
