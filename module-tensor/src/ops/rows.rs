//! `index_select`, `embedding` and `index_add`: reading and adding whole slices by index.

use crate::tensor::{Backward, Function, Gradients, Tensor, one, two};
use crate::{Error, Result, Shape, ShapeError};

impl Tensor {
    /// The slices of dimension `dim` that a list of indices selects, in its order.
    ///
    /// A tensor without dimensions accepts one index, in a list or not, and stays without dimensions.
    ///
    /// # Errors
    ///
    /// An index that is not `I64` or `I32` with at most one dimension, or out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4], [5, 6]]);
    /// let rows = x.index_select(0, &Tensor::from([2_i64, 0]))?;
    /// assert_eq!(rows.to_vec::<i64>()?, [5, 6, 1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn index_select(&self, dim: isize, index: &Self) -> Result<Self> {
        const NAME: &str = "index_select";
        let index = &index.as_vector()?;
        if self.rank() == 0 && index.numel() == 1 {
            let out = self.as_vector()?.rows(NAME, dim, index, None)?;
            return out.reshape_to(self.shape());
        }
        self.rows(NAME, dim, index, None)
    }

    /// The rows of this table `[count, width]` selected by the indices, in the shape of `indices` plus one dimension:
    /// PyTorch's `F.embedding(indices, weight, padding_idx)`.
    ///
    /// The row `padding_idx` is read like any other, but gets no gradient.
    ///
    /// # Errors
    ///
    /// A table that is not two-dimensional, indices that are not `I64` or `I32` or are out of range, a `padding_idx` that
    /// is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let table = Tensor::from([[1_i64, 2], [3, 4], [5, 6]]);
    /// let x = table.embedding(&Tensor::from([[2_i64], [0]]), None)?;
    /// assert_eq!(x.shape().to_string(), "[2, 1, 2]");
    /// assert_eq!(x.to_vec::<i64>()?, [5, 6, 1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn embedding(&self, indices: &Self, padding_idx: Option<usize>) -> Result<Self> {
        const NAME: &str = "embedding";
        let &[count, width] = &**self.shape() else {
            return Err(self.shape().error(NAME, "a table of two dimensions"));
        };
        if let Some(row) = padding_idx.filter(|&row| row >= count) {
            let problem = format!("is out of range for {count} rows");
            return Err(Error::argument(NAME, "padding_idx", row, problem));
        }
        let shape: Shape = indices.shape().iter().copied().chain([width]).collect();
        // An index view may name more rows than fit in memory.
        shape.checked_numel(NAME, self.dtype().size_in_bytes().max(8))?;
        let list = indices.reshape_to(&indices.numel().into())?;
        self.rows(NAME, 0, &list, padding_idx)?.reshape_to(&shape)
    }

    fn rows(
        &self,
        op: &'static str,
        dim: isize,
        index: &Self,
        padding: Option<usize>,
    ) -> Result<Self> {
        let (dim, index, shape) = self.resolve_index_list(op, dim, index)?;
        let backend = self.device().backend();
        let storage = backend.index_select(self.plain(op)?, dim, index.operand())?;
        Ok(Self::fresh(storage, shape).record([self], |_| IndexSelect {
            name: op,
            from: self.shape().clone(),
            dim,
            index: index.clone(),
            padding,
        }))
    }

    /// A copy of this tensor with the slices of `source` added to those of dimension `dim` that a list of indices selects;
    /// repeated indices are added repeatedly. A zero-dimensional tensor counts as a vector of one element.
    ///
    /// # Errors
    ///
    /// An index that is not `I64` or `I32` with one dimension, or out of range; a source whose shape differs from the
    /// selection, another dtype or device.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([10_i64, 20, 30]);
    /// let y = x.index_add(0, &Tensor::from([2_i64, 0, 2]), &Tensor::from([1_i64, 2, 3]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [12, 20, 34]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn index_add(&self, dim: isize, index: &Self, source: &Self) -> Result<Self> {
        const NAME: &str = "index_add";
        self.check_same(NAME, source)?;
        let index = &index.as_vector()?;
        if self.rank() == 0 && source.rank() == 0 {
            let out = self
                .as_vector()?
                .index_add(dim, index, &source.as_vector()?)?;
            return out.reshape_to(self.shape());
        }
        let (dim, index, shape) = self.resolve_index_list(NAME, dim, index)?;
        if *source.shape() != shape {
            let (lhs, rhs) = (shape, source.shape().clone());
            let rule = "the source must have the shape of the selection".to_owned();
            let op = NAME;
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        let storage = self.device().backend().index_add(
            self.plain(NAME)?,
            dim,
            index.operand(),
            source.plain(NAME)?,
        )?;
        Ok(self
            .like_shape(storage)
            .record([self, source], |_| IndexAdd {
                dim,
                index: index.clone(),
            }))
    }

    /// A list of indices for dimension `dim`: the dimension, the list as `I64`, and the shape of the selection.
    pub(super) fn resolve_index_list(
        &self,
        op: &'static str,
        dim: isize,
        index: &Self,
    ) -> Result<(usize, Self, Shape)> {
        let dim = self.shape().dim(op, dim)?;
        let index = self.indices(op, index)?;
        if self.rank() == 0 {
            return Err(self
                .shape()
                .error(op, "at least one dimension, or one index"));
        }
        let &[length] = &**index.shape() else {
            return Err(index.shape().error(op, "an index with one dimension"));
        };
        let sizes = self.shape().iter().enumerate();
        let shape: Shape = sizes
            .map(|(d, &size)| if d == dim { length } else { size })
            .collect();
        shape.checked_numel(op, self.dtype().size_in_bytes())?;
        Ok((dim, index, shape))
    }
}

struct IndexSelect {
    name: &'static str,
    from: Shape,
    dim: usize,
    index: Tensor,
    padding: Option<usize>,
}

impl Function for IndexSelect {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let mut grad = ctx.grad().clone();
        if let Some(row) = self.padding {
            // Only tables have a row without a gradient, and their rows are the first dimension.
            let padding = self.index.eq(row as i64)?.unsqueeze(1)?;
            grad = grad.masked_fill(&padding, 0)?;
        }
        one(grad.added_to_zeros(&self.from, self.dim, &self.index, true)?)
    }
}

struct IndexAdd {
    dim: usize,
    index: Tensor,
}

impl Function for IndexAdd {
    fn name(&self) -> &'static str {
        "index_add"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        two(
            ctx,
            || Ok(ctx.grad().clone()),
            || ctx.grad().index_select(self.dim as isize, &self.index),
        )
    }
}
