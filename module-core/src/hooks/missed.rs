//! Hooks that a call on another thread misses.

use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{Thread, ThreadId};

use super::count;
use super::table::ModuleTable;
use crate::module::{Module, ModuleId, Token};

/// A hook that runs on one thread.
struct ThreadHook {
    thread: ThreadId,
    thread_name: String,
    token: Token,
    place: &'static Location<'static>,
    reported: AtomicBool,
}

static THREAD_HOOKS: ModuleTable<ThreadHook> = ModuleTable::new(0);

/// Records that a module has a hook of this thread, until this is dropped.
pub(super) struct MissGuard {
    module: ModuleId,
    number: i64,
}

impl MissGuard {
    pub(super) fn new(id: ModuleId, token: Token, place: &'static Location<'static>) -> Self {
        let thread = std::thread::current();
        let hook = ThreadHook {
            thread: thread.id(),
            thread_name: name_of(&thread),
            token,
            place,
            reported: AtomicBool::new(false),
        };
        let number = THREAD_HOOKS.add(id, hook);
        count::add_missable();
        Self { module: id, number }
    }
}

/// It is dropped on its thread: a handle does not leave it, and what a leaked one leaves goes with the thread.
impl Drop for MissGuard {
    fn drop(&mut self) {
        drop(THREAD_HOOKS.remove(self.module, self.number));
        count::remove_missable();
    }
}

fn name_of(thread: &Thread) -> String {
    match thread.name() {
        Some(name) => format!("`{name}`"),
        None => format!("{:?}", thread.id()),
    }
}

/// A hook that did not run, because its module was called on a thread other than the one that registered it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissedHook {
    /// The type of the module, as the tree prints it.
    pub module: String,
    /// The line that registered the hook.
    pub registered_at: String,
    /// The thread that registered it, and on which it runs.
    pub registered_on: String,
    /// The thread that called the module.
    pub called_on: String,
}

impl fmt::Display for MissedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            module,
            registered_at,
            registered_on,
            called_on,
        } = self;
        write!(
            f,
            "the hook on {module} that {registered_at} registered on thread {registered_on} did not run: the \
             module was called on thread {called_on}, and a hook runs on its own thread; `HookSet::shared` \
             makes hooks that run on every thread; `HookOptions::this_thread(true)` turns this warning off"
        )
    }
}

static MISSED: Mutex<Vec<MissedHook>> = Mutex::new(Vec::new());

/// The hooks that calls on other threads have missed so far, each once.
///
/// A hook belongs to the thread that registered it, so that it may hold what cannot be shared. A call of its
/// module on another thread, one that has no hook of its own on the module, does not run it. The first such
/// call is recorded here and printed to the standard error.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, ModuleExt, Tensor, hooks};
///
/// let layer = Identity::new();
/// let hook = layer.register_forward_hook(|_| ());
/// let x = Tensor::from(1.0_f32);
/// std::thread::scope(|scope| scope.spawn(|| layer.call(x).map(drop)).join().unwrap())?;
/// let missed = hooks::missed_hooks();
/// assert_eq!((missed.len(), missed[0].module.as_str()), (1, "Identity"));
/// # drop(hook);
/// # Ok::<(), module_core::Error>(())
/// ```
pub fn missed_hooks() -> Vec<MissedHook> {
    MISSED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// Whether threads have hooks on a module that run on one of them.
pub(super) fn may_have_hooks(id: ModuleId) -> bool {
    THREAD_HOOKS.read(id, |_| true)
}

/// Records the hooks of other threads that a call on this one misses.
pub(super) fn report(id: ModuleId, module: &dyn Module) {
    let missed: Vec<MissedHook> = THREAD_HOOKS.read(id, |hooks| {
        let thread = std::thread::current();
        let missed = hooks.iter().filter(|(_, hook)| {
            hook.thread != thread.id()
                && !hook.reported.load(Ordering::Relaxed)
                && hook.token.is_of(module)
                && !hook.reported.swap(true, Ordering::Relaxed)
        });
        let missed = missed.map(|(_, hook)| MissedHook {
            module: module.kind().to_owned(),
            registered_at: hook.place.to_string(),
            registered_on: hook.thread_name.clone(),
            called_on: name_of(&thread),
        });
        missed.collect()
    });
    if missed.is_empty() {
        return;
    }
    missed.iter().for_each(|hook| eprintln!("warning: {hook}"));
    let mut all = MISSED.lock().unwrap_or_else(PoisonError::into_inner);
    // A program that registers hooks without end keeps the first ones.
    let room = MAX_KEPT.saturating_sub(all.len());
    all.extend(missed.into_iter().take(room));
}

/// The number of missed hooks that are kept.
const MAX_KEPT: usize = 1 << 12;
