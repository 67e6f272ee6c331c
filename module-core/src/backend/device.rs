//! Devices.

use std::fmt;

use super::{Backend, cpu, lacking};

/// Where a tensor's memory lies and its operations run.
///
/// # Example
///
/// ```
/// use module_core::{DType, Device, Tensor};
///
/// let x = Tensor::zeros([2, 3], DType::F32, &Device::cpu())?;
/// assert_eq!(x.device().to_string(), "cpu");
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Device(&'static dyn Backend);

impl Device {
    /// The host's processor.
    pub fn cpu() -> Self {
        Self(&cpu::CPU)
    }

    /// The device of a backend, which lives as long as the program.
    ///
    /// Devices are told apart by the address of their backend, so its type must not be of size
    /// zero.
    pub fn new(backend: &'static dyn Backend) -> Self {
        Self(backend)
    }

    /// Gives the memory that the device keeps for tensors to come back to the system.
    ///
    /// Blocks of tensors that are gone, from 64 kB on and up to half a GiB in all on the CPU, are kept,
    /// because a training step asks for the same ones again and again.
    pub fn empty_cache(&self) {
        self.0.empty_cache();
    }

    /// The kernels of the device.
    pub fn backend(&self) -> &'static dyn Backend {
        self.0
    }

    /// The error for a family that this device lacks.
    pub fn unavailable(&self, op: &'static str) -> crate::Error {
        lacking(op, self.0.name())
    }
}

/// The host's processor.
impl Default for Device {
    fn default() -> Self {
        Self::cpu()
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.0, other.0)
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
