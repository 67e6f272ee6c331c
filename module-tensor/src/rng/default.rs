use std::cell::RefCell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::Generator;
use crate::Device;

/// The generators that are drawn from where none is named.
struct Defaults {
    cpu: Generator,
    /// The generators of other devices that have been asked for.
    others: Mutex<Vec<Generator>>,
}

/// The generators that all threads share, as PyTorch's default generators are shared.
static GLOBAL: LazyLock<Arc<Defaults>> = LazyLock::new(|| Defaults::new(Generator::from_entropy()));

thread_local! {
    /// The generators that this thread has instead.
    static FORKED: RefCell<Option<Arc<Defaults>>> = const { RefCell::new(None) };
}

impl Defaults {
    fn new(cpu: Generator) -> Arc<Self> {
        let others = Mutex::default();
        Arc::new(Self { cpu, others })
    }

    /// The generators that this thread draws from. While the thread's locals are being destroyed, they are the
    /// shared ones.
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
        // What `manual_seed` gave the CPU's before holds for this one too.
        match Generator::on(device, self.cpu.initial_seed()) {
            Ok(generator) => {
                others.push(generator.clone());
                generator
            }
            Err(_) => self.cpu.clone(),
        }
    }
}

/// The default generator of the CPU, PyTorch's `torch.default_generator`: that of the innermost
/// [`fork_rng`] on this thread, or else the one that the whole process shares.
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
    /// The generator that is drawn from for this device where none is named; the
    /// [CPU's](crate::rng::default_generator) for a device that has none of its own.
    #[must_use]
    pub fn default_generator(&self) -> Generator {
        Defaults::current().of(*self)
    }
}

/// Seeds the default generators of all devices: PyTorch's `torch.manual_seed`. Inside [`fork_rng`] it
/// seeds the private ones only.
pub fn manual_seed(seed: u64) {
    let defaults = Defaults::current();
    defaults.cpu.manual_seed(seed);
    let others = defaults.others.lock();
    for other in &*others.unwrap_or_else(PoisonError::into_inner) {
        other.manual_seed(seed);
    }
}

/// The seed that the default generator was given last: PyTorch's `torch.initial_seed`.
#[must_use]
pub fn initial_seed() -> u64 {
    default_generator().initial_seed()
}

/// Runs `body` with private default generators for this thread, seeded with `seed`.
///
/// Tests that run side by side do not disturb each other's draws this way. The generators from before
/// are back in place afterwards, untouched, also if `body` panics. Calls may be nested.
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

/// Replaces the generators and returns the ones before.
fn replace(defaults: Option<Arc<Defaults>>) -> Option<Arc<Defaults>> {
    let replaced = FORKED.try_with(|forked| forked.replace(defaults));
    replaced.ok().flatten()
}
