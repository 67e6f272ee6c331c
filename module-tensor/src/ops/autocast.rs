//! How operations behave inside `autocast`.

use crate::tensor::{AutocastState, Tensor, outside_autocast};
use crate::{DType, Result};

/// How an operation computes inside [`autocast`](crate::autocast). Each operation names its own policy; one without a
/// policy computes in the dtype of its operands.
///
/// | policy | operations |
/// |---|---|
/// | `LowerPrecision` | [`matmul`](Tensor::matmul), [`addmm`](Tensor::addmm), [`baddbmm`](Tensor::baddbmm), [`addbmm`](Tensor::addbmm), [`linear`](Tensor::linear), [`conv`](Tensor::conv) and [`conv_transpose`](Tensor::conv_transpose) of all dimensions, [`prelu`](Tensor::prelu), [`scaled_dot_product_attention`](Tensor::scaled_dot_product_attention), recurrent layers, and operations composed of these, such as [`einsum`](Tensor::einsum) and [`tensordot`](Tensor::tensordot) |
/// | `Float32` | the losses, [`cdist`](Tensor::cdist), [`prod`](Tensor::prod), [`quantile`](Tensor::quantile), [`nanquantile`](Tensor::nanquantile), [`view_as_complex`](Tensor::view_as_complex), [`grid_sample`](Tensor::grid_sample), padding by reflection (one and two dimensions) and replication, pooling over three dimensions, [`fractional_max_pool`](Tensor::fractional_max_pool), [`max_unpool`](Tensor::max_unpool), matrix decompositions |
/// | `Promote` | [`cat`](Tensor::cat), [`stack`](Tensor::stack), [`index_copy`](Tensor::index_copy); sums, products, comparisons and [`where_`](Tensor::where_) of two tensors |
/// | `Unchanged` | [`dot`](Tensor::dot), [`addmv`](Tensor::addmv) and others that are not in PyTorch's lists, but are composed here of operations that are |
///
/// # Source
///
/// The lists of `torch.autocast` for the CPU.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Tensor, autocast};
///
/// let x = Tensor::ones([2, 2], DType::F32)?;
/// let (product, sum) = autocast(DType::BF16, || Ok((x.matmul(&x)?, x.sum(..)?)))?;
/// assert_eq!((product.dtype(), sum.dtype()), (DType::BF16, DType::F32));
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AutocastPolicy {
    /// In the dtype of the scope.
    LowerPrecision,
    /// In `F32` if operands are half precision.
    Float32,
    /// In the widest dtype of the operands.
    Promote,
    /// In the dtype of the operands, even if the operation is composed of others that have a policy.
    Unchanged,
}

