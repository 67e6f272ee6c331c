//! Writing and adding elements by index.

use super::Value;
use crate::tensor::{Backward, Function, Gradients, Tensor, two};
use crate::{Result, ShapeError};

impl Tensor {
    /// A copy of this tensor with `out[.., index[.., i, ..], ..] += source[.., i, ..]` along `dim`; only the part of the
    /// source that the index covers is read.
    ///
    /// # Errors
    ///
    /// Those of [`gather`](Self::gather), and a source smaller than the index.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([10_i64, 20]);
    /// let y = x.scatter_add(0, &Tensor::from([1_i64, 1]), &Tensor::from([1_i64, 2]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [10, 23]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn scatter_add(&self, dim: isize, index: &Self, source: &Self) -> Result<Self> {
        const NAME: &str = "scatter_add";
        if self.rank() == 0 || index.rank() == 0 {
            let (index, source) = (index.as_vector()?, source.as_vector()?);
            let out = self.as_vector()?.scatter_add(dim, &index, &source)?;
            return out.reshape_to(self.shape());
        }
        let (dim, index, source) = &self.check_source(NAME, dim, index, source)?;
        let dim = *dim;
        let storage = self.device().backend().scatter_add(
            self.plain(NAME)?,
            dim,
            index.operand(),
            source.plain(NAME)?,
        )?;
        Ok(self
            .like_shape(storage)
            .record([self, source], |_| ScatterAdd {
                dim,
                index: index.clone(),
            }))
    }

    /// A copy of this tensor with `out[.., index[.., i, ..], ..] = source[.., i, ..]` along `dim`; the
    /// source may be a number.
    ///
    /// If an index occurs twice, the last element stays, and both get its gradient, as in PyTorch.
    ///
    /// # Errors
    ///
    /// Those of [`scatter_add`](Self::scatter_add).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([10_i64, 20, 30]);
    /// let y = x.scatter(0, &Tensor::from([2_i64, 0]), &Tensor::from([1_i64, 2]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [2, 20, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn scatter<'a>(
        &self,
        dim: isize,
        index: &Self,
        source: impl Into<Value<'a>>,
    ) -> Result<Self> {
        self.scatter_value(dim, index, source.into())
    }

    fn scatter_value(&self, dim: isize, index: &Self, source: Value<'_>) -> Result<Self> {
        const NAME: &str = "scatter";
        let source = match source {
            Value::Tensor(source) => source.into_owned(),
            number => number.like(NAME, self)?.expand(index.shape())?,
        };
        if self.rank() == 0 || index.rank() == 0 {
            let (index, source) = (index.as_vector()?, source.as_vector()?);
            let out = self.as_vector()?.scatter(dim, &index, &source)?;
            return out.reshape_to(self.shape());
        }
        let (dim, index, source) = self.check_source(NAME, dim, index, &source)?;
        let storage = self.device().backend().scatter(
            self.plain(NAME)?,
            dim,
            index.operand(),
            source.plain(NAME)?,
        )?;
        Ok(self
            .like_shape(storage)
            .record([self, &source], |_| Scatter {
                dim,
                index: index.clone(),
            }))
    }

    /// Checks that an index and a source match this tensor; returns the dimension, the index as `I64`, and the part of
    /// the source that the index covers.
    pub(super) fn check_source(
        &self,
        op: &'static str,
        dim: isize,
        index: &Self,
        source: &Self,
    ) -> Result<(usize, Self, Self)> {
        self.check_same(op, source)?;
        let (dim, index) = self.check_index(op, dim, index, self.shape())?;
        let (positions, sizes) = (index.shape(), source.shape());
        let fits = positions.rank() == sizes.rank()
            && positions
                .iter()
                .zip(sizes.iter())
                .all(|(position, size)| position <= size);
        if !fits {
            let (lhs, rhs) = (positions.clone(), sizes.clone());
            let rule = "the source must have an element for each index".to_owned();
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        let mut part = source.clone();
        for (d, (&position, &size)) in positions.iter().zip(sizes.iter()).enumerate() {
            if position < size {
                part = part.narrow(d as isize, 0..position)?;
            }
        }
        Ok((dim, index, part))
    }
}

struct Scatter {
    dim: usize,
    index: Tensor,
}

impl Function for Scatter {
    fn name(&self) -> &'static str {
        "scatter"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let dim = self.dim as isize;
        two(
            ctx,
            || ctx.grad().scatter(dim, &self.index, 0),
            || ctx.grad().gather(dim, &self.index),
        )
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
