use super::super::vector::erfinv;
use super::float::sealed::{Float, Wide};
use super::uniform::check_interval;
use super::{CpuGenerator, RandomFloat, RngError};
use crate::zip::zip_mut;

/// If the interval holds more of the distribution than this, PyTorch draws normals and redraws those
/// that fall outside; otherwise it draws uniforms and rejects by the density.
const ENOUGH: f64 = 0.3;

impl CpuGenerator {
    /// Fills `out` with draws from the normal distribution truncated to `[low, high]`: PyTorch's
    /// `nn.init.trunc_normal_`, in the form it has since 2.15.
    ///
    /// If the interval holds more than 0.3 of the distribution, normals are drawn until all lie inside;
    /// every round draws for the whole of `out`. Otherwise uniforms over the interval are accepted with
    /// probability
    ///
    /// ```text
    /// exp(−½ ((x − mean) / std)² + ½ ((mode − mean) / std)²),   mode = the point nearest to mean
    /// ```
    ///
    /// An interval many standard deviations away from `mean` accepts next to nothing and takes as long
    /// as it takes in PyTorch. Earlier releases inverted the distribution function instead, as
    /// [`fill_trunc_normal_by_inverse`](Self::fill_trunc_normal_by_inverse) does: the same seed gave other
    /// values.
    ///
    /// # Errors
    ///
    /// [`RngError::StandardDeviation`] unless `std > 0`; [`RngError::Interval`] unless `low <= high`, and
    /// for bounds that are not finite in the type if the interval holds 0.3 or less.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::rng::{CpuGenerator, RngError};
    ///
    /// let (mut redrawn, mut inverted) = ([0.0_f32; 2], [0.0_f32; 2]);
    /// CpuGenerator::new(0).fill_trunc_normal(&mut redrawn, 0.0, 1.0, -2.0, 2.0)?;
    /// assert_eq!(redrawn, [1.540_996_1, -0.293_428_9]);
    /// // The first uniform is 0.496, just below the median.
    /// CpuGenerator::new(0).fill_trunc_normal_by_inverse(&mut inverted, 0.0, 1.0, -2.0, 2.0)?;
    /// assert!(-0.01 < inverted[0] && inverted[0] < 0.0);
    /// # Ok::<(), RngError>(())
    /// ```
    pub fn fill_trunc_normal<T: RandomFloat>(
        &mut self,
        out: &mut [T],
        mean: f64,
        std: f64,
        low: f64,
        high: f64,
    ) -> Result<(), RngError> {
        check(std, low, high)?;
        let below = |x: f64| (1.0 + libm::erf((x - mean) / std / std::f64::consts::SQRT_2)) / 2.0;
        if below(high) - below(low) > ENOUGH {
            self.redraw_outside(out, mean, std, low, high)
        } else {
            self.reject_by_density(out, mean, std, low, high)
        }
    }

    /// Fills `out` with draws from the normal distribution truncated to `[low, high]`, by inverting the
    /// distribution function: timm's `trunc_normal_`, which was PyTorch's before 2.15.
    ///
    /// ```text
    /// x = erfinv(u) · √2 std + mean,   u uniform over [2 Φ((low − mean) / std) − 1, 2 Φ((high − mean) / std) − 1)
    /// ```
    ///
    /// Every step is rounded to the type of the elements, and the last brings `x` back into the interval.
    /// PyTorch leaves `erfinv` to a closed library, Intel's MKL, instead of which other builds compute
    /// other bits. Here it is the nearest number, from which MKL's differs by one unit in the last
    /// place in about one of 3000 draws.
    ///
    /// # Errors
    ///
    /// [`RngError::StandardDeviation`] unless `std > 0`; [`RngError::Interval`] unless `low <= high`.
    pub fn fill_trunc_normal_by_inverse<T: RandomFloat>(
        &mut self,
        out: &mut [T],
        mean: f64,
        std: f64,
        low: f64,
        high: f64,
    ) -> Result<(), RngError> {
        check(std, low, high)?;
        let below = |x: f64| (1.0 + libm::erf((x - mean) / std / std::f64::consts::SQRT_2)) / 2.0;
        self.fill_uniform(out, 2.0 * below(low) - 1.0, 2.0 * below(high) - 1.0)?;
        let (low, high) = (T::from_f64(low), T::from_f64(high));
        let scale = T::Wide::from_f64(std * std::f64::consts::SQRT_2);
        let shift = -T::Wide::from_f64(mean);
        for slot in out {
            let x = T::from_f64(erfinv(slot.to_f64())).widen();
            let x = T::narrow(x.times(scale)).widen();
            let x = T::narrow(x.minus(shift));
            let x = if x < low { low } else { x };
            *slot = if x > high { high } else { x };
        }
        Ok(())
    }

