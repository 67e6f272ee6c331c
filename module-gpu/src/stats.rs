use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The work of a device since it was opened; the difference of two is the cost of a part of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Kernels launched.
    pub launches: u64,
    /// Groups of launches and copies handed to the driver.
    pub submissions: u64,
    /// Kernels compiled.
    pub compiled: u64,
    /// Bytes copied from host memory.
    pub uploaded: u64,
    /// Bytes copied to host memory.
    pub downloaded: u64,
    /// Times that the host waited for elements.
    pub waits: u64,
    /// Calls that the CPU computed, for each family of kernels: their operands were downloaded and their results uploaded.
    pub host_routes: BTreeMap<&'static str, u64>,
}

/// Counts for [`Stats`].
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) launches: AtomicU64,
    pub(crate) submissions: AtomicU64,
    pub(crate) compiled: AtomicU64,
    pub(crate) uploaded: AtomicU64,
    pub(crate) downloaded: AtomicU64,
    pub(crate) waits: AtomicU64,
    host_routes: Mutex<BTreeMap<&'static str, u64>>,
}

pub(crate) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

impl Counters {
    /// Counts a call that the CPU computes, and returns whether it is the first of its family.
    pub(crate) fn host_route(&self, family: &'static str) -> bool {
        let mut all = self
            .host_routes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let count = all.entry(family).or_default();
        *count += 1;
        *count == 1
    }

    pub(crate) fn stats(&self) -> Stats {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let all = self
            .host_routes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Stats {
            launches: count(&self.launches),
            submissions: count(&self.submissions),
            compiled: count(&self.compiled),
            uploaded: count(&self.uploaded),
            downloaded: count(&self.downloaded),
            waits: count(&self.waits),
            host_routes: all.clone(),
        }
    }
}
