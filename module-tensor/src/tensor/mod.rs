//! Tensors and the graph that remembers how they were computed.

mod absent;
mod array;
mod autocast;
mod bernoulli;
mod blocks;
mod check_gradient;
mod create;
mod display;
mod draw;
mod edge;
mod function;
mod grad_hook;
mod grad_mode;
mod graph;
mod hook_list;
mod leaf;
mod node;
mod options;
mod packed;
mod post_accumulate;
mod read;
mod recompute;
mod record;
mod releasable;
mod sequence;
mod trunc_normal;
mod values;

pub(crate) use autocast::outside_autocast;
pub use autocast::{AutocastState, autocast, is_autocast_enabled, no_autocast};
pub use check_gradient::check_gradient;
pub(crate) use edge::Edge;
pub(crate) use function::{Asked, Reached, one, two};
pub use function::{Backward, Function, Gradients, NoGradient};
pub use grad_hook::GradHookHandle;
pub(crate) use grad_mode::with_grad_mode;
pub use grad_mode::{EnableGradGuard, NoGradGuard, enable_grad, is_grad_enabled, no_grad};
pub use graph::{GraphInput, GraphNode};
pub use leaf::Leaf;
pub(crate) use node::{Input, Node, NodeKind, Op, lock};
pub use options::TensorOptions;
pub use post_accumulate::PostAccumulateHookHandle;
pub(crate) use post_accumulate::post_accumulate_hooks_exist;
pub use recompute::recompute_in_backward;
pub(crate) use recompute::{in_pass, recomputed_function};
pub use releasable::ReleasableMemory;

use crate::backend::{Operand, Storage};
use crate::layout::Layout;
use crate::{DType, DTypeError, Device, DeviceError, Result, Shape, ShapeError};

/// An immutable multi-dimensional array, on one device, of one dtype, optionally with the history of how it was computed.
///
/// A tensor is a handle: cloning it and viewing it differently copies no elements. Its elements never change, so a holder
/// of a tensor is unaffected by others that share its memory. Shapes, dtypes and devices are checked at run time; a wrong
/// one is an [`Error`](crate::Error).
///
/// Operators call the methods, on references or values, and return a `Result`: `(&a + &b)?`, `(a * 2.0)?`, `(1.0 - &a)?`.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).with_grad()?;
/// let y = x.mul(&x)?.sum(..)?;
/// y.backward()?;
/// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [2.0, 4.0, 6.0, 8.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    pub(crate) storage: Storage,
    pub(crate) layout: Layout,
    /// The destination of the gradient; `None` for a tensor that needs none.
    pub(crate) edge: Option<Edge>,
}

/// A larger tensor would be moved by a call of `memcpy`, which takes longer than the rest of the move.
const _: () = assert!(size_of::<Tensor>() <= 128 || size_of::<usize>() != 8);

impl Tensor {
    /// A new, untracked tensor over contiguous memory.
    pub(crate) fn fresh(storage: Storage, shape: Shape) -> Self {
        Self {
            storage,
            layout: Layout::contiguous(shape),
            edge: None,
        }
    }

    /// Elements that a backend holds, untracked: use it to turn the results of your own kernels into tensors.
    ///
    /// Kernels refuse a layout that exceeds the storage.
    pub fn from_storage(storage: Storage, layout: Layout) -> Self {
        Self {
            storage,
            layout,
            edge: None,
        }
    }

