//! Handles to device memory.

use std::any::Any;
use std::sync::Arc;

use super::storage_info::{Kind, StorageInfo};
use super::{Absent, Device, Packed, Releasable, StorageData};
use crate::layout::Layout;
use crate::{DType, DTypeError, DeviceError, Result};

/// A shared handle to the memory behind tensors.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{Storage, StorageData};
/// use module_tensor::{DType, Device};
///
/// /// The memory of a device: here one number.
/// struct Cell(f32);
///
/// impl StorageData for Cell {
///     fn dtype(&self) -> DType {
///         DType::F32
///     }
///
///     fn device(&self) -> Device {
///         Device::cpu()
///     }
/// }
///
/// let mut storage = Storage::new(Cell(1.0));
/// assert_eq!((storage.dtype(), storage.device()), (DType::F32, Device::cpu()));
/// assert!(storage.packed().is_none() && storage.is_unshared());
/// if let Some(cell) = storage.downcast_mut::<Cell>() {
///     cell.0 = 2.0;
/// }
///
/// // A kernel that finds a second handle must not write in place.
/// let other = storage.clone();
/// assert!(other.is_same(&storage) && other.address() == storage.address());
/// assert!(!storage.is_unshared() && storage.downcast_mut::<Cell>().is_none());
/// assert_eq!(storage.downcast_ref::<Cell>().unwrap().0, 2.0);
/// assert_eq!(storage.data::<Cell>("example", Device::cpu())?.0, 2.0);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Storage {
    data: Arc<dyn StorageData>,
    // Every operation needs these, so they are read once.
    info: StorageInfo,
}

impl Storage {
    /// A handle to new memory.
    pub fn new(data: impl StorageData) -> Self {
        let (dtype, device) = (data.dtype(), data.device());
        let kind = match data.packed() {
            Some(_) => Kind::Packed,
            None if (&data as &dyn Any).is::<Releasable>() => Kind::Releasable,
            None => Kind::Plain,
        };
        Self {
            data: Arc::new(data),
            info: StorageInfo::new(dtype, device, kind),
        }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.info.dtype()
    }

    /// The device that the memory belongs to.
    pub fn device(&self) -> Device {
        self.info.device()
    }

    /// The packing of the elements, if they are not stored one by one.
    pub fn packed(&self) -> Option<&dyn Packed> {
        match self.info.kind() {
            Kind::Packed => self.data.packed(),
            Kind::Plain | Kind::Releasable => None,
        }
    }

    /// Checks that the elements are stored one by one.
    ///
    /// # Errors
    ///
    /// Packed ones, reported as an error of `op`.
    #[inline]
    pub(crate) fn check_plain(&self, op: &'static str) -> Result<()> {
        match self.info.kind() {
            Kind::Packed => Err(self.packed_error(op)),
            Kind::Plain | Kind::Releasable => Ok(()),
        }
    }

    /// The storage that kernels are given: the one that has the elements, if this one's can be released.
    #[inline]
    pub(crate) fn resolved(&self) -> Self {
        match self.info.kind() {
            Kind::Releasable => self.elements(),
            Kind::Plain | Kind::Packed => self.clone(),
        }
    }

    /// Becomes the [resolved](Self::resolved) storage.
    #[inline]
    pub(crate) fn resolve(&mut self) {
        if self.info.kind() == Kind::Releasable {
            *self = self.elements();
        }
    }

    #[inline(never)]
    fn elements(&self) -> Self {
        let elements = self.downcast_ref().and_then(Releasable::elements);
        // Released elements are reported by the kernel that asks for them.
        elements.unwrap_or_else(|| self.clone())
    }

    /// Whether the elements exist.
    pub(crate) fn has_elements(&self) -> bool {
        match self.downcast_ref::<Releasable>() {
            Some(releasable) => releasable.elements().is_some(),
            None => self.downcast_ref::<Absent>().is_none(),
        }
    }

    #[cold]
    fn packed_error(&self, op: &'static str) -> crate::Error {
        let scheme = self.packed().map_or("blocks", Packed::scheme);
        DTypeError::Packed { op, scheme }.into()
    }

    /// The memory as its backend's own type.
    pub fn downcast_ref<S: StorageData>(&self) -> Option<&S> {
        let data: &dyn Any = &*self.data;
        data.downcast_ref()
    }

    /// The memory as its backend's own type, for the kernels of `device` that read plain elements.
    ///
    /// # Errors
    ///
    /// Elements that are packed ([`DTypeError::Packed`]), do not exist yet
    /// ([`ErrorKind::NoValues`](crate::ErrorKind::NoValues)) or are released
    /// ([`ErrorKind::Released`](crate::ErrorKind::Released)), memory of another device.
    pub fn data<S: StorageData>(&self, op: &'static str, device: Device) -> Result<&S> {
        self.check_plain(op)?;
        self.downcast_ref().ok_or_else(|| {
            self.absent_error().unwrap_or_else(|| {
                let (lhs, rhs) = (device.to_string(), self.device().to_string());
                DeviceError::Mismatch { op, lhs, rhs }.into()
            })
        })
    }

