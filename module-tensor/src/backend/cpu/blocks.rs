//! Blocks of host memory, which freed tensors leave for new ones.

use std::sync::{Mutex, PoisonError};

use super::{Element, HostData};
use crate::{Result, ShapeError};

/// An empty vector with room for `len` elements.
pub(super) fn reserve<T>(len: usize) -> Result<Vec<T>> {
    let mut block: Vec<T> = Vec::new();
    block.try_reserve_exact(len).map_err(|_| {
        let shape = len.into();
        ShapeError::TooLarge {
            op: "allocation",
            shape,
        }
    })?;
    Ok(block)
}

/// An empty block with room for `len` elements: one that a tensor has given back, if one fits.
///
/// A training step asks for the same blocks again and again. The system's allocator gives megabytes
/// back to the system, whose fresh pages cost more to touch than most kernels take.
#[inline]
pub(super) fn reserve_block<T: Element>(len: usize) -> Result<Vec<T>> {
    match reused_block(len) {
        Some(mut block) => {
            block.clear();
            Ok(block)
        }
        None => reserve(len),
    }
}

/// A block that a tensor has given back, with its elements and room for `len`.
#[inline]
fn reused_block<T: Element>(len: usize) -> Option<Vec<T>> {
    let bytes = len.saturating_mul(size_of::<T>());
    let found = REUSED_SIZES
        .contains(&bytes)
        .then(|| pool().take(T::DTYPE as usize, bytes));
    found.flatten().and_then(T::from_host)
}

/// A block of `len` elements of unspecified value, or one that has room for them.
#[inline]
pub(super) fn allocate<T: Element>(len: usize) -> Vec<T> {
    if let Some(block) = reused_block::<T>(len) {
        return block;
    }
    if len.saturating_mul(size_of::<T>()) < REUSED_SIZES.start {
        // The allocator has small blocks at hand, but not zeros.
        return Vec::with_capacity(len);
    }
    // Zeros come from the allocator without being written.
    vec![T::default(); len]
}

/// Keeps the memory of a freed tensor for new tensors.
pub(super) fn give_back(data: HostData) {
    let bytes = data.capacity_in_bytes();
    if REUSED_SIZES.contains(&bytes) {
        pool().put(data, bytes);
    }
}

/// The sizes in bytes of the blocks that are kept. Smaller ones the system's allocator keeps itself.
pub(super) const REUSED_SIZES: std::ops::Range<usize> = 1 << 13..1 << 30;

/// The maximum number of bytes that are kept.
const MOST: usize = 1 << 29;

/// The number of bytes that are kept even if other sizes are asked for: with more, training steps need more memory, and take
/// as long.
const IDLE: usize = 1 << 22;

/// Returns the kept blocks to the system.
pub(super) fn empty() {
    let blocks = std::mem::take(&mut *pool());
    drop(blocks);
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    blocks: Vec::new(),
    bytes: 0,
    missing: 0,
});

fn pool() -> std::sync::MutexGuard<'static, Pool> {
    // What a panic may have left is whole: each change is one call.
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Pool {
    /// In ascending order of dtype and size in bytes. A program asks for few sizes.
    blocks: Vec<(Size, Vec<HostData>)>,
    bytes: usize,
    /// The bytes for which blocks are still to be returned to the system; below 0 if too many were returned.
    missing: isize,
}

/// The dtype and the number of bytes.
type Size = (usize, usize);

impl Pool {
    /// The index of the blocks of this size, or the index where they would be inserted.
    fn search(&self, size: Size) -> std::result::Result<usize, usize> {
        self.blocks.binary_search_by_key(&size, |(size, _)| *size)
    }

    /// The smallest block with room for `bytes`, unless more than a third of it would lie idle.
    fn take(&mut self, dtype: usize, bytes: usize) -> Option<HostData> {
        let (Ok(at) | Err(at)) = self.search((dtype, bytes));
        let last = (dtype, bytes.saturating_add(bytes / 2));
        if self.blocks.get(at).is_some_and(|(size, _)| *size <= last) {
            return self.remove(at);
        }
        self.make_room(bytes);
        None
    }