    /// The memory that holds the elements, possibly among others: see [`layout`](Self::layout).
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The same memory seen through another layout, untracked.
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        Self {
            storage: self.storage.clone(),
            layout,
            edge: None,
        }
    }

    /// The operand of a kernel: the memory and the layout of the elements.
    pub fn operand(&self) -> Operand {
        self.operand_with(self.layout.clone())
    }

    /// The operand of a kernel that sees the memory through another layout.
    pub(crate) fn operand_with(&self, layout: Layout) -> Operand {
        let storage = self.storage.resolved();
        Operand { storage, layout }
    }

    /// The operand of a kernel, broadcast to `shape`.
    pub(crate) fn operand_as(&self, op: &'static str, shape: &Shape) -> Result<Operand> {
        self.storage.check_plain(op)?;
        let layout = match self.shape() == shape {
            true => self.layout.clone(),
            false => self.layout.broadcast_to(op, shape)?,
        };
        Ok(self.operand_with(layout))
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// The size of dimension `dim`, counted from the end if negative.
    ///
    /// # Errors
    ///
    /// A dimension that the tensor does not have.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
    /// assert_eq!((x.size(0)?, x.size(-1)?), (2, 3));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn size(&self, dim: isize) -> Result<usize> {
        let index = self.shape().dim("size", dim)?;
        let out_of_range = || ShapeError::Dimension {
            op: "size",
            dim,
            shape: self.shape().clone(),
        };
        Ok(*self.shape().get(index).ok_or_else(out_of_range)?)
    }

    /// The sizes of all dimensions, as an array.
    ///
    /// # Errors
    ///
    /// A tensor with a different number of dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
    /// let [rows, columns] = x.dims()?;
    /// assert_eq!((rows, columns), (2, 3));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn dims<const N: usize>(&self) -> Result<[usize; N]> {
        let sizes: &[usize] = self.shape();
        sizes
            .try_into()
            .map_err(|_| self.shape().error("dims", format!("{N} dimension(s)")))
    }

    /// The number of dimensions.
    #[doc(alias = "dim")]
    #[doc(alias = "ndim")]
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.shape().numel()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.storage.dtype()
    }

    /// The device of the elements.
    pub fn device(&self) -> Device {
        self.storage.device()
    }

    /// The layout of the elements in memory.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the elements are contiguous in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Whether two tensors share their memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// let columns = x.t()?;
    /// assert!(columns.shares_memory_with(&x));
    /// assert!(!columns.contiguous()?.shares_memory_with(&x));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        self.storage.is_same(&other.storage)
    }

    /// Whether a gradient flows to or through this tensor: PyTorch's `requires_grad`.
    pub fn requires_grad(&self) -> bool {
        self.edge.is_some()
    }

    /// Whether this tensor accumulates gradients rather than passing them on.
    pub fn is_leaf(&self) -> bool {
        self.edge.as_ref().is_none_or(Edge::is_leaf)
    }

    /// The same elements as a new leaf, which accumulates its gradient: PyTorch's `x.detach().requires_grad_()`.
    ///
    /// The tensor itself is unchanged, so the result must be used.
    ///
    /// # Errors
    ///
    /// A dtype that carries no gradient ([`DType::is_differentiable`]), packed elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0]);
    /// let leaf = x.with_grad()?;
    /// assert!(leaf.requires_grad() && leaf.is_leaf() && !x.requires_grad());
    /// assert_eq!(
    ///     Tensor::from([1_i64, 2]).with_grad().unwrap_err().to_string(),
    ///     "with_grad: not available for int64; it needs a floating-point tensor; cast it with \
    ///      `to_dtype`"
    /// );
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[must_use = "the tensor itself stays as it is"]
    pub fn with_grad(&self) -> Result<Self> {
        self.as_leaf("with_grad")
    }

    /// [`with_grad`](Self::with_grad), reported as an error of `op`.
    fn as_leaf(&self, op: &'static str) -> Result<Self> {
        self.storage.check_plain(op)?;
        if !self.dtype().is_differentiable() {
            let needs = "a floating-point tensor; cast it with `to_dtype`";
            return Err(self.dtype().error(op, needs));
        }
        Ok(Self {
            edge: Some(Edge::leaf()),
            ..self.clone()
        })
    }

    /// The same elements without the history of how they were computed.
    #[must_use = "the tensor itself stays as it is"]
    pub fn detach(&self) -> Self {
        Self {
            edge: None,
            ..self.clone()
        }
    }

    /// The gradient that `backward` accumulated at this leaf, or at a tensor with [`retain_grad`](Self::retain_grad).
    pub fn grad(&self) -> Option<Self> {
        self.edge.as_ref().and_then(Edge::grad)
    }

    /// Drops the accumulated gradient.
    pub fn zero_grad(&self) {
        if let Some(edge) = &self.edge {
            edge.set_grad(None);
        }
    }

    /// Checks that `other` has this tensor's dtype and device, and that neither is packed.
    ///
    /// # Errors
    ///
    /// A different dtype or device, packed elements, reported as an error of `op`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Result, Tensor};
    ///
    /// fn midpoint(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    ///     a.check_same("midpoint", b)?;
    ///     a.add(b)?.mul(0.5)
    /// }
    ///
    /// let x = Tensor::from([1.0_f32]);
    /// assert_eq!(midpoint(&x, &Tensor::from([2.0_f32]))?.to_vec::<f32>()?, [1.5]);
    /// assert!(midpoint(&x, &Tensor::from([2.0_f64])).is_err());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn check_same(&self, op: &'static str, other: &Self) -> Result<()> {
        self.storage.check_plain(op)?;
        other.storage.check_plain(op)?;
        if self.dtype() != other.dtype() {
            let (lhs, rhs) = (self.dtype(), other.dtype());
            return Err(DTypeError::Mismatch { op, lhs, rhs }.into());
        }
        self.check_device(op, other)
    }

    /// Checks that the elements are plain, and of a dtype with arithmetic.
    pub(crate) fn check_computed(&self, op: &'static str) -> Result<()> {
        self.storage.check_plain(op)?;
        match self.dtype().is_storage_only() {
            true => Err(self.dtype().error(op, "another dtype")),
            false => Ok(()),
        }
    }

    /// Checks that `other` is on this tensor's device.
    pub(crate) fn check_device(&self, op: &'static str, other: &Self) -> Result<()> {
        if self.device() == other.device() {
            return Ok(());
        }
        let (lhs, rhs) = (self.device().to_string(), other.device().to_string());
        Err(DeviceError::Mismatch { op, lhs, rhs }.into())
    }
}
