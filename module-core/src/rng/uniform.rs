use super::float::sealed::{Float, Wide};
use super::{Generator, RandomFloat, RngError};

/// How many values are drawn at a time on the stack.
const BLOCK: usize = 128;

impl Generator {
    /// Fills `out` with draws from the uniform distribution over `[low, high)`: PyTorch's `uniform_`.
    ///
    /// ```text
    /// x = u · (high − low) + low,   u = k / 2²⁴ with one word (k / 2⁵³ with two words for f64)
    /// ```
    ///
    /// The bounds are first rounded to the type the draw is computed in, `f64` for `f64` and `f32` for
    /// the others. A value that rounds up to `high` is replaced by `low`.
    ///
    /// # Errors
    ///
    /// [`RngError::Interval`] unless `low <= high`, both are finite in the type of the elements, and
    /// so is their distance.
    pub fn fill_uniform<T: RandomFloat>(
        &mut self,
        out: &mut [T],
        low: f64,
        high: f64,
    ) -> Result<(), RngError> {
        check_interval::<T>("uniform", low, high)?;
        let (from, to) = (T::from_f64(low), T::from_f64(high));
        let (low, high) = (T::Wide::from_f64(low), T::Wide::from_f64(high));
        let span = high.minus(low);
        let mut units = [T::Wide::ZERO; BLOCK];
        for chunk in out.chunks_mut(BLOCK) {
            if let Some(units) = units.get_mut(..chunk.len()) {
                T::Wide::fill_unit(self, units);
            }
            if low == T::Wide::ZERO {
                // Nothing is added: the product alone is rounded once, without the cost of fusing.
                for (slot, &unit) in chunk.iter_mut().zip(&units) {
                    *slot = below(T::narrow(unit.times(span)), from, to);
                }
            } else {
                for (slot, &unit) in chunk.iter_mut().zip(&units) {
                    *slot = below(T::narrow(unit.fused(span, low)), from, to);
                }
            }
        }
        Ok(())
    }
}

/// Keeps the upper bound excluded although rounding may reach it.
#[inline]
fn below<T: RandomFloat>(value: T, from: T, to: T) -> T {
    if value == to { from } else { value }
}

/// The bounds must be in order, and they and their distance finite in `T`.
pub(super) fn check_interval<T: RandomFloat>(
    op: &'static str,
    low: f64,
    high: f64,
) -> Result<(), RngError> {
    // Written so that a NaN fails.
    if low <= high && T::holds(low) && T::holds(high) && T::holds(high - low) {
        Ok(())
    } else {
        Err(RngError::Interval { op, low, high })
    }
}
