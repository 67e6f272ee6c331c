//! Draws whose probabilities are a tensor.

use crate::rng::RngError;
use crate::tensor::{NoGradient, Tensor};
use crate::{DType, Result};

impl Tensor {
    /// Draws 1 with the probability in each element, else 0, from the default generator: PyTorch's
    /// `torch.bernoulli(probabilities)`.
    ///
    /// A draw has no gradient: `backward` through it is an error, where PyTorch gives zeros.
    ///
    /// # Errors
    ///
    /// An element outside `[0, 1]`, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 1.0]).bernoulli()?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn bernoulli(&self) -> Result<Self> {
        const NAME: &str = "bernoulli";
        let dtype = self.dtype();
        if !dtype.is_differentiable() {
            return Err(dtype.error(NAME, "floating-point probabilities"));
        }
        // Half precision is compared in the precision of its computation.
        let p = self.detach().widened()?;
        let outside = p.ge(0.0)?.logical_and(&p.le(1.0)?)?.logical_not()?;
        if outside.any(..)?.item::<bool>()? {
            let first = p.masked_select(&outside)?.select(0, 0)?;
            let p = first.to_dtype(DType::F64)?.item::<f64>()?;
            return Err(RngError::Probability { op: NAME, p }.into());
        }
        let units = Self::rand(p.shape(), (p.dtype(), p.device()))?;
        let drawn = units.lt(&p)?.to_dtype(dtype)?;
        Ok(drawn.record([self], |_| NoGradient(NAME)))
    }
}
