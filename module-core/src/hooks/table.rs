//! A table for the whole program, keyed by the identity of modules.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use super::numbered::Numbered;
use crate::module::{IdMap, ModuleId};

/// Items of modules, which every thread reads.
pub(super) struct ModuleTable<T> {
    modules: RwLock<Option<IdMap<ModuleId, Numbered<T>>>>,
    next: AtomicI64,
    /// How many modules have items, to be read without the lock.
    present: AtomicUsize,
}

impl<T> ModuleTable<T> {
    /// Whose items are numbered from `first` on.
    pub(super) const fn new(first: i64) -> Self {
        Self {
            modules: RwLock::new(None),
            next: AtomicI64::new(first),
            present: AtomicUsize::new(0),
        }
    }

    /// Whether no module has an item.
    pub(super) fn is_empty(&self) -> bool {
        self.present.load(Ordering::Relaxed) == 0
    }

    /// Adds an item, and gives its number.
    pub(super) fn add(&self, module: ModuleId, item: T) -> i64 {
        let mut modules = self.modules.write().unwrap_or_else(PoisonError::into_inner);
        let modules = modules.get_or_insert_default();
        // Under the lock, so that numbers come in their order.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        modules.entry(module).or_default().add(number, item);
        self.present.store(modules.len(), Ordering::Relaxed);
        number
    }

    /// Takes an item out. The caller drops it, when the lock is free: it may own more.
    pub(super) fn remove(&self, module: ModuleId, number: i64) -> Option<T> {
        let mut modules = self.modules.write().unwrap_or_else(PoisonError::into_inner);
        let modules = modules.as_mut()?;
        let items = modules.get_mut(&module)?;
        let item = items.remove(number);
        if items.is_empty() {
            modules.remove(&module);
        }
        self.present.store(modules.len(), Ordering::Relaxed);
        item
    }

    /// The result of `f` on the items of a module; `f` runs no user's code.
    pub(super) fn read<R: Default>(
        &self,
        module: ModuleId,
        f: impl FnOnce(&Numbered<T>) -> R,
    ) -> R {
        if self.is_empty() {
            return R::default();
        }
        let modules = self.modules.read().unwrap_or_else(PoisonError::into_inner);
        let items = modules.as_ref().and_then(|modules| modules.get(&module));
        items.map(f).unwrap_or_default()
    }
}
