//! `mirror`: a second device for tests, written against the public interface of `module-tensor`.
//!
//! Its memory is a separate type, which CPU kernels cannot read. Its kernels delegate to the CPU and wrap the results
//! again, so that every value equals the CPU's bit for bit, and any code above the backends that assumes the CPU fails with
//! an error. Fused families can be disabled one by one.

mod backend;
mod device;
mod dropout;
mod family;
mod fused;
mod generator;
mod inputs;
mod storage;
mod updates;

use std::sync::atomic::{AtomicUsize, Ordering};

use module_tensor::{Device, Result};

pub use device::Mirror;
pub use family::Family;

/// A new mirror without some of the fused families.
///
/// # Errors
///
/// None: each mirror has a unique index.
pub fn mirror(lacks: &[Family]) -> Result<Device> {
    register(Mirror::new(next_index(), lacks))
}

/// A new mirror that draws its own random numbers.
///
/// # Errors
///
/// Those of [`mirror`].
pub fn mirror_with_generator() -> Result<Device> {
    register(Mirror::new(next_index(), &[]).with_generator())
}

/// A new mirror with masks of dropout of its own, for `F64`.
///
/// # Errors
///
/// Those of [`mirror`].
pub fn mirror_with_dropout() -> Result<Device> {
    register(Mirror::new(next_index(), &[]).with_dropout())
}

/// A new mirror whose storages may hold at most this many bytes each, and which reports errors of its kernels only when it
/// is waited for ([`Mirror::fail_later`]).
///
/// # Errors
///
/// Those of [`mirror`].
pub fn small_mirror(bytes: usize) -> Result<Device> {
    register(Mirror::new(next_index(), &[]).with_room_for(bytes))
}

/// A new mirror that counts the bytes of its tensors ([`Mirror::live_bytes`]); what fused kernels save is not counted.
///
/// # Errors
///
/// Those of [`mirror`].
pub fn counting_mirror() -> Result<Device> {
    register(Mirror::new(next_index(), &[]).counting())
}

fn register(mirror: Mirror) -> Result<Device> {
    Device::register(Box::leak(Box::new(mirror)))
}

fn next_index() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
