//! Numbers that tell modules without tensors apart.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that no other flag or marker of the process has; small enough to share a word with two bits.
pub(super) fn next_number() -> NonZeroU64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN)
}
