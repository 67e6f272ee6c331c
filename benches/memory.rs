//! The memory that the rows of `benches/memory` need: the peak of live bytes above those from before the work.

// A counting allocator implements an `unsafe` trait.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use module_benches::rows::{serve, when_cleared};
use module_nn::prelude::*;

/// The system's allocator, which counts the bytes that are allocated and not freed.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The live bytes before the work.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

fn count(bytes: usize) {
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Starts to measure, without the blocks that the backend keeps: all that it keeps from now on counts.
fn begin() {
    Device::cpu().empty_cache();
    let live = LIVE.load(Relaxed);
    BEFORE.store(live, Relaxed);
    PEAK.store(live, Relaxed);
}

fn main() -> Result<()> {
    when_cleared(begin);
    serve(|rows, name, _| {
        let Some(mut work) = rows.take(name)? else {
            return Ok(None);
        };
        begin();
        work()?;
        let bytes = PEAK.load(Relaxed) - BEFORE.load(Relaxed);
        Ok(Some(bytes.to_string()))
    })
}
