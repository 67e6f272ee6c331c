//! Devices.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use super::{Backend, cpu};
use crate::{Error, ErrorKind, Result};

/// Where a tensor's memory lies and its operations run.
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
#[derive(Clone, Copy)]
pub struct Device(&'static Entry);

/// A backend, behind a pointer that is half as wide as one to the backend itself: every tensor holds one.
struct Entry(&'static dyn Backend);

impl Entry {
    fn is(&self, kind: &str, index: usize) -> bool {
        self.0.kind() == kind && self.0.index() == index
    }
}

static CPU: Entry = Entry(&cpu::CPU);

/// The entries of the other backends.
static OTHERS: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

impl Device {
    /// The host's processor.
    pub fn cpu() -> Self {
        Self(&CPU)
    }

    /// Makes a device of a backend, which lives as long as the program: tensors can be made there, and its
    /// name leads to it. The same backend again is the same device.
    ///
    /// # Errors
    ///
    /// Another backend of this kind and index, a kind that is no name.
    pub fn register(backend: &'static dyn Backend) -> Result<Self> {
        let (kind, index) = (backend.kind(), backend.index());
        check_kind(kind)?;
        // A panic leaves no entry half made.
        let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = std::iter::once(&CPU).chain(others.iter().copied());
        let mut known = known.filter(|entry| entry.is(kind, index));
        if let Some(entry) = known.next() {
            let same = std::ptr::addr_eq(entry.0, backend);
            let device = name(kind, index);
            let taken = || ErrorKind::DeviceTaken { device }.into();
            return same.then_some(Self(entry)).ok_or_else(taken);
        }
        let entry: &'static Entry = Box::leak(Box::new(Entry(backend)));
        others.push(entry);
        Ok(Self(entry))
    }

    /// The devices that there are: the CPU, then those that were [registered](Self::register), in their
    /// order.
    pub fn all() -> Vec<Self> {
        let others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let all = std::iter::once(&CPU).chain(others.iter().copied());
        all.map(Self).collect()
    }

    /// The kind of the device: `cpu`, `cuda`.
    pub fn kind(&self) -> &'static str {
        self.0.0.kind()
    }

    /// Which of the devices of its kind it is.
    pub fn index(&self) -> usize {
        self.0.0.index()
    }

    /// Waits until everything that was asked of the device has been done, and reports what has failed: what
    /// PyTorch calls `torch.cuda.synchronize`.
    ///
    /// # Errors
    ///
    /// What has failed since the last time.
    pub fn synchronize(&self) -> Result<()> {
        self.0.0.synchronize()
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

    /// The backend as its own type, for what only that knows.
    pub fn backend_as<B: Backend>(&self) -> Option<&'static B> {
        let backend: &'static dyn Any = self.0.0;
        backend.downcast_ref()
    }

    /// The error for something that this device does not do.
    pub fn unavailable(&self, op: &'static str) -> Error {
        let device = self.to_string();
        ErrorKind::Unavailable { op, device }.into()
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
        f.write_str(&name(self.kind(), self.index()))
    }
}

/// What a device is called: `cpu`, which is one, or `cuda:1`.
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

/// A device by its name, as PyTorch writes it: `cpu`, `cuda:1`; without a number the first.
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
///     "device `cuda:1` is not there; there are: cpu. The crate of a device registers it"
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
        let found = all.iter().find(|device| device.0.is(kind, index));
        found.copied().ok_or_else(|| {
            let known: Vec<String> = all.iter().map(Self::to_string).collect();
            let (device, known) = (name(kind, index), known.join(", "));
            ErrorKind::UnknownDevice { device, known }.into()
        })
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
