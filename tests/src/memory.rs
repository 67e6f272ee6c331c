//! How much memory a call had allocated at its height, counted by an allocator for each thread.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static HEIGHT: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, which counts. A program that uses [`height_of`] has it as its `#[global_allocator]`.
#[derive(Debug)]
pub struct Counting;

fn count(change: isize) {
    // While a thread ends, its counters are gone.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + change);
        let _ = HEIGHT.try_with(|height| height.set(height.get().max(now.get())));
    });
}

/// A size; layouts hold none that does not fit.
fn size(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

// SAFETY: everything is passed to the allocator of the system; counting allocates nothing, since
// the counters have constant initial values and are never dropped.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        // SAFETY: as the caller promises it to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        // SAFETY: as the caller promises it to us.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both blocks may be there for a moment.
        count(size(new_size));
        count(-size(layout.size()));
        // SAFETY: as the caller promises it to us.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-size(layout.size()));
        // SAFETY: as the caller promises it to us.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What `f` gives, and how many bytes more than before it were allocated at its height by this thread.
///
/// # Panics
///
/// If [`Counting`] is not the program's allocator, so that nothing is counted.
pub fn height_of<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = NOW.get();
    HEIGHT.set(before);
    drop(std::hint::black_box(Box::new(0_u64)));
    assert!(
        HEIGHT.get() > before,
        "the program's allocator counts nothing"
    );
    HEIGHT.set(before);
    let result = f();
    let height = usize::try_from(HEIGHT.get() - before).unwrap_or_default();
    (result, height)
}

/// How many bytes this thread has allocated and not given back, those that it gave back for others taken off.
pub fn held() -> isize {
    NOW.get()
}
