//! How much memory a call had allocated at its height, counted by the allocator for each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static HEIGHT: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

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
#[allow(unsafe_code)]
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
        count(size(new_size) - size(layout.size()));
        // SAFETY: as the caller promises it to us.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-size(layout.size()));
        // SAFETY: as the caller promises it to us.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `f` gives, and how many bytes more than before it were allocated at its height.
pub(crate) fn height_of<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = NOW.get();
    HEIGHT.set(before);
    let result = f();
    let height = usize::try_from(HEIGHT.get() - before).unwrap_or_default();
    (result, height)
}
