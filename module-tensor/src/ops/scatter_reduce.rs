//! `scatter_reduce`: reducing elements into those that an index names.

use crate::backend::ReduceOp;
use crate::tensor::{Backward, Function, Gradients, NoGradient, Tensor, is_grad_enabled, two};
use crate::{DType, DTypeError, Result};

/// The reduction of [`Tensor::scatter_reduce`].
///
/// # Example
///
/// ```
/// use module_tensor::{ScatterReduce, Tensor};
///
/// let (x, index) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([0_i64, 0]));
/// let largest = x.scatter_reduce(0, &index, &Tensor::from([5.0_f32, 3.0]), ScatterReduce::Amax)?;
/// assert_eq!(largest.to_vec::<f32>()?, [5.0, 2.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScatterReduce {
    /// The sum.
    Sum,
    /// The product.
    Prod,
    /// The mean; for integers rounded down.
    Mean,
    /// The maximum, NaN if any element is NaN.
    Amax,
    /// The minimum, NaN if any element is NaN.
    Amin,
}

impl Tensor {
    /// A copy of this tensor with each element of `source` reduced into the element that the index names: into
    /// `out[.., index[.., i, ..], ..]` along `dim`.
    ///
    /// The elements of this tensor are included. The gradient of a product is exact even where elements are 0; that of
    /// `Amax` and `Amin` is divided among equal elements.
    ///
    /// # Errors
    ///
    /// Those of [`scatter_add`](Self::scatter_add). The second derivative of a product with more than one 0 is an error, as
    /// in PyTorch.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ScatterReduce, Tensor};
    ///
    /// let x = Tensor::from([1_i64, 2, 3]);
    /// let (index, source) = (Tensor::from([0_i64, 0, 2]), Tensor::from([5_i64, 7, 2]));
    /// let y = x.scatter_reduce(0, &index, &source, ScatterReduce::Amax)?;
    /// assert_eq!(y.to_vec::<i64>()?, [7, 2, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn scatter_reduce(
        &self,
        dim: isize,
        index: &Self,
        source: &Self,
        reduce: ScatterReduce,
    ) -> Result<Self> {
        self.scatter_fold(dim, index, source, reduce, true)
    }

    /// [`scatter_reduce`](Self::scatter_reduce) in which an element of this tensor stays only if no index names it:
    /// `include_self=False`.
    ///
    /// # Errors
    ///
    /// Those of [`scatter_reduce`](Self::scatter_reduce).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ScatterReduce, Tensor};
    ///
    /// let x = Tensor::from([1_i64, 2, 3]);
    /// let (index, source) = (Tensor::from([0_i64, 0, 2]), Tensor::from([5_i64, 7, 2]));
    /// let y = x.scatter_reduce_exclude_self(0, &index, &source, ScatterReduce::Prod)?;
    /// assert_eq!(y.to_vec::<i64>()?, [35, 2, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn scatter_reduce_exclude_self(
        &self,
        dim: isize,
        index: &Self,
        source: &Self,
        reduce: ScatterReduce,
    ) -> Result<Self> {
        self.scatter_fold(dim, index, source, reduce, false)
    }

    fn scatter_fold(
        &self,
        dim: isize,
        index: &Self,
        source: &Self,
        reduce: ScatterReduce,
        include_self: bool,
    ) -> Result<Self> {
        const NAME: &str = "scatter_reduce";
        if self.rank() == 0 || index.rank() == 0 {
            let (index, source) = (index.as_vector()?, source.as_vector()?);
            let x = self.as_vector()?;
            let out = x.scatter_fold(dim, &index, &source, reduce, include_self)?;
            return out.reshape_to(self.shape());
        }
        let (at, index, source) = self.check_source(NAME, dim, index, source)?;
        if self.dtype() == DType::Bool {
            if reduce == ScatterReduce::Mean {
                let (op, dtype, needs) = (NAME, DType::Bool, "numbers for a mean");
                return Err(DTypeError::Unsupported { op, dtype, needs }.into());
            }
            // For booleans, sum and maximum are "any", product and minimum are "all".
            let (x, source) = (self.to_dtype(DType::U8)?, source.to_dtype(DType::U8)?);
            let reduce = match reduce {
                ScatterReduce::Sum | ScatterReduce::Amax => ScatterReduce::Amax,
                other => other,
            };
            let out = x.scatter_fold(dim, &index, &source, reduce, include_self)?;
            return out.to_dtype(DType::Bool);
        }
        let fold = Fold {
            dim: at,
            index,
            reduce,
            include_self,
        };
        fold.run(self, &source)
    }
}

/// The arguments of the reduction; the index has dimensions, and the source has its shape.
#[derive(Clone)]
struct Fold {
    dim: usize,
    index: Tensor,
    reduce: ScatterReduce,
    include_self: bool,
}

impl Fold {
    fn run(&self, x: &Tensor, source: &Tensor) -> Result<Tensor> {
        let dim = self.dim as isize;
        let (neutral, op) = match self.reduce {
            ScatterReduce::Sum => return self.start(x, 0)?.scatter_add(dim, &self.index, source),
            ScatterReduce::Mean => return self.mean(x, source),
            ScatterReduce::Prod => (None, ReduceOp::Prod),
            ScatterReduce::Amax => (Some(source), ReduceOp::Max),
            ScatterReduce::Amin => (Some(source), ReduceOp::Min),
        };
        let start = match neutral {
            _ if self.include_self => x.detach(),
            None => x.detach().scatter(dim, &self.index, 1)?,
            // Any of the reduced elements leaves their extreme unchanged.
            Some(source) => x.detach().scatter(dim, &self.index, source.detach())?,
        };
        let backend = x.device().backend();
        let (index, from) = (self.index.operand(), source.operand());
        let storage = backend.scatter_reduce(op, start.operand(), self.dim, index, from)?;
        let out = Tensor::fresh(storage, x.shape().clone());
        Ok(out.record([x, source], |y| Folded {
            fold: self.clone(),
            x: x.clone(),
            source: source.clone(),
            y: y.clone(),
        }))
    }

