//! The memory that the rows of `benches/memory` need: the peak of live bytes above those from before the work, or with
//! `--resident` the peak of the process's own memory in the first runs above that before.

// A counting allocator implements an `unsafe` trait.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use module_benches::rows::{Work, serve, when_cleared};
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

/// How often the work is run whose peak of memory the system counts.
const RUNS: usize = 5;

/// The peak of the process's own memory in the first runs of a row, above that before, if the system counts it.
fn peak_of_process(work: &mut Work) -> Result<Option<usize>> {
    Device::cpu().empty_cache();
    let before = memory_of_process("RssAnon");
    let is_reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    for _ in 0..RUNS {
        work()?;
    }
    let peak = memory_of_process("VmHWM").zip(memory_of_process("RssFile"));
    let peak = before.zip(peak).filter(|_| is_reset);
    Ok(peak.map(|(before, (peak, of_files))| peak.saturating_sub(of_files + before)))
}

/// Bytes that the system counts for this process.
fn memory_of_process(key: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    let kibibytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn main() -> Result<()> {
    if std::env::args().any(|argument| argument == "--resident") {
        return serve(|rows, name, _| {
            let work = rows.take_new(name)?;
            let peak = work.map(|mut work| peak_of_process(&mut work));
            Ok(peak.transpose()?.flatten().map(|bytes| bytes.to_string()))
        });
    }
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
