//! `cat` and `stack`.

use super::AutocastPolicy;
use std::borrow::Borrow;

use smallvec::SmallVec;

use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{Error, Result, Shape, ShapeError};

impl Tensor {
    /// Concatenates the parts along `dim`; their other sizes must be equal.
    ///
    /// # Errors
    ///
    /// No parts, shapes that differ in other dimensions, different dtypes or devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (a, b) = (Tensor::from([1_i64]), Tensor::from([2_i64, 3]));
    /// assert_eq!(Tensor::cat(&[&a, &b], 0)?.to_vec::<i64>()?, [1, 2, 3]);
    /// assert_eq!(Tensor::cat(&b.split(1, 0)?, 0)?.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "concat")]
    #[doc(alias = "concatenate")]
    pub fn cat(parts: &[impl Borrow<Self>], dim: isize) -> Result<Self> {
        Self::cat_all(&borrow_all(parts), dim)
    }

    fn cat_all(parts: &[&Self], dim: isize) -> Result<Self> {
        let Some((first, rest)) = parts.split_first() else {
            return Err(nothing_to_join("cat"));
        };
        if let Some(parts) = AutocastPolicy::promote_all(parts)? {
            return Self::cat(&parts, dim);
        }
        if first.rank() == 0 {
            return Err(first.shape().error("cat", "at least one dimension"));
        }
        let dim = first.shape().dim("cat", dim)?;
        let mut total = first.shape()[dim];
        for &part in rest {
            first.check_same("cat", part)?;
            let fits = part.rank() == first.rank()
                && (0..first.rank()).all(|d| d == dim || part.shape()[d] == first.shape()[d]);
            if !fits {
                return Err(ShapeError::Mismatch {
                    op: "cat",
                    lhs: first.shape().clone(),
                    rhs: part.shape().clone(),
                    rule: format!("all sizes but that of dimension {dim} must be equal"),
                }
                .into());
            }
            total = total.saturating_add(part.shape()[dim]);
        }
        let sizes = first.shape().iter().enumerate();
        let shape: Shape = sizes
            .map(|(d, &size)| if d == dim { total } else { size })
            .collect();
        shape.checked_numel("cat", first.dtype().size_in_bytes())?;
        let operands = parts.iter().map(|part| part.plain("cat"));
        let operands = operands.collect::<Result<_>>()?;
        let storage = first.device().backend().cat(operands, dim)?;
        Ok(
            Self::fresh(storage, shape).record(parts.iter().copied(), |_| Cat {
                dim,
                sizes: parts.iter().map(|part| part.shape()[dim]).collect(),
            }),
        )
    }

    /// Stacks the parts, of equal shape, along a new dimension `dim`.
    ///
    /// # Errors
    ///
    /// Those of [`cat`](Self::cat).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let rows = [Tensor::from([1_i64, 2]), Tensor::from([3_i64, 4])];
    /// assert_eq!(Tensor::stack(&rows, 1)?.to_vec::<i64>()?, [1, 3, 2, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn stack(parts: &[impl Borrow<Self>], dim: isize) -> Result<Self> {
        Self::stack_all(&borrow_all(parts), dim)
    }

    fn stack_all(parts: &[&Self], dim: isize) -> Result<Self> {
        const NAME: &str = "stack";
        let Some((first, rest)) = parts.split_first() else {
            return Err(nothing_to_join(NAME));
        };
        if let Some(parts) = AutocastPolicy::promote_all(parts)? {
            return Self::stack(&parts, dim);
        }
        let dim = first.new_dim(NAME, dim)?;
        first.storage.check_plain(NAME)?;
        for &part in rest {
            first.check_same(NAME, part)?;
            if part.shape() != first.shape() {
                return Err(ShapeError::Mismatch {
                    op: NAME,
                    lhs: first.shape().clone(),
                    rhs: part.shape().clone(),
                    rule: "all shapes must be equal".to_owned(),
                }
                .into());
            }
        }
        let mut sizes = first.shape().to_vec();
        sizes.insert(dim, parts.len());
        let shape = Shape::from(sizes);
        shape.checked_numel(NAME, first.dtype().size_in_bytes())?;
        let operands = parts
            .iter()
            .map(|part| part.operand_with(part.layout.unsqueeze(dim)));
        let storage = first.device().backend().cat(operands.collect(), dim)?;
        let stacked = Self::fresh(storage, shape);
        Ok(stacked.record(parts.iter().copied(), |_| Stack {
            dim: dim as isize,
            parts: parts.len(),
        }))
    }
}

fn nothing_to_join(op: &'static str) -> Error {
    Error::argument(op, "parts", "[]", "there is nothing to join")
}

/// References to the tensors of a list.
fn borrow_all(parts: &[impl Borrow<Tensor>]) -> SmallVec<[&Tensor; 4]> {
    let mut all = SmallVec::with_capacity(parts.len());
    for part in parts {
        all.push(part.borrow());
    }
    all
}

struct Cat {
    dim: usize,
    sizes: Vec<usize>,
}

impl Function for Cat {
    fn name(&self) -> &'static str {
        "cat"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let mut start = 0;
        let part = |(i, &size): (usize, &usize)| {
            let range = start..start + size;
            start += size;
            ctx.needs(i)
                .then(|| ctx.grad().narrow(self.dim as isize, range))
                .transpose()
        };
        self.sizes.iter().enumerate().map(part).collect()
    }
}

struct Stack {
    dim: isize,
    parts: usize,
}

impl Function for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let part = |i| {
            let part = || ctx.grad().select(self.dim, i as isize);
            ctx.needs(i).then(part).transpose()
        };
        (0..self.parts).map(part).collect()
    }
}
