//! The peak memory that a call allocates, counted by a per-thread allocator.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::thread::LocalKey;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static HEIGHT: Cell<isize> = const { Cell::new(0) };
    static HEIGHT_WITH_MOVES: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator with counters. A program that uses [`height_of`] must have it as its `#[global_allocator]`.
#[derive(Debug)]
pub struct Counting;

/// Counts a change, during which this many additional bytes are held.
fn count(change: isize, moved: isize) {
    // While a thread ends, its counters no longer exist.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + change);
        let _ = HEIGHT.try_with(|height| height.set(height.get().max(now.get())));
        let with_moves = |height: &Cell<isize>| height.set(height.get().max(now.get() + moved));
        let _ = HEIGHT_WITH_MOVES.try_with(with_moves);
    });
}

/// A size; layouts never have one that does not fit.
fn size(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: everything is forwarded to the system's allocator; counting allocates nothing, because the counters have constant
// initial values and are never dropped.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()), 0);
        // SAFETY: as the caller promises it to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()), 0);
        // SAFETY: as the caller promises it to us.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(size(new_size) - size(layout.size()), size(layout.size()));
        // SAFETY: as the caller promises it to us.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-size(layout.size()), 0);
        // SAFETY: as the caller promises it to us.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The result of `f`, and the peak number of additional bytes that this thread allocated during it.
///
/// # Panics
///
/// If [`Counting`] is not the program's allocator.
pub fn height_of<R>(f: impl FnOnce() -> R) -> (R, usize) {
    above(&HEIGHT, f)
}

/// [`height_of`], but a block that grows counts twice while it does, as if it were always moved.
pub fn height_with_moves_of<R>(f: impl FnOnce() -> R) -> (R, usize) {
    above(&HEIGHT_WITH_MOVES, f)
}

fn above<R>(height: &'static LocalKey<Cell<isize>>, f: impl FnOnce() -> R) -> (R, usize) {
    let before = NOW.get();
    height.set(before);
    drop(std::hint::black_box(Box::new(0_u64)));
    let counted = height.get() > before;
    assert!(counted, "the program's allocator counts nothing");
    height.set(before);
    let result = f();
    let taken = usize::try_from(height.get() - before).unwrap_or_default();
    (result, taken)
}

/// The number of bytes that this thread has allocated and not freed, minus those that it freed for other threads.
pub fn held() -> isize {
    NOW.get()
}