    /// The tensor with a number in the elements that are reduced into, unless they are included.
    fn start(&self, x: &Tensor, number: i64) -> Result<Tensor> {
        if self.include_self {
            return Ok(x.clone());
        }
        x.scatter(self.dim as isize, &self.index, number)
    }

    fn mean(&self, x: &Tensor, source: &Tensor) -> Result<Tensor> {
        let dim = self.dim as isize;
        let sum = self.start(x, 0)?.scatter_add(dim, &self.index, source)?;
        let ones = source.detach().ones_like()?;
        let counts = self.start(&x.detach().ones_like()?, 0)?;
        let counts = counts.scatter_add(dim, &self.index, &ones)?.clamp_min(1)?;
        if x.dtype().is_floating_point() {
            return sum.div(&counts);
        }
        let (sum, counts) = (sum.to_dtype(DType::F64)?, counts.to_dtype(DType::F64)?);
        sum.div(&counts)?.floor()?.to_dtype(x.dtype())
    }

    /// A gradient of this tensor's elements, which is 0 where they were not included.
    fn mask_grad(&self, grad: &Tensor) -> Result<Tensor> {
        self.start(grad, 0)
    }

    fn gather_index(&self, x: &Tensor) -> Result<Tensor> {
        x.gather(self.dim as isize, &self.index)
    }

    fn add(&self, x: &Tensor, source: &Tensor) -> Result<Tensor> {
        x.scatter_add(self.dim as isize, &self.index, source)
    }
}

/// The gradient of products and extremes.
struct Folded {
    fold: Fold,
    x: Tensor,
    source: Tensor,
    y: Tensor,
}

impl Function for Folded {
    fn name(&self) -> &'static str {
        "scatter_reduce"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let dtype = ctx.grad().dtype();
        let wide = |x: &Tensor| x.widened();
        let (x, source) = (wide(&self.x)?, wide(&self.source)?);
        let (y, grad) = (wide(&ctx.output(&self.y))?, wide(ctx.grad())?);
        let [of_x, of_source] = match self.fold.reduce {
            ScatterReduce::Prod => self.product(&x, &source, &y, &grad)?,
            _ => self.extreme(&x, &source, &y, &grad)?,
        };
        two(
            ctx,
            || self.fold.mask_grad(&of_x)?.to_dtype(dtype),
            || of_source.to_dtype(dtype),
        )
    }
}

impl Folded {
    /// Equal elements share the gradient.
    fn extreme(
        &self,
        x: &Tensor,
        source: &Tensor,
        y: &Tensor,
        grad: &Tensor,
    ) -> Result<[Tensor; 2]> {
        let fold = &self.fold;
        let of_x = x.eq(y)?.to_dtype(grad.dtype())?;
        let of_source = source.eq(&fold.gather_index(y)?)?.to_dtype(grad.dtype())?;
        let share = grad.div(&fold.add(&of_x, &of_source)?)?;
        Ok([
            of_x.mul(&share)?,
            of_source.mul(&fold.gather_index(&share)?)?,
        ])
    }

    /// The product of the others: the whole one divided by the element or, where it is 0, the product without it.
    fn product(
        &self,
        x: &Tensor,
        source: &Tensor,
        y: &Tensor,
        grad: &Tensor,
    ) -> Result<[Tensor; 2]> {
        let fold = &self.fold;
        let (x_zero, source_zero) = (x.eq(0)?, source.eq(0)?);
        let number = |zero: &Tensor| zero.to_dtype(grad.dtype());
        // The number of zero factors of each element.
        let zeros = fold.add(&fold.start(&number(&x_zero)?, 0)?, &number(&source_zero)?)?;
        let single = zeros.eq(1)?;
        let without = {
            let x = x.masked_fill(&x_zero.logical_and(&single)?, 1)?;
            let chosen = source_zero.logical_and(&fold.gather_index(&single)?)?;
            fold.run(&x, &source.masked_fill(&chosen, 1)?)?
        };
        let (whole, without) = (grad.mul(y)?, grad.mul(&without)?);
        let of_x = x_zero.logical_and(&single)?;
        let of_x = of_x.where_(&without, &whole.div(&x.masked_fill(&x_zero, 1)?)?)?;
        let of_source = source_zero.logical_and(&fold.gather_index(&single)?)?;
        let rest = fold
            .gather_index(&whole)?
            .div(&source.masked_fill(&source_zero, 1)?)?;
        let of_source = of_source.where_(&fold.gather_index(&without)?, &rest)?;
        let several = is_grad_enabled() && zeros.gt(1)?.any(..)?.item::<bool>()?;
        if !several {
            return Ok([of_x, of_source]);
        }
        // The derivatives of two zeros with respect to each other are lost.
        let end = |x: Tensor| {
            let name = "scatter_reduce of several zeros";
            x.detach()
                .record([grad, source, &self.x], |_| NoGradient(name))
        };
        Ok([end(of_x), end(of_source)])
    }
}
