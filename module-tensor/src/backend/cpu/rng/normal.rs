use super::float::sealed::{Float, Wide};
use super::{CpuGenerator, RandomFloat, RngError};
use crate::DType;

/// From this many values on, PyTorch transforms blocks of as many; fewer are drawn one at a time.
const BLOCK: usize = 16;

impl CpuGenerator {
    /// Fills `out` with draws from the normal distribution: PyTorch's `normal_` on a contiguous tensor.
    ///
    /// The Box–Muller transform makes two normals of two uniforms:
    ///
    /// ```text
    /// r = √(−2 ln(1 − u₁)),   θ = 2π u₂,   x₁ = r cos θ · std + mean,   x₂ = r sin θ · std + mean
    /// ```
    ///
    /// Fewer than sixteen values are drawn one at a time in `f64`, and the second of a pair is kept in
    /// the generator for the next such draw. Sixteen and more are made in blocks, computed in `f64` for
    /// `f64` and in `f32` for the others. If the last block is not full, sixteen fresh uniforms replace
    /// the last sixteen values, some of which were already made.
    ///
    /// # Errors
    ///
    /// [`RngError::StandardDeviation`] unless `std >= 0`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::DType;
    /// use module_tensor::rng::{CpuGenerator, RngError};
    ///
    /// let mut values = [0.0_f32; 3];
    /// let mut generator = CpuGenerator::new(0);
    /// generator.fill_normal(&mut values, 0.0, 1.0)?;
    /// assert_eq!(values, [1.540_996_1, -0.293_428_9, -2.178_789_4]);
    ///
    /// // The second of the pair was kept, also by a generator that only skipped the values.
    /// let mut other = CpuGenerator::new(0);
    /// other.skip_normal(3, DType::F32);
    /// let next = other.next_normal();
    /// assert_eq!(next as f32, 0.568_431_26);
    /// assert_eq!(generator.next_normal(), next);
    /// # Ok::<(), RngError>(())
    /// ```
    pub fn fill_normal<T: RandomFloat>(
        &mut self,
        out: &mut [T],
        mean: f64,
        std: f64,
    ) -> Result<(), RngError> {
        if std.is_nan() || std < 0.0 {
            return Err(RngError::StandardDeviation { op: "normal", std });
        }
        if out.len() < BLOCK {
            for slot in out {
                *slot = T::from_f64(self.next_normal().mul_add(std, mean));
            }
        } else {
            self.fill_normal_blocks(out, T::Wide::from_f64(mean), T::Wide::from_f64(std));
        }
        Ok(())
    }

    /// One value of the standard normal distribution, drawn as a tensor with a single element is.
    pub fn next_normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        let [angle, radius] = [self.next_unit(), self.next_unit()];
        // The platform's `log1p`, `sin` and `cos`, which PyTorch calls here too.
        let radius = (-2.0 * (-radius).ln_1p()).sqrt();
        let theta = std::f64::consts::TAU * angle;
        self.spare_normal = Some(radius * theta.sin());
        radius * theta.cos()
    }

    /// Goes on as [`fill_normal`](Self::fill_normal) does for `count` values of a floating-point dtype,
    /// without computing more than it must.
    pub fn skip_normal(&mut self, count: usize, dtype: DType) {
        if count < BLOCK {
            // The spare normal of a pair has to be there.
            for _ in 0..count {
                self.next_normal();
            }
            return;
        }
        let rest = count % BLOCK;
        let again = if rest > 0 { BLOCK } else { 0 };
        let drawn = match dtype {
            DType::F32 | DType::F64 => count,
            _ => count - rest,
        };
        self.skip_uniform(drawn.saturating_add(again), dtype);
    }

    fn fill_normal_blocks<T: RandomFloat>(&mut self, out: &mut [T], mean: T::Wide, std: T::Wide) {
        let transform = |words: &[_], out: &mut [_]| T::Wide::box_muller(words, out, mean, std);
        let rest = out.len() % BLOCK;
        if let Some(blocks) = out.get_mut(..out.len() - rest) {
            self.fill_blocks(blocks, transform, |value| value);
        }
        if rest == 0 {
            return;
        }
        if T::as_wide(&mut []).is_some() {
            // For these types PyTorch draws all uniforms into the tensor before it transforms any.
            // Those of the rest are overwritten below, but they were drawn.
            let mut unused = [T::Wide::NO_WORDS; BLOCK];
            if let Some(unused) = unused.get_mut(..rest) {
                T::Wide::fill_words(&mut self.engine, unused);
            }
        }
        if let Some(last) = out.last_chunk_mut::<BLOCK>() {
            self.fill_blocks(last, transform, |value| value);
        }
    }
}
