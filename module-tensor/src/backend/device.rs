//! Devices.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{Backend, cpu};
use crate::{DeviceError, Error, Result};

/// A device: the memory of a tensor and the processor of its operations.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Tensor};
///
/// let x = Tensor::zeros([2, 3], DType::F32)?;
/// assert_eq!(x.device().to_string(), "cpu");
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::Device;
///
/// let device = Device::default();
/// assert_eq!((device.kind(), device.index()), ("cpu", 0));
/// assert_eq!(Device::all().first(), Some(&device));
/// device.synchronize()?; // Errors of everything before are reported here at the latest.
/// device.empty_cache();
/// let error = device.unavailable("fft");
/// assert_eq!(error.to_string(), "fft: not available on cpu");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Device(BackendIndex);

/// The backend: 0 for the CPU, otherwise one more than the index in [`OTHERS`]. Every tensor holds a device, so it is
/// small.
type BackendIndex = u16;

/// The maximum number of other devices.
const MOST: usize = 1024;

/// The other backends, in the order in which they were registered.
static OTHERS: [OnceLock<&'static dyn Backend>; MOST] = [const { OnceLock::new() }; MOST];

/// Held while a backend is registered.
static REGISTERING: Mutex<()> = Mutex::new(());

impl Device {
    /// The host's processor.
    pub fn cpu() -> Self {
        Self(0)
    }

    /// Makes a device of a backend, which lives as long as the program. Tensors can then be made there, and the device is
    /// found by its name. Registering the same backend again returns the same device.
    ///
    /// # Errors
    ///
    /// Another backend with this kind and index, an invalid kind.
    pub fn register(backend: &'static dyn Backend) -> Result<Self> {
        let (kind, index) = (backend.kind(), backend.index());
        check_kind(kind)?;
        let _alone = REGISTERING.lock().unwrap_or_else(PoisonError::into_inner);
        let all = Self::all();
        if let Some(known) = all.iter().find(|device| device.is(kind, index)) {
            let same = std::ptr::addr_eq(known.backend(), backend);
            let device = name(kind, index);
            let taken = || DeviceError::Taken { device }.into();
            return same.then_some(*known).ok_or_else(taken);
        }
        let free = OTHERS.get(all.len() - 1);
        if free.is_none_or(|slot| slot.set(backend).is_err()) {
            let problem = format!("at most {MOST} devices can be registered");
            let device = name(kind, index);
            return Err(Error::argument("register", "device", device, problem));
        }
        Ok(Self(all.len() as BackendIndex))
    }

    /// All devices: the CPU, then those that were [registered](Self::register), in order.
    pub fn all() -> Vec<Self> {
        let others = OTHERS.iter().take_while(|slot| slot.get().is_some());
        (0..).map(Self).take(others.count() + 1).collect()
    }

    /// The index of the backend.
    pub(super) fn backend_index(self) -> BackendIndex {
        self.0
    }

    /// The device of a [backend index](Self::backend_index).
    pub(super) fn of_backend(index: BackendIndex) -> Self {
        Self(index)
    }

    fn is(&self, kind: &str, index: usize) -> bool {
        self.kind() == kind && self.index() == index
    }

    /// The kind of the device: `cpu`, `cuda`.
    pub fn kind(&self) -> &'static str {
        self.backend().kind()
    }

    /// The index among the devices of its kind.
    pub fn index(&self) -> usize {
        self.backend().index()
    }

    /// Waits until the device has done everything requested, and reports errors: like PyTorch's `torch.cuda.synchronize`.
    ///
    /// # Errors
    ///
    /// An error of an earlier operation, since the last call.
    pub fn synchronize(&self) -> Result<()> {
        self.backend().synchronize()
    }

    /// Returns the memory that the device caches for new tensors to the system.
    ///
    /// The CPU keeps freed blocks of 8 KiB to 1 GiB, up to 512 MiB in total, because a training step requests the same
    /// sizes again and again.
    pub fn empty_cache(&self) {
        self.backend().empty_cache();
    }

    /// The kernels of the device.
    #[inline]
    pub fn backend(&self) -> &'static dyn Backend {
        let other = |index: BackendIndex| OTHERS.get(usize::from(index))?.get().copied();
        // Only `register` makes a device of another backend, and it sets the entry before.
        self.0.checked_sub(1).and_then(other).unwrap_or(&cpu::CPU)
    }

    /// The backend as its own type, for backend-specific methods.
    pub fn backend_as<B: Backend>(&self) -> Option<&'static B> {
        let backend: &'static dyn Any = self.backend();
        backend.downcast_ref()
    }

    /// The error for something that this device does not support.
    pub fn unavailable(&self, op: &'static str) -> Error {
        let device = self.to_string();
        DeviceError::Unavailable { op, device }.into()
    }
}

