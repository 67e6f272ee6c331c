use std::fmt;

use super::quote::{passage, quote};

/// Why a device is refused, or what it reports.
///
/// # Example
///
/// ```
/// use module_tensor::{Device, DeviceError, ErrorKind};
///
/// let error = "cuda:7".parse::<Device>().unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Device(DeviceError::Unknown { .. })), "{error}");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum DeviceError {
    /// Two devices where one is needed.
    Mismatch {
        /// The operation.
        op: &'static str,
        /// The left device.
        lhs: String,
        /// The right device.
        rhs: String,
    },

    /// An operation that a backend does not support.
    Unavailable {
        /// The operation.
        op: &'static str,
        /// The device.
        device: String,
    },

    /// An unknown device.
    Unknown {
        /// The device asked for.
        device: String,
        /// The names of the known devices.
        known: String,
    },

    /// Two backends for the same device.
    Taken {
        /// The device.
        device: String,
    },

    /// A device that is out of memory.
    OutOfMemory {
        /// The device.
        device: String,
        /// The number of requested bytes.
        bytes: usize,
    },

    /// Any other error of a device, possibly of an earlier operation.
    Failed {
        /// The device.
        device: String,
        /// The error of the device.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { op, lhs, rhs } => write!(
                f,
                "{op}: tensors are on {} and {}; move one with `to_device`",
                quote(lhs),
                quote(rhs)
            ),
            Self::Unavailable { op, device } => {
                write!(f, "{op}: not available on {}", quote(device))
            }
            Self::Unknown { device, known } => write!(
                f,
                "unknown device `{}`; available: {}. To add a device, link and initialize the crate \
                 that registers it",
                quote(device),
                passage(known)
            ),
            Self::Taken { device } => write!(
                f,
                "device `{}` is already registered by another backend; choose another index",
                quote(device)
            ),
            Self::OutOfMemory { device, bytes } => write!(
                f,
                "{}: not enough memory for {bytes} bytes; free tensors or use smaller batches",
                quote(device)
            ),
            Self::Failed { device, source } => write!(f, "{}: {source}", quote(device)),
        }
    }
}

impl std::error::Error for DeviceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}
