//! `quantile` and `nanquantile`.

use super::{AutocastPolicy, Value};
use crate::layout::Dim;
use crate::tensor::Tensor;
use crate::{DType, Error, Result};

/// How a quantile between two elements is interpolated.
///
/// # Example
///
/// ```
/// use module_tensor::{QuantileInterpolation, Tensor};
///
/// let x = Tensor::from([1.0_f32, 2.0]);
/// let lower = x.quantile(0.5, .., QuantileInterpolation::Lower)?;
/// assert_eq!(lower.item::<f32>()?, 1.0);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QuantileInterpolation {
    /// `a + (b - a) · fraction`
    #[default]
    Linear,
    /// The lower of the two.
    Lower,
    /// The higher of the two.
    Higher,
    /// The nearer of the two, the one with the even index if both are equally near.
    Nearest,
    /// The mean of the two.
    Midpoint,
}

impl Tensor {
    /// The quantiles `q` of the elements along `dim`; NaN if an element is NaN.
    ///
    /// `q` is a number, or a tensor with at most one dimension, which then comes first in the result. With `..` for `dim`,
    /// the quantiles are those of all elements.
    ///
    /// # Errors
    ///
    /// A dtype other than `F32` and `F64`, no elements, a dimension that is out of range; a `q` outside `[0, 1]`, of
    /// another dtype or with more dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{QuantileInterpolation, Tensor};
    ///
    /// let x = Tensor::from([[4.0_f32, 1.0, 2.0], [0.0, 8.0, 6.0]]);
    /// let median = x.quantile(0.5, 1, QuantileInterpolation::Linear)?;
    /// assert_eq!(median.to_vec::<f32>()?, [2.0, 6.0]);
    /// let q = Tensor::from([0.0_f32, 0.25]);
    /// let y = x.quantile(&q, 1, QuantileInterpolation::Linear)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 0.0, 1.5, 3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn quantile<'a>(
        &self,
        q: impl Into<Value<'a>>,
        dim: impl Into<Dim>,
        interpolation: QuantileInterpolation,
    ) -> Result<Self> {
        Quantile::new("quantile", dim.into(), interpolation).of(self, q.into())
    }

    /// [`quantile`](Self::quantile), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`quantile`](Self::quantile).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{QuantileInterpolation, Tensor};
    ///
    /// let x = Tensor::from([[4.0_f32, 1.0, 2.0], [0.0, 8.0, 6.0]]);
    /// let y = x.quantile_keepdim(0.5, 1, QuantileInterpolation::Linear)?;
    /// assert_eq!(y.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn quantile_keepdim<'a>(
        &self,
        q: impl Into<Value<'a>>,
        dim: impl Into<Dim>,
        interpolation: QuantileInterpolation,
    ) -> Result<Self> {
        let quantile = Quantile::new("quantile", dim.into(), interpolation);
        quantile.keepdim().of(self, q.into())
    }

    /// [`quantile`](Self::quantile) of the elements that are not NaN; NaN if there are none.
    ///
    /// # Errors
    ///
    /// Those of [`quantile`](Self::quantile).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{QuantileInterpolation, Tensor};
    ///
    /// let x = Tensor::from([f32::NAN, 1.0, 2.0]);
    /// let y = x.nanquantile(0.5, .., QuantileInterpolation::Lower)?;
    /// assert_eq!(y.item::<f32>()?, 1.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn nanquantile<'a>(
        &self,
        q: impl Into<Value<'a>>,
        dim: impl Into<Dim>,
        interpolation: QuantileInterpolation,
    ) -> Result<Self> {
        Quantile::new("nanquantile", dim.into(), interpolation).of(self, q.into())
    }

    /// [`nanquantile`](Self::nanquantile), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`nanquantile`](Self::nanquantile).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{QuantileInterpolation, Tensor};
    ///
    /// let x = Tensor::from([[4.0_f32, 1.0, 2.0], [0.0, 8.0, 6.0]]);
    /// let y = x.nanquantile_keepdim(0.5, 1, QuantileInterpolation::Linear)?;
    /// assert_eq!(y.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn nanquantile_keepdim<'a>(
        &self,
        q: impl Into<Value<'a>>,
        dim: impl Into<Dim>,
        interpolation: QuantileInterpolation,
    ) -> Result<Self> {
        let quantile = Quantile::new("nanquantile", dim.into(), interpolation);
        quantile.keepdim().of(self, q.into())
    }
}

/// A requested quantile.
struct Quantile {
    op: &'static str,
    dim: Dim,
    keepdim: bool,
    interpolation: QuantileInterpolation,
    ignore_nan: bool,
}

impl Quantile {
    fn new(op: &'static str, dim: Dim, interpolation: QuantileInterpolation) -> Self {
        Self {
            op,
            dim,
            keepdim: false,
            interpolation,
            ignore_nan: op == "nanquantile",
        }
    }

