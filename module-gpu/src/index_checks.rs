//! Indices out of range, which kernels find long after the call that asked for them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use module_tensor::{Error, ShapeError};

use crate::pool::{Memory, Pool};

/// The bytes of the memory that kernels report to: the number of the check, and the two words of the index.
pub(crate) const BYTES: usize = 16;

/// The bytes of the memory while no index was out of range.
pub(crate) const CLEAR: [u8; BYTES] = [255; BYTES];

/// The operations that read indices, and the memory to which the first launch that finds one out of range writes the number
/// of its check and the index.
pub(crate) struct IndexChecks {
    pub(crate) memory: Memory,
    /// Operations with the sizes below which their indices must be; their places are the numbers of the checks.
    known: Mutex<Vec<(&'static str, usize)>>,
    is_pending: AtomicBool,
}

/// The part of the source of a kernel that checks indices; the number of the check is its parameter 1.
///
/// `checked` returns the index, or 0 if it is out of range.
pub(crate) const CHECKED: &str = "
fn checked(index: vec2<u32>, size: u32) -> u32 {
    if index.y == 0u && index.x < size { return index.x; }
    if atomicMin(&reported[0], $1) > $1 {
        atomicStore(&reported[1], index.x);
        atomicStore(&reported[2], index.y);
    }
    return 0u;
}
";

impl IndexChecks {
    pub(crate) fn new(pool: &Arc<Pool>) -> Option<Self> {
        Some(Self {
            memory: pool.take(BYTES as u64)?,
            known: Mutex::default(),
            is_pending: AtomicBool::new(false),
        })
    }

    /// The number of a check.
    pub(crate) fn number(&self, op: &'static str, size: usize) -> u32 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|&check| check == (op, size));
        let place = place.unwrap_or_else(|| {
            known.push((op, size));
            known.len() - 1
        });
        place as u32
    }

    /// Notes that a launch with a check was recorded.
    pub(crate) fn was_recorded(&self) {
        self.is_pending.store(true, Ordering::Release);
    }

    /// Whether a launch with a check was recorded since the last call.
    pub(crate) fn take_pending(&self) -> bool {
        self.is_pending.swap(false, Ordering::AcqRel)
    }

    /// The error for what the kernels have reported.
    pub(crate) fn error(&self, reported: &[u8]) -> Option<Error> {
        let mut words = reported.as_chunks::<4>().0.iter().copied();
        let mut next = || words.next().map_or(u32::MAX, u32::from_le_bytes);
        let (number, low, high) = (next(), next(), next());
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let &(op, size) = known.get(number as usize)?;
        let index = (u64::from(low) | u64::from(high) << 32) as i64;
        Some(ShapeError::Index { op, index, size }.into())
    }
}
