//! `mirror`: a second device for tests, written against the public interface of `module-tensor`.
//!
//! Its memory is a type of its own, which the kernels of the CPU cannot read. Its kernels have the CPU
//! compute behind it and hide the results again, so that every value is the CPU's bit for bit, and
//! whatever above the backends takes the CPU for granted is an error. Fused families can be left out
//! one by one.

mod backend;
mod family;
mod fused;
mod inputs;
mod storage;

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
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let index = NEXT.fetch_add(1, Ordering::Relaxed);
    Device::register(Box::leak(Box::new(Mirror::new(index, lacks))))
}