    fn keepdim(mut self) -> Self {
        self.keepdim = true;
        self
    }

    fn of(&self, x: &Tensor, q: Value<'_>) -> Result<Tensor> {
        let found = match &q {
            Value::Tensor(q) => {
                AutocastPolicy::Float32.apply([x, q], [], |[x, q], []| self.of(x, q.into()))
            }
            Value::Scalar(q) => {
                AutocastPolicy::Float32.apply([x], [], |[x], []| self.of(x, (*q).into()))
            }
        };
        if let Some(out) = found {
            return out;
        }
        let q = self.check(x, q)?;
        let (rows, kept) = self.rows(x)?;
        let sorted = rows.sort(-1)?.0;
        let ranks = self.ranks(&sorted, &q.as_vector()?)?;
        let found = self.interpolate_ranks(&sorted, &ranks)?;
        let out = match q.rank() {
            0 => found.squeeze(-1)?,
            _ => found.movedim(-1, 0)?,
        };
        match kept {
            None => Ok(out),
            Some(sizes) => {
                let lead = q.shape().iter().copied();
                out.reshape_to(&lead.chain(sizes).collect())
            }
        }
    }

    fn check(&self, x: &Tensor, q: Value<'_>) -> Result<Tensor> {
        let (op, dtype) = (self.op, x.dtype());
        if !matches!(dtype, DType::F32 | DType::F64) {
            let needs = "a float32 or float64 tensor";
            return Err(dtype.error(op, needs));
        }
        if x.numel() == 0 {
            return Err(x.shape().error(op, "at least one element"));
        }
        let q = q.like(op, x)?.into_owned();
        if q.rank() > 1 {
            return Err(q.shape().error(op, "a q with at most one dimension"));
        }
        let fractions = q.to_dtype(DType::F64)?.to_vec::<f64>()?;
        match fractions.iter().find(|q| !(0.0..=1.0).contains(*q)) {
            Some(outside) => Err(Error::argument(op, "q", outside, "must lie in [0, 1]")),
            None => Ok(q),
        }
    }

    /// The elements to sort, along the last dimension, and the sizes of the result if dimensions are kept.
    fn rows(&self, x: &Tensor) -> Result<(Tensor, Option<Vec<usize>>)> {
        let mut sizes = x.shape().to_vec();
        let rows = match self.dim {
            Dim::All => {
                sizes.fill(1);
                x.reshape_to(&x.numel().into())?
            }
            Dim::One(dim) => {
                let dim = x.shape().dim(self.op, dim)?;
                if let Some(size) = sizes.get_mut(dim) {
                    *size = 1;
                }
                let x = x.as_vector()?;
                x.movedim(dim as isize, -1)?
            }
        };
        Ok((rows, self.keepdim.then_some(sizes)))
    }

    /// The position of each quantile among the sorted elements, which need not be an integer.
    fn ranks(&self, sorted: &Tensor, q: &Tensor) -> Result<Tensor> {
        let last = sorted.shape().last().map_or(0, |size| size - 1);
        let all = sorted.detach();
        if self.ignore_nan {
            let count = all.isnan()?.logical_not()?.to_dtype(q.dtype())?;
            let ranks = q.mul(&count.sum_keepdim(-1)?.sub(1.0)?)?;
            // If all are NaN, the first is as good as any.
            return ranks.masked_fill(&ranks.detach().lt(0.0)?, 0.0);
        }
        // NaN is the greatest element, so it is the quantile.
        let nan = all.narrow(-1, last..last + 1)?.isnan()?;
        q.mul(last as f64)?.masked_fill(&nan, last as f64)
    }

    fn interpolate_ranks(&self, sorted: &Tensor, ranks: &Tensor) -> Result<Tensor> {
        use QuantileInterpolation as I;
        let at = |indices: Tensor| {
            let indices = indices.detach().to_dtype(DType::I64)?;
            sorted.gather(-1, &indices)
        };
        let below = ranks.detach().floor()?;
        let weight = match self.interpolation {
            I::Lower => return at(below),
            I::Higher => return at(ranks.ceil()?),
            I::Nearest => return at(ranks.round()?),
            I::Midpoint => ranks.full_like(0.5)?,
            I::Linear => ranks.sub(&below)?,
        };
        let (a, b) = (at(below)?, at(ranks.ceil()?)?);
        let gap = b.sub(&a)?;
        // From the nearer end, like PyTorch's `lerp`.
        let from_a = a.add(&weight.mul(&gap)?)?;
        let from_b = b.sub(&gap.mul(&weight.neg()?.add(1.0)?)?)?;
        weight.detach().lt(0.5)?.where_(&from_a, &from_b)
    }
}
