use std::cell::Cell;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::Generator;

/// The generator that every thread shares, as PyTorch's default generator is shared.
static GLOBAL: LazyLock<Mutex<Generator>> = LazyLock::new(|| Mutex::new(Generator::from_entropy()));

/// Where this thread draws from.
enum Source {
    Global,
    Forked(Box<Generator>),
    /// A closure of [`with_default`] is running, and has the generator.
    Busy,
}

thread_local! {
    static SOURCE: Cell<Source> = const { Cell::new(Source::Global) };
}

/// Puts `source` in place and returns what was there. While the thread's locals are being destroyed
/// there is no place, and the shared generator serves.
fn replace(source: Source) -> Source {
    SOURCE
        .try_with(|place| place.replace(source))
        .unwrap_or(Source::Global)
}

/// Puts a source back when dropped, and so also when the closure it guards panics.
struct Restore(Source);

impl Drop for Restore {
    fn drop(&mut self) {
        replace(std::mem::replace(&mut self.0, Source::Busy));
    }
}

/// Calls `draw` with the default generator: the one of the innermost [`fork_rng`] on this thread, or
/// else the one that the whole process shares, which is locked meanwhile.
///
/// A call from inside `draw` finds the generator taken and gets one with a seed of its own, because
/// waiting would last forever and sharing would repeat draws.
pub fn with_default<R>(draw: impl FnOnce(&mut Generator) -> R) -> R {
    let mut restore = Restore(replace(Source::Busy));
    match &mut restore.0 {
        // A thread that panicked while it drew leaves a generator that is further on, not a broken one.
        Source::Global => draw(&mut GLOBAL.lock().unwrap_or_else(PoisonError::into_inner)),
        Source::Forked(generator) => draw(generator),
        Source::Busy => draw(&mut Generator::from_entropy()),
    }
}

/// Seeds the default generator: PyTorch's `torch.manual_seed`. Inside [`fork_rng`] it seeds the private
/// generator only.
pub fn manual_seed(seed: u64) {
    with_default(|generator| generator.manual_seed(seed));
}

/// The seed that the default generator was given last: PyTorch's `torch.initial_seed`.
#[must_use]
pub fn initial_seed() -> u64 {
    with_default(|generator| generator.initial_seed())
}

/// Runs `body` with a private default generator for this thread, seeded with `seed`.
///
/// Tests that run side by side do not disturb each other's draws this way. The generator from before
/// is back in place afterwards, untouched, also if `body` panics. Calls may be nested.
pub fn fork_rng<R>(seed: u64, body: impl FnOnce() -> R) -> R {
    let private = Source::Forked(Box::new(Generator::new(seed)));
    let _restore = Restore(replace(private));
    body()
}
