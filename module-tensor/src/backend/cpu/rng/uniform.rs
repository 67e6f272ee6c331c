use super::float::sealed::{Float, Wide};
use super::fused::{FusedLoop, run_fused};
use super::{CpuGenerator, RandomFloat, RngError};
use crate::DType;
use crate::zip::zip_mut;

/// The number of values that are drawn at a time on the stack.
const BLOCK: usize = 256;

impl CpuGenerator {
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
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::DType;
    /// use module_tensor::rng::{CpuGenerator, RngError};
    ///
    /// let (mut two, mut one) = ([0.0_f32; 2], [0.0_f32]);
    /// CpuGenerator::new(0).fill_uniform(&mut two, 0.0, 1.0)?;
    /// assert_eq!(two, [0.496_256_6, 0.768_221_8]);
    /// let mut generator = CpuGenerator::new(0);
    /// generator.skip_uniform(1, DType::F32);
    /// generator.fill_uniform(&mut one, 0.0, 1.0)?;
    /// assert_eq!(one, [two[1]]);
    /// # Ok::<(), RngError>(())
    /// ```
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
        let scale = |words: &[_], out: &mut [_]| {
            run_fused(Scale {
                words,
                out,
                low,
                span,
            });
        };
        self.fill_blocks(out, scale, |value| if value == to { from } else { value });
        Ok(())
    }

    /// Goes on as [`fill_uniform`](Self::fill_uniform) does for `count` values of a floating-point
    /// dtype, without computing them.
    pub fn skip_uniform(&mut self, count: usize, dtype: DType) {
        self.engine.skip(match dtype {
            DType::F64 => count.saturating_mul(2),
            _ => count,
        });
    }

    /// Fills `out` with what `compute` makes of as many uniforms' words, a block at a time; `finish`
    /// has the last word on each value.
    pub(super) fn fill_blocks<T: RandomFloat>(
        &mut self,
        out: &mut [T],
        compute: impl Fn(&[<T::Wide as Wide>::Words], &mut [T::Wide]),
        finish: impl Fn(T) -> T,
    ) {
        let mut words = [T::Wide::NO_WORDS; BLOCK];
        let mut values = [T::Wide::ZERO; BLOCK];
        for chunk in out.chunks_mut(BLOCK) {
            let count = chunk.len();
            let (Some(words), Some(values)) = (words.get_mut(..count), values.get_mut(..count))
            else {
                continue;
            };
            T::Wide::fill_words(&mut self.engine, words);
            match T::as_wide(chunk) {
                Some(chunk) => compute(words, chunk),
                None => {
                    compute(words, values);
                    for (slot, &value) in zip_mut(chunk, values) {
                        *slot = T::narrow(value);
                    }
                }
            }
            for slot in chunk {
                *slot = finish(*slot);
            }
        }
    }
}

/// Uniforms of `[0, 1)` brought to another interval.
struct Scale<'a, W: Wide> {
    words: &'a [W::Words],
    out: &'a mut [W],
    low: W,
    span: W,
}

#[allow(clippy::inline_always)]
impl<W: Wide> FusedLoop for Scale<'_, W> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { low, span, .. } = self;
        let pairs = self.out.iter_mut().zip(self.words);
        if !FMA && low == W::ZERO {
            // Nothing is added: the product alone is rounded once, without the cost of fusing.
            for (slot, &words) in pairs {
                *slot = W::unit(words).times(span);
            }
        } else {
            for (slot, &words) in pairs {
                *slot = W::unit(words).fused::<FMA>(span, low);
            }
        }
    }
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
