use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{CpuGenerator, DeviceGenerator, Distribution};
use crate::backend::Storage;
use crate::{DType, Device, Result};

/// A handle to a source of random numbers of one device: PyTorch's `torch.Generator`.
///
/// Clones are handles to the same source; [`clone_state`](Self::clone_state) makes a separate one. Each draw locks the
/// source, so threads may share it.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Generator, Tensor};
///
/// let generator = Generator::new(0);
/// let x = Tensor::uniform([2], 0.0, 1.0, DType::F32, &generator)?;
/// assert_eq!(x.to_vec::<f32>()?, [0.496_256_6, 0.768_221_8]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::rng::{Distribution, Generator};
/// use module_tensor::{DType, Device, Tensor};
///
/// let generator = Generator::on(Device::cpu(), 5)?;
/// assert_eq!((generator.device(), generator.initial_seed()), (Device::cpu(), 5));
/// let draw = || Tensor::normal([3], 0.0, 1.0, DType::F32, &generator)?.to_vec::<f32>();
///
/// // Draw the same numbers again: from a state, and from the seed.
/// let state = generator.get_state();
/// let first = draw()?;
/// generator.set_state(&state)?;
/// assert_eq!(draw()?, first);
/// let stream = generator.stream();
/// generator.manual_seed(5);
/// assert_eq!(draw()?, first);
/// assert_ne!(generator.stream(), stream);
///
/// // A separate source with the same state, which skips what the other one draws.
/// generator.manual_seed(5);
/// let copy = generator.clone_state()?;
/// copy.skip(Distribution::Normal { mean: 0.0, std: 1.0 }, 3, DType::F32)?;
/// assert_ne!(copy, generator);
/// draw()?;
/// assert_eq!(copy, generator);
///
/// // Other numbers in each run.
/// assert_ne!(Generator::from_entropy(), Generator::from_entropy());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Generator(Arc<Shared>);

struct Shared {
    device: Device,
    source: Mutex<Source>,
}

struct Source {
    engine: Box<dyn DeviceGenerator>,
    stream: u64,
}

impl Generator {
    /// A CPU generator with this seed. Python's negative seeds are their two's complement: `torch.manual_seed(-5)` is
    /// `Generator::new(-5_i64 as u64)`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::of(Device::cpu(), Box::new(CpuGenerator::new(seed)))
    }

    /// A generator of a device with this seed.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Unavailable`](crate::DeviceError::Unavailable) for a device without its own generators; draws for it
    /// come from the CPU's.
    pub fn on(device: Device, seed: u64) -> Result<Self> {
        match device.backend().generator(seed) {
            Some(engine) => Ok(Self::of(device, engine)),
            None => Err(device.unavailable("generator")),
        }
    }

    /// A CPU generator with a seed that differs from run to run.
    #[must_use]
    #[doc(alias = "seed")]
    pub fn from_entropy() -> Self {
        Self::of(Device::cpu(), Box::new(CpuGenerator::from_entropy()))
    }

    fn of(device: Device, engine: Box<dyn DeviceGenerator>) -> Self {
        let stream = next_stream();
        let source = Mutex::new(Source { engine, stream });
        Self(Arc::new(Shared { device, source }))
    }

    /// A thread that panics while drawing leaves an advanced source, not a broken one.
    fn lock(&self) -> MutexGuard<'_, Source> {
        let source = self.0.source.lock();
        source.unwrap_or_else(PoisonError::into_inner)
    }

    /// The device of its draws.
    pub fn device(&self) -> Device {
        self.0.device
    }

    /// Starts over with this seed.
    pub fn manual_seed(&self, seed: u64) {
        let mut source = self.lock();
        source.engine.manual_seed(seed);
        source.stream = next_stream();
    }

    /// The last seed, regardless of draws since.
    pub fn initial_seed(&self) -> u64 {
        self.lock().engine.initial_seed()
    }

    /// The state that determines all future draws; for the CPU, the bytes of PyTorch's `torch.get_rng_state()`.
    #[doc(alias = "get_rng_state")]
    pub fn get_state(&self) -> Vec<u8> {
        self.lock().engine.get_state()
    }

    /// Restores a state from [`get_state`](Self::get_state) or, for the CPU, from PyTorch's `torch.get_rng_state()`.
    ///
    /// # Errors
    ///
    /// Bytes that are not such a state. The generator is then unchanged.
    #[doc(alias = "set_rng_state")]
    pub fn set_state(&self, state: &[u8]) -> Result<()> {
        self.lock().engine.set_state(state)
    }

    /// Makes another generator with the same state, which draws the same numbers.
    ///
    /// # Errors
    ///
    /// The errors of a device that does not accept its own state.
    pub fn clone_state(&self) -> Result<Self> {
        let (seed, state) = (self.initial_seed(), self.get_state());
        let copy = Self::on(self.device(), seed)?;
        copy.set_state(&state)?;
        Ok(copy)
    }

    /// Advances the generator as if `numel` values of `dtype` had been drawn, without drawing them where possible.
    ///
    /// # Errors
    ///
    /// Those of the draw.
    pub fn skip(&self, distribution: Distribution, numel: usize, dtype: DType) -> Result<()> {
        self.lock().engine.skip(distribution, numel, dtype)
    }

    /// Values on the device, for distributions without a method of [`Tensor`](crate::Tensor).
    ///
    /// # Errors
    ///
    /// Invalid parameters of the distribution, an unsupported dtype, not enough memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Generator, Layout, Tensor, rng::Distribution};
    ///
    /// let order = Generator::new(0).draw(Distribution::Permutation, 5, DType::I64)?;
    /// let order = Tensor::from_storage(order, Layout::contiguous(5.into()));
    /// assert_eq!(order.sum(..)?.item::<i64>()?, 10);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn draw(&self, distribution: Distribution, numel: usize, dtype: DType) -> Result<Storage> {
        self.lock().engine.draw(distribution, numel, dtype)
    }

    /// An id of the current random stream; each seeding starts a new one.
    pub fn stream(&self) -> u64 {
        self.lock().stream
    }
}

fn next_stream() -> u64 {
    static STREAMS: AtomicU64 = AtomicU64::new(0);
    STREAMS.fetch_add(1, Ordering::Relaxed)
}

/// Generators that are equal draw the same numbers, whenever they were seeded.
impl PartialEq for Generator {
    fn eq(&self, other: &Self) -> bool {
        self.device() == other.device() && self.get_state() == other.get_state()
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator")
            .field("device", &self.device())
            .field("initial_seed", &self.initial_seed())
            .finish_non_exhaustive()
    }
}
