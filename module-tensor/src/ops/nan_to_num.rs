//! `nan_to_num`.

use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result, Scalar};

const NAME: &str = "nan_to_num";

impl Tensor {
    /// The elements, with `nan` for NaN (0 if `None`), `posinf` for `∞` and `neginf` for `-∞` (the largest and the smallest
    /// number of the dtype if `None`). Integers are unchanged.
    ///
    /// Replaced elements have no gradient.
    ///
    /// # Errors
    ///
    /// A number that does not fit the dtype.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([f32::NAN, f32::INFINITY, 1.0]);
    /// assert_eq!(x.nan_to_num(None, None, None)?.to_vec::<f32>()?, [0.0, f32::MAX, 1.0]);
    /// assert_eq!(x.nan_to_num(2.0, 3.0, None)?.to_vec::<f32>()?, [2.0, 3.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn nan_to_num(
        &self,
        nan: impl Into<Option<f64>>,
        posinf: impl Into<Option<f64>>,
        neginf: impl Into<Option<f64>>,
    ) -> Result<Self> {
        self.without_special(nan.into(), posinf.into(), neginf.into())
    }

    fn without_special(
        &self,
        nan: Option<f64>,
        posinf: Option<f64>,
        neginf: Option<f64>,
    ) -> Result<Self> {
        self.check_computed(NAME)?;
        let greatest = match self.dtype() {
            DType::F32 => f64::from(f32::MAX),
            DType::F64 => f64::MAX,
            DType::F16 => half::f16::MAX.to_f64(),
            DType::BF16 => half::bf16::MAX.to_f64(),
            _ => return Ok(self.clone()),
        };
        let numbers = [
            nan.unwrap_or(0.0),
            posinf.unwrap_or(greatest),
            neginf.unwrap_or(-greatest),
        ];
        for number in numbers {
            Scalar::from(number).check_fits(NAME, self.dtype())?;
        }
        let [nan, posinf, neginf] = numbers;
        let out = self.unary(UnaryOp::NanToNum {
            nan,
            posinf,
            neginf,
        })?;
        Ok(out.record([self], |_| NanToNum { x: self.detach() }))
    }
}

struct NanToNum {
    x: Tensor,
}

impl Function for NanToNum {
    fn name(&self) -> &'static str {
        NAME
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(self.x.isfinite()?.where_(ctx.grad(), 0.0)?)
    }
}
