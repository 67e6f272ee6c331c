//! What every operation asks of a storage, in one word.

use super::Device;
use crate::DType;

/// The dtype, the device and the kind of a storage.
///
/// Parts of a word would be copied one by one, and what then reads the word as a whole would wait until all are written.
#[derive(Clone, Copy)]
pub(super) struct StorageInfo(u64);

/// How the elements of a storage are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One by one, if they exist.
    Plain,
    /// By unpacking.
    Packed,
    /// In another storage, unless they are released.
    Releasable,
}

impl StorageInfo {
    pub(super) fn new(dtype: DType, device: Device, kind: Kind) -> Self {
        Self(u64::from(device.backend_index()) << 16 | (kind as u64) << 8 | dtype as u64)
    }

    #[inline]
    pub(super) fn dtype(self) -> DType {
        DType::ALL[usize::from(self.0 as u8)]
    }

    #[inline]
    pub(super) fn kind(self) -> Kind {
        match (self.0 >> 8) as u8 {
            0 => Kind::Plain,
            1 => Kind::Packed,
            _ => Kind::Releasable,
        }
    }

    #[inline]
    pub(super) fn device(self) -> Device {
        Device::of_backend((self.0 >> 16) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, StorageInfo};
    use crate::{DType, Device};

    #[test]
    fn a_word_holds_every_dtype_kind_and_device() {
        for dtype in DType::ALL {
            for device in [Device::cpu(), Device::of_backend(1024)] {
                for kind in [Kind::Plain, Kind::Packed, Kind::Releasable] {
                    let info = StorageInfo::new(dtype, device, kind);
                    assert!(info.dtype() == dtype && info.kind() == kind);
                    assert!(info.device() == device);
                }
            }
        }
    }
}