impl AutocastPolicy {
    /// Runs `f`, with autocast off, on the operands cast by this policy; `None` if autocast is off, or if `Promote` has
    /// nothing to do: then the operation continues with its own operands. `optional` are optional operands.
    ///
    /// # Errors
    ///
    /// An error of a cast or of `f`.
    ///
    /// # Example
    ///
    /// A custom operation whose operands are cast like those of a matrix product:
    ///
    /// ```
    /// use module_tensor::{AutocastPolicy, DType, Result, Tensor, autocast};
    ///
    /// fn square(x: &Tensor) -> Result<Tensor> {
    ///     if let Some(out) = AutocastPolicy::LowerPrecision.apply([x], [], |[x], []| square(x)) {
    ///         return out;
    ///     }
    ///     x.mul(x)
    /// }
    ///
    /// let x = Tensor::from([1.0_f32, 2.0]);
    /// assert_eq!(square(&x)?.dtype(), DType::F32);
    /// assert_eq!(autocast(DType::F16, || square(&x))?.dtype(), DType::F16);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn apply<const N: usize, const M: usize, R>(
        self,
        operands: [&Tensor; N],
        optional: [Option<&Tensor>; M],
        f: impl FnOnce([&Tensor; N], [Option<&Tensor>; M]) -> Result<R>,
    ) -> Option<Result<R>> {
        let lower = AutocastState::current().dtype()?;
        let casts = match self.casts(lower, &operands, &optional)? {
            Ok(casts) => casts,
            Err(error) => return Some(Err(error)),
        };
        let (mut operands, mut optional) = (operands, optional);
        replace_casts(&casts, &mut operands, &mut optional);
        Some(outside_autocast(|| f(operands, optional)))
    }

    /// The casts of the operands that need one, and of the optional ones; `None` if the operation continues with its own
    /// operands. Separate from [`apply`](Self::apply), because that is compiled for each operation.
    fn casts(
        self,
        lower: DType,
        operands: &[&Tensor],
        optional: &[Option<&Tensor>],
    ) -> Option<Result<Vec<Option<Tensor>>>> {
        let all = operands.iter().chain(optional.iter().flatten());
        let Some(dtype) = self.dtype(lower, all.map(|x| x.dtype())) else {
            return (self != Self::Promote).then(|| Ok(Vec::new()));
        };
        let given = operands.iter().map(|x| Some(*x));
        let casts = given.chain(optional.iter().copied()).map(|x| match x {
            Some(x) => x.as_policy_has_it(dtype),
            None => Ok(None),
        });
        Some(casts.collect())
    }

    /// The dtype that operands of these dtypes are cast to, if any.
    fn dtype(self, lower: DType, mut operands: impl Iterator<Item = DType>) -> Option<DType> {
        match self {
            Self::LowerPrecision => Some(lower),
            Self::Float32 => Some(DType::F32),
            Self::Promote => {
                let first = operands.next()?;
                let wider = operands.try_fold((first, false), |(widest, differ), dtype| {
                    let wider = widest.promoted(dtype)?;
                    Some((wider, differ || dtype != widest))
                });
                wider.filter(|(_, differ)| *differ).map(|(wider, _)| wider)
            }
            Self::Unchanged => None,
        }
    }

    /// The tensors of a list in their widest dtype, if they differ inside autocast.
    pub(super) fn promote_all(tensors: &[&Tensor]) -> Result<Option<Vec<Tensor>>> {
        let Some(lower) = AutocastState::current().dtype() else {
            return Ok(None);
        };
        let dtypes = tensors.iter().map(|x| x.dtype());
        let Some(dtype) = Self::Promote.dtype(lower, dtypes) else {
            return Ok(None);
        };
        let all = tensors.iter().map(|x| x.to_dtype(dtype));
        all.collect::<Result<_>>().map(Some)
    }
}

/// Replaces operands and optional ones by their casts, if there are any.
fn replace_casts<'a>(
    casts: &'a [Option<Tensor>],
    operands: &mut [&'a Tensor],
    optional: &mut [Option<&'a Tensor>],
) {
    let mut casts = casts.iter().map(Option::as_ref);
    for x in operands {
        *x = casts.next().flatten().unwrap_or(*x);
    }
    for x in optional {
        *x = casts.next().flatten().or(*x);
    }
}

impl Tensor {
    /// The operand of an operation that computes in `dtype`, if it has to be cast.
    fn as_policy_has_it(&self, dtype: DType) -> Result<Option<Self>> {
        use DType::{BF16, F16, F32};
        match (self.dtype(), dtype) {
            (from, to) if from == to => Ok(None),
            (F16 | BF16 | F32, F16 | BF16) => self.cast_once(dtype).map(Some),
            (F16 | BF16, F32) | (F16 | BF16 | F32, DType::F64) => self.to_dtype(dtype).map(Some),
            _ => Ok(None),
        }
    }
}

impl DType {
    /// The floating-point dtype that can hold both; `None` if one of them does not take part in autocast.
    fn promoted(self, other: Self) -> Option<Self> {
        use DType::{BF16, F16, F32, F64};
        match (self, other) {
            (a, b) if a == b => Some(a),
            (F64, F16 | BF16 | F32) | (F16 | BF16 | F32, F64) => Some(F64),
            (F16 | BF16 | F32, F16 | BF16 | F32) => Some(F32),
            _ => None,
        }
    }
}
