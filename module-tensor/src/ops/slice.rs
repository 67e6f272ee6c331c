//! Views of parts of tensors: `narrow`, `slice`, `select`, `diagonal`, `unfold`.

use std::ops::{Bound, RangeBounds};

use crate::layout::Layout;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Error, Result, Scalar, Shape, ShapeError};

impl Tensor {
    /// Every `step`-th element of `range` along `dim`: Python's `x[start:end:step]`, a view.
    ///
    /// Negative ends count from the end, and ends out of range are moved to the nearest valid one, as in Python; `..=-1`
    /// includes the last element. (Clippy treats a literal `1..-1` as a mistake; write [`i`](Self::i) with
    /// [`IndexItem::between`](crate::IndexItem::between).)
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, a step below 1 (reverse with
    /// [`flip`](Self::flip)).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 6, ())?;
    /// assert_eq!(x.slice(0, ..-1, 2)?.to_vec::<i64>()?, [0, 2, 4]);
    /// assert_eq!(x.slice(0, -2.., 1)?.to_vec::<i64>()?, [4, 5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn slice(&self, dim: isize, range: impl RangeBounds<isize>, step: isize) -> Result<Self> {
        const NAME: &str = "slice";
        let (dim, size) = self.dim_and_size(NAME, dim)?;
        let step = match usize::try_from(step) {
            Ok(step) if step > 0 => step,
            _ => {
                let problem = "must be positive; reverse the order with `flip`";
                return Err(Error::argument(NAME, "step", step, problem));
            }
        };
        let (start, end) = resolve_range(&range, size);
        let length = end.saturating_sub(start).div_ceil(step);
        self.view_by(NAME, |layout| layout.slice(dim, start, length, step))
    }

    /// Slice `index` of dimension `dim`, without the dimension: `x[index]` for the first dimension, a view.
    ///
    /// # Errors
    ///
    /// A dimension or an index that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.select(0, -1)?.to_vec::<i64>()?, [3, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn select(&self, dim: isize, index: isize) -> Result<Self> {
        const NAME: &str = "select";
        let (dim, size) = self.dim_and_size(NAME, dim)?;
        let resolved = resolve_index(index, size).ok_or(ShapeError::Index {
            op: NAME,
            index: index as i64,
            size,
        })?;
        self.view_by(NAME, |layout| layout.select(dim, resolved))
    }

    /// The elements `x[i, i + offset]` of the dimensions `dim1` and `dim2`, as a new last dimension
    /// that replaces both: a view.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, one dimension twice.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.diagonal(0, 0, 1)?.to_vec::<i64>()?, [1, 4]);
    /// assert_eq!(x.diagonal(1, 0, 1)?.to_vec::<i64>()?, [2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn diagonal(&self, offset: isize, dim1: isize, dim2: isize) -> Result<Self> {
        const NAME: &str = "diagonal";
        let (rows, row_count) = self.dim_and_size(NAME, dim1)?;
        let (columns, column_count) = self.dim_and_size(NAME, dim2)?;
        if rows == columns {
            let problem = "is the same dimension as `dim1`";
            return Err(Error::argument(NAME, "dim2", dim2, problem));
        }
        let down = offset.unsigned_abs();
        let start = if offset < 0 { [down, 0] } else { [0, down] };
        let length = row_count
            .saturating_sub(start[0])
            .min(column_count.saturating_sub(start[1]));
        self.view_by(NAME, |layout| {
            layout.diagonal([rows, columns], start, length)
        })
    }

    /// Windows of `size` elements along `dim`, each `step` after the previous one, with the elements of a window as a
    /// new last dimension: a view, in which elements may occur many times.
    ///
    /// # Shapes
    ///
    /// `[…, n, …]` to `[…, (n - size) / step + 1, …, size]`; `[]` to `[size]`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a step of 0, a window longer than the dimension, more elements than can be
    /// addressed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 4, ())?.unfold(0, 2, 1)?;
    /// assert_eq!(x.to_vec::<i64>()?, [0, 1, 1, 2, 2, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn unfold(&self, dim: isize, size: usize, step: usize) -> Result<Self> {
        const NAME: &str = "unfold";
        if self.rank() == 0 {
            return self.as_vector()?.unfold(dim, size, step)?.select(0, 0);
        }
        let (dim, length) = self.dim_and_size(NAME, dim)?;
        if step == 0 {
            return Err(Error::argument(NAME, "step", step, "must be positive"));
        }
        let Some(rest) = length.checked_sub(size) else {
            let problem = format!("is more than the {length} elements of the dimension");
            return Err(Error::argument(NAME, "size", size, problem));
        };
        let count = rest / step + 1;
        let sizes = self.shape().iter().enumerate();
        let sizes = sizes.map(|(d, &size)| if d == dim { count } else { size });
        let shape: Shape = sizes.chain([size]).collect();
        shape.checked_numel(NAME, self.dtype().size_in_bytes())?;
        self.view_by(NAME, |layout| layout.windows(dim, count, size, step))
    }

    /// A dimension and its size.
    pub(super) fn dim_and_size(&self, op: &'static str, dim: isize) -> Result<(usize, usize)> {
        let dim = self.shape().dim(op, dim)?;
        let size = self.shape().get(dim).copied();
        let size = size.ok_or_else(|| self.shape().error(op, "at least one dimension"))?;
        Ok((dim, size))
    }

    /// A view that leaves out or repeats elements, as a function of the layout.
    pub(super) fn view_by(
        &self,
        name: &'static str,
        view: impl Fn(&Layout) -> Layout,
    ) -> Result<Self> {
        let out = self.with_layout(view(&self.layout));
        Ok(out.record([self], |_| ViewBy {
            name,
            from: self.shape().clone(),
            layout: view(&Layout::contiguous(self.shape().clone())),
        }))
    }

    /// A tensor of `shape` filled with `fill`, with this one's elements at the indices of `layout`: the
    /// inverse of [`view_by`](Self::view_by).
    pub(crate) fn as_strided_scatter(
        &self,
        shape: &Shape,
        layout: &Layout,
        fill: Scalar,
    ) -> Result<Self> {
        let numel = shape.checked_numel("pad", self.dtype().size_in_bytes())?;
        let backend = self.device().backend();
        let storage = backend.as_strided_scatter(self.operand(), layout, numel, fill)?;
        Ok(
            Self::fresh(storage, shape.clone()).record([self], |_| AsStridedScatter {
                layout: layout.clone(),
            }),
        )
    }
}

