//! `tensordot`: sums of products over chosen dimensions of two tensors.

use crate::tensor::Tensor;
use crate::{Error, Result, Shape, ShapeError};

/// The dimensions over which [`Tensor::tensordot`] sums: a number of them (the last of the first tensor and the first of
/// the second), or pairs of dimensions.
///
/// # Example
///
/// ```
/// use module_tensor::TensordotDims;
///
/// assert_eq!(TensordotDims::from(2), TensordotDims::Count(2));
/// assert_eq!(TensordotDims::from(([1], [0])), TensordotDims::Pairs(vec![1], vec![0]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TensordotDims {
    /// This number of dimensions: the last of the first tensor with the first of the second.
    Count(usize),
    /// Dimensions of the first, each with its counterpart in the second.
    Pairs(Vec<isize>, Vec<isize>),
}

impl From<usize> for TensordotDims {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

/// A negative number is treated as more dimensions than there are.
impl From<i32> for TensordotDims {
    fn from(count: i32) -> Self {
        Self::Count(usize::try_from(count).unwrap_or(usize::MAX))
    }
}

impl<const N: usize> From<([isize; N], [isize; N])> for TensordotDims {
    fn from((a, b): ([isize; N], [isize; N])) -> Self {
        Self::Pairs(a.into(), b.into())
    }
}

impl From<(Vec<isize>, Vec<isize>)> for TensordotDims {
    fn from((a, b): (Vec<isize>, Vec<isize>)) -> Self {
        Self::Pairs(a, b)
    }
}

impl Tensor {
    /// The sums of products over dimensions of both tensors, PyTorch's `torch.tensordot`: the result has the other
    /// dimensions of this tensor, then those of `other`. A dimension of size 1 can be paired with any.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or occurs twice, unequal numbers of dimensions, different sizes, dtypes or devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 6, ())?.reshape([2, 3])?;
    /// assert_eq!(x.tensordot(&x, 2)?.item::<i64>()?, 55);
    /// assert_eq!(x.tensordot(&x, ([0], [0]))?.shape().to_string(), "[3, 3]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn tensordot(&self, other: &Self, dims: impl Into<TensordotDims>) -> Result<Self> {
        self.tensordot_over(other, &dims.into())
    }

    fn tensordot_over(&self, other: &Self, dims: &TensordotDims) -> Result<Self> {
        const NAME: &str = "tensordot";
        self.check_same(NAME, other)?;
        let [mine, theirs] = self.pair_dims(other, dims)?;
        let (mut a, mut b) = (self.clone(), other.clone());
        for (&i, &j) in mine.iter().zip(&theirs) {
            let sizes = [self.shape()[i], other.shape()[j]];
            // A factor with one element there multiplies the sum.
            match sizes {
                [m, n] if m == n => {}
                [1, _] => b = b.sum_as_is(j)?,
                [_, 1] => a = a.sum_as_is(i)?,
                [m, n] => {
                    let (lhs, rhs) = (self.shape().clone(), other.shape().clone());
                    let rule = format!(
                        "dimension {i} of the first and {j} of the second must have one size, not {m} and {n}"
                    );
                    let op = NAME;
                    return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
                }
            }
        }
        let rest = |x: &Self, paired: &[usize]| -> Vec<usize> {
            (0..x.rank()).filter(|d| !paired.contains(d)).collect()
        };
        let (rows, columns) = (rest(&a, &mine), rest(&b, &theirs));
        let sizes = |x: &Self, dims: &[usize]| -> Vec<usize> {
            dims.iter().map(|&d| x.shape()[d]).collect()
        };
        let (row_sizes, column_sizes) = (sizes(&a, &rows), sizes(&b, &columns));
        let inner: usize = sizes(&a, &mine).iter().product();
        let order = |first: &[usize], then: &[usize]| -> Vec<isize> {
            first.iter().chain(then).map(|&d| d as isize).collect()
        };
        let a = a.permute(order(&rows, &mine))?;
        let b = b.permute(order(&theirs, &columns))?;
        let a = a.reshape_to(&[row_sizes.iter().product(), inner].into())?;
        let b = b.reshape_to(&[inner, column_sizes.iter().product()].into())?;
        let shape: Shape = row_sizes.into_iter().chain(column_sizes).collect();
        a.matmul(&b)?.reshape_to(&shape)
    }

    /// The sum over a dimension, which is kept, in the dtype of the elements.
    fn sum_as_is(&self, dim: usize) -> Result<Self> {
        self.sum_keepdim(dim as isize)?.to_dtype(self.dtype())
    }

    /// The paired dimensions of both.
    fn pair_dims(&self, other: &Self, dims: &TensordotDims) -> Result<[Vec<usize>; 2]> {
        const NAME: &str = "tensordot";
        let fail =
            |value: String, problem: String| Err(Error::argument(NAME, "dims", value, problem));
        match dims {
            &TensordotDims::Count(count) => {
                let most = self.rank().min(other.rank());
                if count > most {
                    let problem = format!("must be at most {most}, the dimensions that both have");
                    return fail(count.to_string(), problem);
                }
                let first = self.rank() - count;
                Ok([(first..self.rank()).collect(), (0..count).collect()])
            }
            TensordotDims::Pairs(mine, theirs) => {
                if mine.len() != theirs.len() {
                    let problem = "both lists must have one length".to_owned();
                    return fail(format!("({mine:?}, {theirs:?})"), problem);
                }
                let resolve = |x: &Self, dims: &[isize]| -> Result<Vec<usize>> {
                    let dim = |&dim: &isize| Ok(x.dim_and_size(NAME, dim)?.0);
                    let dims: Vec<usize> = dims.iter().map(dim).collect::<Result<_>>()?;
                    let again = (1..dims.len()).find(|&i| dims[..i].contains(&dims[i]));
                    match again {
                        None => Ok(dims),
                        Some(i) => {
                            let problem = format!("names dimension {} twice", dims[i]);
                            Err(Error::argument(
                                NAME,
                                "dims",
                                format_args!("{dims:?}"),
                                problem,
                            ))
                        }
                    }
                };
                Ok([resolve(self, mine)?, resolve(other, theirs)?])
            }
        }
    }
}
