//! Draws from the exponential distribution.

use super::{CpuGenerator, RandomFloat, RngError};

impl CpuGenerator {
    /// Fills `out` with draws from the exponential distribution: PyTorch's `exponential_(lambda)`.
    ///
    /// ```text
    /// x = −1 / λ · ln(1 − u)
    /// ```
    ///
    /// Every element takes a uniform in `f64` and is computed in `f64`, whatever its own type is.
    ///
    /// # Errors
    ///
    /// [`RngError::Rate`] unless `lambda > 0`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::rng::{CpuGenerator, RngError};
    ///
    /// let mut waiting = [0.0_f32; 2];
    /// CpuGenerator::new(0).fill_exponential(&mut waiting, 2.0)?;
    /// assert_eq!(waiting, [1.754_163_1, 0.615_192_35]);
    /// # Ok::<(), RngError>(())
    /// ```
    pub fn fill_exponential<T: RandomFloat>(
        &mut self,
        out: &mut [T],
        lambda: f64,
    ) -> Result<(), RngError> {
        if lambda.is_nan() || lambda <= 0.0 {
            return Err(RngError::Rate { lambda });
        }
        let scale = -1.0 / lambda;
        for slot in out {
            *slot = T::from_f64(scale * (-self.next_unit()).ln_1p());
        }
        Ok(())
    }
}