    fn redraw_outside<T: RandomFloat>(
        &mut self,
        out: &mut [T],
        mean: f64,
        std: f64,
        low: f64,
        high: f64,
    ) -> Result<(), RngError> {
        let (low, high) = (T::from_f64(low), T::from_f64(high));
        let outside = |x: &T| *x < low || *x > high;
        self.fill_normal(out, mean, std)?;
        let mut fresh = Vec::new();
        while out.iter().any(outside) {
            fresh.resize(out.len(), low);
            self.fill_normal(&mut fresh, mean, std)?;
            for (slot, &value) in zip_mut(out, &fresh) {
                if outside(slot) {
                    *slot = value;
                }
            }
        }
        Ok(())
    }

    fn reject_by_density<T: RandomFloat>(
        &mut self,
        out: &mut [T],
        mean: f64,
        std: f64,
        low: f64,
        high: f64,
    ) -> Result<(), RngError> {
        check_interval::<T>("trunc_normal", low, high)?;
        let mode = low.max(mean.min(high));
        let peak = -0.5 * ((mode - mean) / std) * ((mode - mean) / std);
        let density = Density {
            mean: T::Wide::from_f64(mean),
            std: T::Wide::from_f64(std),
            half: T::Wide::from_f64(-0.5),
            peak: T::Wide::from_f64(peak),
        };
        let mut fresh = vec![T::from_f64(low); out.len()];
        let mut level = fresh.clone();
        let mut pending = vec![true; out.len()];
        while pending.contains(&true) {
            self.fill_uniform(&mut fresh, low, high)?;
            self.fill_uniform(&mut level, 0.0, 1.0)?;
            let draws = fresh.iter().zip(&level);
            for ((slot, pending), (&candidate, level)) in
                out.iter_mut().zip(&mut pending).zip(draws)
            {
                if *pending {
                    *slot = candidate;
                    *pending = T::narrow(level.widen().ln()) > density.log::<T>(candidate);
                }
            }
        }
        Ok(())
    }
}

fn check(std: f64, low: f64, high: f64) -> Result<(), RngError> {
    let op = "trunc_normal";
    if std.is_nan() || std <= 0.0 {
        return Err(RngError::StandardDeviation { op, std });
    }
    if low.is_nan() || high.is_nan() || low > high {
        return Err(RngError::Interval { op, low, high });
    }
    Ok(())
}

/// The logarithm of the normal density over its greatest value in the interval.
struct Density<W> {
    mean: W,
    std: W,
    half: W,
    peak: W,
}

impl<W: Wide> Density<W> {
    /// Every step is rounded to the type of the elements: PyTorch takes one operation on tensors each.
    fn log<T: RandomFloat<Wide = W>>(&self, x: T) -> T {
        let distance = T::narrow(x.widen().minus(self.mean));
        let scaled = T::narrow(distance.widen().over(self.std)).widen();
        let square = T::narrow(scaled.times(scaled)).widen();
        let log = T::narrow(square.times(self.half)).widen();
        T::narrow(log.minus(self.peak))
    }
}
