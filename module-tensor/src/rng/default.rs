use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::Generator;
use crate::Device;

/// The default generators.
struct Defaults {
    cpu: Generator,
    /// The generators of other devices that have been requested.
    others: Mutex<Vec<Generator>>,
}

/// The generators that all threads share, as PyTorch's default generators are shared.
static GLOBAL: LazyLock<Arc<Defaults>> = LazyLock::new(|| Defaults::new(Generator::from_entropy()));

thread_local! {
    /// The generators that this thread uses instead.
    static FORKED: RefCell<Option<Arc<Defaults>>> = const { RefCell::new(None) };
}

impl Defaults {
    fn new(cpu: Generator) -> Arc<Self> {
        let others = Mutex::default();
        Arc::new(Self { cpu, others })
    }

    /// The default generators of this thread. While the thread's locals are being destroyed, these are the shared ones.
    fn current() -> Arc<Self> {
        let forked = FORKED.try_with(|forked| forked.borrow().clone());
        forked.ok().flatten().unwrap_or_else(|| GLOBAL.clone())
    }

    fn of(&self, device: Device) -> Generator {
        if device == Device::cpu() {
            return self.cpu.clone();
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.iter().find(|other| other.device() == device) {
            return known.clone();
        }
        // The last seed from `manual_seed` also applies to this generator.
        match Generator::on(device, self.cpu.initial_seed()) {
            Ok(generator) => {
                others.push(generator.clone());
                generator
            }
            Err(_) => self.cpu.clone(),
        }
    }
}

/// The default generator of the CPU, PyTorch's `torch.default_generator`: that of the innermost [`fork_rng`] on this
/// thread, or otherwise the one that the whole process shares.
///
/// # Example
///
/// ```
/// use module_tensor::rng::{default_generator, manual_seed};
///
/// manual_seed(7);
/// assert_eq!(default_generator().initial_seed(), 7);
/// ```
#[must_use]
pub fn default_generator() -> Generator {
    Defaults::current().cpu.clone()
}

impl Device {
    /// The default generator for this device; the [CPU's](crate::rng::default_generator) for a device without its own.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Device, fork_rng};
    ///
    /// fork_rng(3, || {
    ///     let generator = Device::cpu().default_generator();
    ///     assert_eq!(generator.initial_seed(), 3);
    /// });
    /// ```
    #[must_use]
    pub fn default_generator(&self) -> Generator {
        Defaults::current().of(*self)
    }
}

/// Seeds the default generators of all devices: PyTorch's `torch.manual_seed`. Inside [`fork_rng`] it seeds only the
/// private ones.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Tensor, manual_seed};
///
/// manual_seed(0);
/// let first = Tensor::rand([2], DType::F32)?;
/// manual_seed(0);
/// assert!(Tensor::rand([2], DType::F32)?.equal(&first)?);
/// assert_eq!(first.to_vec::<f32>()?, [0.4962566, 0.7682218]); // PyTorch's numbers.
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn manual_seed(seed: u64) {
    let defaults = Defaults::current();
    defaults.cpu.manual_seed(seed);
    let others = defaults.others.lock();
    for other in &*others.unwrap_or_else(PoisonError::into_inner) {
        other.manual_seed(seed);
    }
}

/// The last seed of the default generator: PyTorch's `torch.initial_seed`.
///
/// # Example
///
/// ```
/// module_tensor::manual_seed(7);
/// assert_eq!(module_tensor::rng::initial_seed(), 7);
/// ```
#[must_use]
pub fn initial_seed() -> u64 {
    default_generator().initial_seed()
}

/// Runs `body` with private default generators for this thread, seeded with `seed`.
///
/// Use it so that parallel tests do not affect each other's draws. Afterwards the previous generators are restored,
/// unchanged, even if `body` panics. Calls may be nested.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Tensor, fork_rng};
///
/// let draw = || Tensor::randn([3], DType::F32);
/// assert!(fork_rng(0, draw)?.equal(&fork_rng(0, draw)?)?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn fork_rng<R>(seed: u64, body: impl FnOnce() -> R) -> R {
    struct Restore(Option<Arc<Defaults>>);

    impl Drop for Restore {
        fn drop(&mut self) {
            replace(self.0.take());
        }
    }

    let _restore = Restore(replace(Some(Defaults::new(Generator::new(seed)))));
    body()
}

/// Replaces the generators and returns the previous ones.
fn replace(defaults: Option<Arc<Defaults>>) -> Option<Arc<Defaults>> {
    let replaced = FORKED.try_with(|forked| forked.replace(defaults));
    replaced.ok().flatten()
}
