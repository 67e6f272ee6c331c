use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::float::sealed::Wide;
use super::mt19937::Mt19937;
use super::{GeneratorState, RngError};

/// A source of random numbers that draws what PyTorch's `torch.Generator` on the CPU draws.
///
/// # Example
///
/// ```
/// use module_tensor::rng::{CpuGenerator, RngError};
///
/// let mut generator = CpuGenerator::new(0);
/// let mut weights = [0.0_f32; 4];
/// generator.fill_uniform(&mut weights, -0.5, 0.5)?;
/// assert_eq!(weights[0].to_bits(), 3_145_028_608);
/// # Ok::<(), RngError>(())
/// ```
///
/// ```
/// use module_tensor::rng::{CpuGenerator, GeneratorState, RngError};
///
/// // The first output of the Mersenne Twister for its customary seed.
/// let mut generator = CpuGenerator::from_entropy();
/// generator.manual_seed(5489);
/// assert_eq!((generator.initial_seed(), generator.next_u32()), (5489, 3_499_211_612));
///
/// // A generator goes on from a state, also from the bytes of `torch.get_rng_state()`.
/// let state: GeneratorState = generator.state();
/// let bytes = generator.to_bytes();
/// let next = generator.next_u64();
/// assert_eq!(CpuGenerator::from_bytes(&bytes)?.next_u64(), next);
/// generator.set_state(&state)?;
/// assert_eq!(generator.next_u64(), next);
/// assert_eq!(GeneratorState::from_bytes(&bytes)?.to_bytes(), bytes);
/// # Ok::<(), RngError>(())
/// ```
#[derive(Clone)]
pub struct CpuGenerator {
    seed: u64,
    pub(super) engine: Mt19937,
    /// Box–Muller makes normals in pairs. The second of a pair that was drawn one at a time waits
    /// here for the next such draw, even one of another tensor.
    pub(super) spare_normal: Option<f64>,
    /// PyTorch's CPU code never sets this one, but its states have a field for it, and a state that
    /// is read must be written back unchanged.
    spare_normal_f32: Option<f32>,
}

impl CpuGenerator {
    /// A generator with this seed. Python's negative seeds are their two's complement:
    /// `torch.manual_seed(-5)` is `CpuGenerator::new(-5_i64 as u64)`.
    ///
    /// Only the lower 32 bits of the seed reach the engine, as in PyTorch.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            engine: Mt19937::new(seed),
            spare_normal: None,
            spare_normal_f32: None,
        }
    }

    /// A generator with a seed that differs from run to run.
    #[must_use]
    pub fn from_entropy() -> Self {
        // The standard library seeds its hash maps from the system's entropy; the hash of nothing
        // under such a seed is the only way to it without a dependency.
        Self::new(RandomState::new().build_hasher().finish())
    }

    /// Starts over with this seed, and forgets a spare normal.
    pub fn manual_seed(&mut self, seed: u64) {
        *self = Self::new(seed);
    }

    /// The seed given last, whatever was drawn since.
    #[must_use]
    pub fn initial_seed(&self) -> u64 {
        self.seed
    }

    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        self.engine.next_u32()
    }

    /// The next 64 random bits; the word drawn first is the upper half.
    pub fn next_u64(&mut self) -> u64 {
        self.engine.next_u64()
    }

    /// The next uniform in `[0, 1)`, of two words.
    pub(super) fn next_unit(&mut self) -> f64 {
        let mut words = [[0; 2]];
        f64::fill_words(&mut self.engine, &mut words);
        f64::unit(words[0])
    }

    /// Everything that decides the draws to come.
    #[must_use]
    pub fn state(&self) -> GeneratorState {
        GeneratorState {
            seed: self.seed,
            // Both are at most 624, so that no conversion can lose anything.
            left: self.engine.remaining() as i32 + 1,
            next: self.engine.next() as u32,
            words: *self.engine.words(),
            spare_normal: self.spare_normal,
            spare_normal_f32: self.spare_normal_f32,
        }
    }

    /// Takes up a state that [`state`](Self::state) or PyTorch's `get_rng_state` gave.
    ///
    /// # Errors
    ///
    /// [`RngError::StatePosition`] if the position lies outside the words. The generator is unchanged
    /// then.
    pub fn set_state(&mut self, state: &GeneratorState) -> Result<(), RngError> {
        let invalid = RngError::StatePosition {
            left: state.left,
            next: state.next,
        };
        let remaining = state
            .left
            .checked_sub(1)
            .and_then(|n| usize::try_from(n).ok());
        let next = usize::try_from(state.next).ok();
        let engine = remaining
            .zip(next)
            .and_then(|(remaining, next)| Mt19937::restore(state.words, remaining, next))
            .ok_or(invalid)?;
        *self = Self {
            seed: state.seed,
            engine,
            spare_normal: state.spare_normal,
            spare_normal_f32: state.spare_normal_f32,
        };
        Ok(())
    }

    /// The state as the bytes of PyTorch's `torch.get_rng_state()`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.state().to_bytes()
    }

    /// A generator with the state that PyTorch's `torch.get_rng_state()` gave.
    ///
    /// # Errors
    ///
    /// [`RngError::StateLength`] and [`RngError::StatePosition`] for bytes that are no such state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RngError> {
        let mut generator = Self::new(0);
        generator.set_state(&GeneratorState::from_bytes(bytes)?)?;
        Ok(generator)
    }
}

/// Equal generators draw the same, whenever they were seeded.
impl PartialEq for CpuGenerator {
    fn eq(&self, other: &Self) -> bool {
        let own = |g: &Self| (g.seed, g.spare_normal, g.spare_normal_f32);
        own(self) == own(other) && self.engine == other.engine
    }
}

impl fmt::Debug for CpuGenerator {
    /// Prints the seed and the position; 624 words would tell nobody anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuGenerator")
            .field("seed", &self.seed)
            .field("next", &self.engine.next())
            .field("spare_normal", &self.spare_normal)
            .finish_non_exhaustive()
    }
}
