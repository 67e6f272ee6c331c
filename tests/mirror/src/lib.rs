//! `mirror`: a second device for tests, written against the public interface of `module-tensor`.
//!
//! Its memory is a type of its own, which the kernels of the CPU cannot read. Its kernels have the CPU
//! compute behind it and hide the results again, so that every value is the CPU's bit for bit, and
//! whatever above the backends takes the CPU for granted is an error. Fused families can be left out
//! one by one.

mod backend;
mod family;
mod fused;
mod generator;
mod inputs;
mod storage;
mod updates;

use std::sync::atomic::{AtomicUsize, Ordering};

use module_tensor::{Device, Result};

pub use backend::Mirror;
pub use family::Family;

/// A new mirror, which lacks some fused families.
///
/// # Errors
///
/// None: each mirror has an index of its own.
pub fn mirror(lacks: &[Family]) -> Result<Device> {
    register(Mirror::new(next_index(), lacks))
}

/// A new mirror that draws its own random numbers.
///
/// # Errors
///
/// As [`mirror`].
pub fn mirror_with_generator() -> Result<Device> {
    register(Mirror::new(next_index(), &[]).with_generator())
}

/// A new mirror whose storages may hold this many bytes each, and on which what goes wrong behind it is
/// told only when it is waited for ([`Mirror::fail_later`]).
///
/// # Errors
///
/// As [`mirror`].
pub fn small_mirror(bytes: usize) -> Result<Device> {
    register(Mirror::new(next_index(), &[]).with_room_for(bytes))
}

fn register(mirror: Mirror) -> Result<Device> {
    Device::register(Box::leak(Box::new(mirror)))
}

fn next_index() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