    /// Removes one of the blocks at this index.
    fn remove(&mut self, at: usize) -> Option<HostData> {
        let (size, blocks) = self.blocks.get_mut(at)?;
        self.bytes -= size.1;
        let block = blocks.pop();
        if blocks.is_empty() {
            self.blocks.remove(at);
        }
        block
    }

    /// Returns blocks to the system in exchange for `bytes` that no block has room for. Otherwise a program would come to
    /// hold the most that it ever uses of each size, which may be twice what it uses at any one time.
    fn make_room(&mut self, bytes: usize) {
        self.missing += bytes as isize;
        while self.missing > 0 && self.bytes > IDLE {
            let size = |&at: &usize| self.blocks[at].0.1 as isize;
            let all = 0..self.blocks.len();
            let largest = all.clone().filter(|at| size(at) <= self.missing);
            let largest = largest.max_by_key(size);
            let Some(at) = largest.or_else(|| all.min_by_key(size)) else {
                break;
            };
            self.missing -= size(&at);
            self.remove(at);
        }
        self.missing = self.missing.min(0);
    }

    /// Keeps a block, unless there are enough.
    fn put(&mut self, block: HostData, bytes: usize) {
        if self.bytes + bytes > MOST {
            return;
        }
        self.bytes += bytes;
        let size = (block.dtype() as usize, bytes);
        match self.search(size) {
            Ok(at) => self.blocks[at].1.push(block),
            Err(at) => self.blocks.insert(at, (size, vec![block])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IDLE, MOST, Pool};
    use crate::DType;
    use crate::backend::HostData;

    #[test]
    fn the_smallest_block_that_fits_is_given_once() {
        let mut pool = Pool::default();
        for len in [1300, 1000, 1100] {
            pool.put(HostData::F32(Vec::with_capacity(len)), 4 * len);
        }
        assert_eq!(pool.bytes, 4 * 3400);
        assert!(pool.take(DType::F64 as usize, 4000).is_none());
        let got = |pool: &mut Pool| match pool.take(DType::F32 as usize, 4 * 1050) {
            Some(HostData::F32(block)) => block.capacity(),
            _ => 0,
        };
        assert_eq!(
            [got(&mut pool), got(&mut pool), got(&mut pool)],
            [1100, 1300, 0]
        );
        assert_eq!(pool.bytes, 4 * 1000);
        assert!(pool.take(DType::F32 as usize, 4 * 666).is_none());
        assert!(pool.take(DType::F32 as usize, 4 * 900).is_some());
        assert!(pool.blocks.is_empty());
    }

    #[test]
    fn blocks_of_other_sizes_make_room() {
        let block = || HostData::U8(Vec::new());
        let mut pool = Pool::default();
        pool.put(block(), IDLE);
        assert!(pool.take(DType::U8 as usize, IDLE / 4).is_none());
        assert_eq!(pool.bytes, IDLE);
        for bytes in [8 * IDLE, 4 * IDLE] {
            pool.put(block(), bytes);
        }
        // The largest that is no larger, then the smallest, whose surplus is the next one's.
        assert!(pool.take(DType::F32 as usize, 4 * IDLE).is_none());
        assert_eq!(pool.bytes, 9 * IDLE);
        assert!(pool.take(DType::F32 as usize, 2 * IDLE).is_none());
        assert_eq!(pool.bytes, 0);
        pool.put(block(), 3 * IDLE);
        assert!(pool.take(DType::F32 as usize, 7 * IDLE).is_none());
        assert_eq!(pool.bytes, 3 * IDLE);
        assert!(pool.take(DType::F32 as usize, IDLE).is_none());
        assert_eq!(pool.bytes, 0);
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let mut pool = Pool::default();
        pool.put(HostData::U8(Vec::new()), MOST);
        pool.put(HostData::U8(Vec::new()), 1);
        assert_eq!(pool.bytes, MOST);
    }
}