/// Converts an index, which counts from the end if negative; `None` if it is out of range.
fn resolve_index(index: isize, size: usize) -> Option<usize> {
    let resolved = match usize::try_from(index) {
        Ok(index) => index,
        Err(_) => size.checked_sub(index.unsigned_abs())?,
    };
    (resolved < size).then_some(resolved)
}

/// The ends of a range by Python's rules.
fn resolve_range(range: &impl RangeBounds<isize>, size: usize) -> (usize, usize) {
    let clamped = |end: isize| match usize::try_from(end) {
        Ok(end) => end.min(size),
        Err(_) => size.saturating_sub(end.unsigned_abs()),
    };
    let after = |last: isize| match last {
        -1 => size,
        last => clamped(last.saturating_add(1)),
    };
    let start = match range.start_bound() {
        Bound::Included(&start) => clamped(start),
        Bound::Excluded(&before) => after(before),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => after(last),
        Bound::Excluded(&end) => clamped(end),
        Bound::Unbounded => size,
    };
    (start, end)
}

struct ViewBy {
    name: &'static str,
    from: Shape,
    /// The layout of the view of a contiguous tensor.
    layout: Layout,
}

impl Function for ViewBy {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx
            .grad()
            .as_strided_scatter(&self.from, &self.layout, 0.into())?)
    }
}

struct AsStridedScatter {
    layout: Layout,
}

impl Function for AsStridedScatter {
    fn name(&self) -> &'static str {
        "as_strided_scatter"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad().contiguous()?;
        // A contiguous tensor may begin anywhere in its memory.
        let layout = self.layout.moved(grad.layout.offset());
        let out = grad.with_layout(layout);
        one(out.record([&grad], |_| ViewBy {
            name: "as_strided_scatter",
            from: grad.shape().clone(),
            layout: self.layout.clone(),
        }))
    }
}
