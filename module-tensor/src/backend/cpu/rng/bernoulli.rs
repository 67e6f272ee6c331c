use super::float::sealed::{Float, Wide};
use super::mt19937::join;
use super::{CpuGenerator, RandomFloat, RngError};
use crate::simd::{Loop, run_at_best_level};
use crate::zip::zip_mut;

/// The number of uniforms that are drawn at a time on the stack.
const BLOCK: usize = 128;

impl CpuGenerator {
    /// Fills `out` with ones with probability `p` and zeros otherwise: PyTorch's `bernoulli_(p)`.
    ///
    /// Every element takes a uniform in `f64`, two words, whatever its own type is.
    ///
    /// # Errors
    ///
    /// [`RngError::Probability`] unless `0 <= p <= 1`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::rng::{CpuGenerator, RngError};
    ///
    /// let mut ones = [0.0_f32; 6];
    /// CpuGenerator::new(0).fill_bernoulli(&mut ones, 0.5)?;
    /// assert_eq!(ones, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    /// let mut mask = [false; 6];
    /// CpuGenerator::new(0).fill_mask(&mut mask, 0.5)?;
    /// assert_eq!(mask, ones.map(|x| x == 1.0));
    /// let mut factors = [0.0_f32; 6];
    /// CpuGenerator::new(0).fill_dropout(&mut factors, 0.5)?;
    /// assert_eq!(factors, [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
    /// let mut probabilities = [0.2_f32, 0.5, 0.9, 0.0, 1.0];
    /// CpuGenerator::new(0).replace_by_bernoulli(&mut probabilities)?;
    /// assert_eq!(probabilities, [0.0, 0.0, 1.0, 0.0, 1.0]);
    /// # Ok::<(), RngError>(())
    /// ```
    pub fn fill_bernoulli<T: RandomFloat>(
        &mut self,
        out: &mut [T],
        p: f64,
    ) -> Result<(), RngError> {
        check_probability("bernoulli", p)?;
        self.choose(out, p, T::from_f64(1.0), T::from_f64(0.0));
        Ok(())
    }

    /// [`fill_bernoulli`](Self::fill_bernoulli) for a mask: the same draws.
    ///
    /// # Errors
    ///
    /// [`RngError::Probability`] unless `0 <= p <= 1`.
    pub fn fill_mask(&mut self, out: &mut [bool], p: f64) -> Result<(), RngError> {
        check_probability("bernoulli", p)?;
        self.choose(out, p, true, false);
        Ok(())
    }

    /// Replaces each probability with 1, with that probability, or else with 0: PyTorch's
    /// `torch.bernoulli(probabilities)`.
    ///
    /// Each element uses one uniform number of the type in which elements are computed: one word, or two for `f64`.
    ///
    /// # Errors
    ///
    /// [`RngError::Probability`] if one of them is outside `[0, 1]`.
    pub fn replace_by_bernoulli<T: RandomFloat>(
        &mut self,
        probabilities: &mut [T],
    ) -> Result<(), RngError> {
        for p in probabilities.iter() {
            check_probability("bernoulli", p.to_f64())?;
        }
        let (one, zero) = (T::from_f64(1.0), T::from_f64(0.0));
        let mut words = [T::Wide::NO_WORDS; BLOCK];
        for chunk in probabilities.chunks_mut(BLOCK) {
            if let Some(words) = words.get_mut(..chunk.len()) {
                T::Wide::fill_words(&mut self.engine, words);
            }
            for (slot, &words) in zip_mut(chunk, &words) {
                let chosen = T::Wide::unit(words) < slot.widen();
                *slot = if chosen { one } else { zero };
            }
        }
        Ok(())
    }

    /// Fills `out` with the factors of dropout, which PyTorch's `F.dropout` multiplies its input by:
    /// zero with probability `p` and `1 / (1 − p)` otherwise.
    ///
    /// Nothing is drawn for `p == 0`, where all factors are one, and for `p == 1`, where all are zero.
    ///
    /// # Errors
    ///
    /// [`RngError::Probability`] unless `0 <= p <= 1`.
    pub fn fill_dropout<T: RandomFloat>(&mut self, out: &mut [T], p: f64) -> Result<(), RngError> {
        check_probability("dropout", p)?;
        let zero = T::from_f64(0.0);
        if p == 0.0 {
            out.fill(T::from_f64(1.0));
        } else if p == 1.0 {
            out.fill(zero);
        } else {
            let one = T::Wide::from_f64(1.0);
            let keep = T::narrow(one.over(T::Wide::from_f64(1.0 - p)));
            self.choose(out, 1.0 - p, keep, zero);
        }
        Ok(())
    }

    /// Fills `out` with `yes` with probability `p` and with `no` otherwise.
    fn choose<T: Copy>(&mut self, out: &mut [T], p: f64, yes: T, no: T) {
        // A uniform is an integer times 2^-53. Both products with powers of two are exact, and integers are compared faster.
        let below = (p * (1_u64 << BITS) as f64).ceil() as u64;
        let mut words = [[0; 2]; BLOCK];
        for out in out.chunks_mut(BLOCK) {
            let Some(words) = words.get_mut(..out.len()) else {
                continue;
            };
            f64::fill_words(&mut self.engine, words);
            run_at_best_level(Choose {
                words,
                out,
                below,
                yes,
                no,
            });
        }
    }
}

/// The bits of a uniform in `f64`.
const BITS: u32 = 53;

/// Chooses `yes` where the uniform of two words is less than `below`, times 2^-53.
struct Choose<'a, T> {
    words: &'a [[u32; 2]],
    out: &'a mut [T],
    below: u64,
    yes: T,
    no: T,
}

impl<T: Copy> Loop for Choose<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (slot, &words) in zip_mut(self.out, self.words) {
            let uniform = join(words) & ((1 << BITS) - 1);
            *slot = if uniform < self.below {
                self.yes
            } else {
                self.no
            };
        }
    }
}

fn check_probability(op: &'static str, p: f64) -> Result<(), RngError> {
    if (0.0..=1.0).contains(&p) {
        Ok(())
    } else {
        Err(RngError::Probability { op, p })
    }
}
