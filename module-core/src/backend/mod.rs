//! The seam between tensors and devices.
//!
//! A backend owns memory and kernels; it knows nothing of gradients, and nothing above it knows
//! how it computes. An accelerator is another crate that implements [`Backend`].

mod cpu;
mod geometry;
mod host;
mod ops;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

pub use geometry::{Band, BandWeights, ConvGeometry, UnfoldGeometry, Windows};
pub use host::{Element, HostData};
pub use ops::{ArgReduceOp, BinaryOp, CompareOp, ConvOp, ReduceOp, SoftmaxOp, UnaryOp, UnfoldOp};

use crate::layout::Layout;
use crate::{DType, ErrorKind, Result, Scalar};

/// Memory of a device that holds the elements of tensors; made by the device's [`Backend`].
pub trait StorageData: Any + Send + Sync {
    /// The type of the elements.
    fn dtype(&self) -> DType;

    /// The device that the memory belongs to.
    fn device(&self) -> Device;
}

/// A shared handle to the memory behind tensors.
#[derive(Clone)]
pub struct Storage {
    data: Arc<dyn StorageData>,
    // Asked for by every operation, so they are read once.
    dtype: DType,
    device: Device,
}

impl Storage {
    /// A handle to fresh memory.
    pub fn new(data: impl StorageData) -> Self {
        let (dtype, device) = (data.dtype(), data.device());
        let data = Arc::new(data);
        Self {
            data,
            dtype,
            device,
        }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The device that the memory belongs to.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The memory as its backend's own type.
    pub fn downcast_ref<S: StorageData>(&self) -> Option<&S> {
        let data: &dyn Any = &*self.data;
        data.downcast_ref()
    }

    /// The memory as its backend's own type, to be written, if no other handle shares it.
    pub fn downcast_mut<S: StorageData>(&mut self) -> Option<&mut S> {
        let data: &mut dyn Any = Arc::get_mut(&mut self.data)?;
        data.downcast_mut()
    }

    /// Whether two handles share their memory.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.data, &other.data)
    }

    /// What handles that share their memory have in common, for as long as one of them is held.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.data).cast::<()>().addr()
    }
}

/// What a kernel reads: memory and how the elements lie in it.
///
/// It is passed by value, so that a kernel can write its result over memory that nobody else
/// shares.
#[derive(Clone)]
pub struct Operand {
    /// The memory.
    pub storage: Storage,
    /// How the elements lie in it.
    pub layout: Layout,
}

/// The kernels of a device, one method for each family.
///
/// Callers have checked shapes, dtypes, devices and argument ranges; every result is contiguous.
/// A family that a backend lacks returns [`ErrorKind::Unavailable`].
pub trait Backend: Send + Sync + 'static {
    /// What errors and `Display` call the device: `cpu`.
    fn name(&self) -> &str;

    /// Moves host memory to the device.
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
    fn upload(&self, data: HostData) -> Result<Storage>;

    /// Copies elements to host memory, in row-major order.
    ///
    /// # Errors
    ///
    /// A device that fails.
    fn download(&self, x: &Operand) -> Result<HostData>;

    /// `numel` elements of one value.
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
    fn full(&self, numel: usize, dtype: DType, value: Scalar) -> Result<Storage>;

    /// The same elements in row-major order.
    ///
    /// # Errors
    ///
    /// As [`full`](Self::full).
    fn contiguous(&self, x: Operand) -> Result<Storage>;

    /// The same elements as another dtype.
    ///
    /// # Errors
    ///
    /// As [`full`](Self::full).
    fn cast(&self, x: Operand, dtype: DType) -> Result<Storage>;

    /// One element to one element.
    ///
    /// # Errors
    ///
    /// As [`full`](Self::full), and a dtype that the operation does not serve.
    fn unary(&self, op: UnaryOp, x: Operand) -> Result<Storage>;

    /// Two elements to one, for layouts of one shape.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn binary(&self, op: BinaryOp, a: Operand, b: Operand) -> Result<Storage>;

    /// Two elements to a truth value, for layouts of one shape.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn compare(&self, op: CompareOp, a: Operand, b: Operand) -> Result<Storage>;

    /// The element of `a` where `condition` is true, else that of `b`.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn select(&self, condition: Operand, a: Operand, b: Operand) -> Result<Storage>;

    /// Folds the dimensions `dims`.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn reduce(&self, op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage>;

    /// The place of an extreme element along `dim`, as `I64`.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn arg_reduce(&self, op: ArgReduceOp, x: Operand, dim: usize) -> Result<Storage>;

    /// The sums along `dim` up to each element, or from each element on if `reverse`.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn cumsum(&self, x: Operand, dim: usize, reverse: bool) -> Result<Storage>;

    /// `[batch, m, k]` times `[batch, k, n]`.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn matmul(&self, a: Operand, b: Operand) -> Result<Storage>;

    /// Softmax or its logarithm along `dim`.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn softmax(&self, op: SoftmaxOp, x: Operand, dim: usize) -> Result<Storage>;

    /// `out[.., i, ..] = x[.., index[.., i, ..], ..]` along `dim`.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary), and an index that is out of range.
    fn gather(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage>;

    /// A copy of `x` with `x[.., index[.., i, ..], ..] += source[.., i, ..]` along `dim`.
    ///
    /// # Errors
    ///
    /// As [`gather`](Self::gather).
    fn scatter_add(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage>;

    /// The parts one after the other along `dim`.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn cat(&self, parts: Vec<Operand>, dim: usize) -> Result<Storage>;

    /// A convolution or one of its two gradients; `a` and `b` are what [`ConvOp`] says.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn convolution(
        &self,
        op: ConvOp,
        a: Operand,
        b: Operand,
        geometry: &ConvGeometry,
    ) -> Result<Storage>;

    /// The windows of a convolution laid side by side, or added back.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn unfold(&self, op: UnfoldOp, x: Operand, geometry: &UnfoldGeometry) -> Result<Storage>;

    /// The greatest element of each window over the last dimensions, one to three, and its place in
    /// them, flattened, as `I64`; NaN is the greatest.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn max_pool(&self, x: Operand, windows: &[Windows]) -> Result<(Storage, Storage)>;

    /// The last dimensions of `x`, each through its linear map.
    ///
    /// # Errors
    ///
    /// As [`unary`](Self::unary).
    fn resample(&self, x: Operand, bands: &[Band]) -> Result<Storage>;
}

/// Host elements as a CPU storage; they are there already, so nothing can fail.
pub(crate) fn cpu_storage<T: Element>(values: Vec<T>) -> Storage {
    cpu::CpuStorage::wrap(values)
}

/// Checks that host memory has room for `len` elements.
pub(crate) fn host_room<T>(len: usize) -> Result<()> {
    cpu::room::<T>(len)
}

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

    /// The kernels of the device.
    pub fn backend(&self) -> &'static dyn Backend {
        self.0
    }

    /// The error for a family that this device lacks.
    pub fn unavailable(&self, op: &'static str) -> crate::Error {
        ErrorKind::Unavailable {
            op,
            device: self.to_string(),
        }
        .into()
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
