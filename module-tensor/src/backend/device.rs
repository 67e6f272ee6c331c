//! Devices.

use std::cell::Cell;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::{Backend, cpu, lacking};

/// Where a tensor's memory lies and its operations run.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Device, Tensor};
///
/// let x = Tensor::zeros([2, 3], DType::F32)?;
/// assert_eq!(x.device().to_string(), "cpu");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Device(&'static Entry);

/// A backend, behind a pointer that is half as wide as one to the backend itself: every tensor holds one.
struct Entry(&'static dyn Backend);

static CPU: Entry = Entry(&cpu::CPU);

/// The entries of the other backends.
static OTHERS: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

impl Device {
    /// The host's processor.
    pub fn cpu() -> Self {
        Self(&CPU)
    }

    /// The device of a backend, which lives as long as the program.
    ///
    /// Devices are told apart by the address of their backend, so its type must not be of size
    /// zero.
    pub fn new(backend: &'static dyn Backend) -> Self {
        // A panic leaves no entry half made.
        let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = std::iter::once(&CPU).chain(others.iter().copied());
        let mut known = known.filter(|entry| std::ptr::addr_eq(entry.0, backend));
        if let Some(entry) = known.next() {
            return Self(entry);
        }
        let entry: &'static Entry = Box::leak(Box::new(Entry(backend)));
        others.push(entry);
        Self(entry)
    }

    /// Gives the memory that the device keeps for tensors to come back to the system.
    ///
    /// Blocks of tensors that are gone, from 64 kB on and up to half a GiB in all on the CPU, are kept,
    /// because a training step asks for the same ones again and again.
    pub fn empty_cache(&self) {
        self.0.0.empty_cache();
    }

    /// The kernels of the device.
    pub fn backend(&self) -> &'static dyn Backend {
        self.0.0
    }

    /// The error for a family that this device lacks.
    pub fn unavailable(&self, op: &'static str) -> crate::Error {
        lacking(op, self.0.0.name())
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
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.0.name())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

thread_local! {
    static DEFAULT: Cell<Device> = const { Cell::new(Device(&CPU)) };
}

/// The device of new tensors on this thread where their options name none: the CPU unless
/// [`with_default_device`] says otherwise.
pub fn default_device() -> Device {
    DEFAULT.with(Cell::get)
}

/// Runs `f` with another device for new tensors and parameters on this thread, as under PyTorch's
/// `with torch.device(…)`.
///
/// It is the device of what is made by a rule or drawn ([`Tensor::zeros`](crate::Tensor::zeros),
/// [`randn`](crate::Tensor::randn), …). Values that the program has ([`from_vec`](crate::Tensor::from_vec),
/// `Tensor::from`) lie in host memory and stay there until they are moved.
///
/// # Example
///
/// ```
/// use module_tensor::{Device, Tensor, with_default_device};
///
/// let x = with_default_device(Device::cpu(), || Tensor::zeros([2, 3], ()))?;
/// assert_eq!(x.device(), Device::cpu());
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn with_default_device<R>(device: Device, f: impl FnOnce() -> R) -> R {
    struct Restore(Device);

    impl Drop for Restore {
        fn drop(&mut self) {
            DEFAULT.set(self.0);
        }
    }

    let _restore = Restore(DEFAULT.replace(device));
    f()
}