/// The host's processor.
impl Default for Device {
    fn default() -> Self {
        Self::cpu()
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(self.kind(), self.index()))
    }
}

/// Prints the name of the device: `cpu`, of which there is only one, or `cuda:1`.
fn name(kind: &str, index: usize) -> String {
    match (kind, index) {
        ("cpu", 0) => kind.to_owned(),
        _ => format!("{kind}:{index}"),
    }
}

fn check_kind(kind: &str) -> Result<()> {
    let mut letters = kind.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_lowercase());
    let is_rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if first && letters.all(is_rest) {
        return Ok(());
    }
    let problem = "a device is a kind of lower-case letters, and perhaps a colon and its number: `cpu`, `cuda:1`";
    Err(Error::argument("device", "kind", kind, problem))
}

/// A device by its name, as PyTorch writes it: `cpu`, `cuda:1`; without an index, the first of its kind.
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// let device: Device = "cpu".parse()?;
/// assert_eq!(device, Device::cpu());
/// assert_eq!(
///     "cuda:1".parse::<Device>().unwrap_err().to_string(),
///     "unknown device `cuda:1`; available: cpu. To add a device, link and initialize the crate that \
///      registers it"
/// );
/// # Ok::<(), module_tensor::Error>(())
/// ```
impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (kind, index) = match text.split_once(':') {
            Some((kind, index)) => {
                let digits = index.bytes().all(|c| c.is_ascii_digit());
                let number = index.parse::<usize>().ok().filter(|_| digits);
                let problem = "must be a kind and a number, as in `cuda:1`";
                let wrong = || Error::argument("device", "name", text, problem);
                (kind, number.ok_or_else(wrong)?)
            }
            None => (text, 0),
        };
        check_kind(kind)?;
        let all = Self::all();
        let found = all.iter().find(|device| device.is(kind, index));
        found.copied().ok_or_else(|| {
            let known: Vec<String> = all.iter().map(Self::to_string).collect();
            let (device, known) = (name(kind, index), known.join(", "));
            DeviceError::Unknown { device, known }.into()
        })
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}

thread_local! {
    static DEFAULT: Cell<Device> = const { Cell::new(Device(0)) };
}

/// The device of new tensors on this thread if their options name none: the CPU unless [`with_default_device`] changes it.
///
/// # Example
///
/// ```
/// use module_tensor::{Device, default_device};
///
/// assert_eq!(default_device(), Device::cpu());
/// ```
#[doc(alias = "get_default_device")]
pub fn default_device() -> Device {
    DEFAULT.with(Cell::get)
}

/// Runs `f` with another default device for new tensors and parameters on this thread, like PyTorch's
/// `with torch.device(…)`.
///
/// It is the device of tensors that are computed by a rule or drawn ([`Tensor::zeros`](crate::Tensor::zeros),
/// [`randn`](crate::Tensor::randn), …). Values supplied by the program ([`from_vec`](crate::Tensor::from_vec),
/// `Tensor::from`) are in host memory and stay there until they are moved.
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
#[doc(alias = "set_default_device")]
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