    /// The error of a kernel that does not find its own memory here, if the elements do not exist now.
    pub(super) fn absent_error(&self) -> Option<crate::Error> {
        let absent = self.downcast_ref().map(Absent::error);
        absent.or_else(|| self.downcast_ref().map(Releasable::error))
    }

    /// The memory as its backend's own type, for writing, if no other handle shares it.
    pub fn downcast_mut<S: StorageData>(&mut self) -> Option<&mut S> {
        let data: &mut dyn Any = Arc::get_mut(&mut self.data)?;
        data.downcast_mut()
    }

    /// Whether two handles share their memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.data, &other.data)
    }

    /// Whether no other handle shares the memory; a handle that another thread is dropping may still be counted.
    pub fn is_unshared(&self) -> bool {
        self.info.kind() != Kind::Releasable && Arc::strong_count(&self.data) == 1
    }

    /// A number that handles to the same memory share, valid while one of them is held.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.data).cast::<()>().addr()
    }
}

/// An operand of a kernel: memory and the layout of the elements in it.
///
/// It is passed by value, so that a kernel can write its result in place if nothing else shares the memory.
///
/// # Example
///
/// ```
/// use module_tensor::backend::ReduceOp;
/// use module_tensor::{Device, Layout, Tensor};
///
/// // The kernels that read and write by index.
/// let backend = Device::cpu().backend();
/// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// let read = |storage, count: usize| {
///     Tensor::from_storage(storage, Layout::contiguous(count.into())).to_vec::<f64>()
/// };
/// let (index, rows) = (Tensor::from([[1_i64, 0]]), Tensor::from([1_i64, 1]));
/// assert_eq!(read(backend.gather(x.operand(), 0, index.operand())?, 2)?, [3.0, 2.0]);
/// assert_eq!(
///     read(backend.index_select(x.operand(), 0, rows.operand())?, 4)?,
///     [3.0, 4.0, 3.0, 4.0],
/// );
///
/// let source = Tensor::from([[10.0, 20.0]]);
/// let replaced = backend.scatter(x.operand(), 0, index.operand(), source.operand())?;
/// assert_eq!(read(replaced, 4)?, [1.0, 20.0, 10.0, 4.0]);
/// let added = backend.scatter_add(x.operand(), 0, index.operand(), source.operand())?;
/// assert_eq!(read(added, 4)?, [1.0, 22.0, 13.0, 4.0]);
/// let source = Tensor::from([[0.0, 20.0]]);
/// let op = ReduceOp::Max;
/// let greatest = backend.scatter_reduce(op, x.operand(), 0, index.operand(), source.operand())?;
/// assert_eq!(read(greatest, 4)?, [1.0, 20.0, 3.0, 4.0]);
/// let added = backend.index_add(x.operand(), 0, rows.operand(), x.operand())?;
/// assert_eq!(read(added, 4)?, [1.0, 2.0, 7.0, 10.0]);
///
/// let counts = backend.bincount(Tensor::from([2_i64, 0, 2]).operand(), 3)?;
/// let counts = Tensor::from_storage(counts, Layout::contiguous([3].into()));
/// assert_eq!(counts.to_vec::<i64>()?, [1, 0, 2]);
///
/// // A transpose is another layout of the same memory.
/// let both = backend.cat(vec![x.operand(), x.t()?.operand()], 1)?;
/// assert_eq!(read(both, 8)?, [1.0, 2.0, 1.0, 3.0, 3.0, 4.0, 2.0, 4.0]);
/// let (indices, count) = backend.nonzero(x.gt(2.5)?.operand())?;
/// let indices = Tensor::from_storage(indices, Layout::contiguous([count, 2].into()));
/// assert_eq!(indices.to_vec::<i64>()?, [1, 0, 1, 1]);
///
/// // Writing through a layout: the diagonal of new zeros.
/// let zeros = Tensor::from([0.0; 4]).reshape([2, 2])?;
/// let (diagonal, values) = (zeros.diagonal(0, 0, 1)?, Tensor::from([5.0, 6.0]));
/// let written = backend.as_strided_scatter(values.operand(), diagonal.layout(), 4, 0.0.into())?;
/// assert_eq!(read(written, 4)?, [5.0, 0.0, 0.0, 6.0]);
/// // The elements on and above the diagonal.
/// let kept = backend.keep_band(x.operand(), 0..=1)?;
/// assert_eq!(read(kept, 4)?, [1.0, 2.0, 0.0, 4.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Operand {
    /// The memory.
    pub storage: Storage,
    /// The layout of the elements in it.
    pub layout: Layout,
}
