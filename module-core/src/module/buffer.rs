use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::fmt_tensor::fmt_tensor;
use super::journal::{self, Cell};
use super::parameter::check_shape;
use super::{Field, FieldRole, TensorId, Visitor, VisitorMut, overrides};
use crate::{Result, Tensor};

/// A tensor of a module that is not trained: running statistics, counters, tables.
///
/// It stores detached values, so that no graph grows through it from step to step. A persistent buffer is part of the state
/// dict; whether a buffer is persistent is fixed when it is made.
///
/// # Example
///
/// ```
/// use module_core::{Buffer, Tensor};
///
/// let steps = Buffer::new(Tensor::from(0_i64));
/// steps.set(steps.tensor().add(1)?)?;
/// assert_eq!(steps.tensor().item::<i64>()?, 1);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::{Buffer, Module, ModuleExt, Tensor};
///
/// #[derive(Module)]
/// struct Attention {
///     mask: Buffer,
///     table: Buffer,
///     same_table: Buffer,
/// }
///
/// let table = Buffer::new(Tensor::from([0.1_f32])).keep_dtype();
/// let net = Attention {
///     mask: Buffer::non_persistent(Tensor::from([true])),
///     same_table: table.share(),
///     table,
/// };
/// assert!(!net.mask.is_persistent() && net.table.is_persistent() && net.table.keeps_dtype());
/// assert_eq!(net.table.id(), net.same_table.id());
/// assert_eq!(net.state_dict()?.keys().collect::<Vec<_>>(), ["table", "same_table"]);
///
/// // Other values until the guard is dropped.
/// let half = Tensor::from([0.5_f32]);
/// let state = ["table", "same_table"].map(|key| (key, half.clone())).into_iter().collect();
/// let swapped = net.swap_state_dict(&state)?;
/// assert!(net.table.is_swapped() && net.table.tensor().item::<f32>()? == 0.5);
/// drop(swapped);
/// assert!(!net.table.is_swapped() && net.table.tensor().item::<f32>()? == 0.1);
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct Buffer(Arc<Inner>);

struct Inner {
    value: RwLock<Tensor>,
    initial: Tensor,
    persistent: bool,
    keeps_dtype: AtomicBool,
    /// Whether the value is temporarily swapped.
    swapped: AtomicBool,
}

impl Cell for Inner {
    fn get(&self) -> Tensor {
        let value = self.value.read();
        value.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, value: Tensor) {
        *self.value.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl Buffer {
    /// A persistent buffer.
    pub fn new(value: Tensor) -> Self {
        Self::from_parts(value, true)
    }

    /// A buffer that is not part of the state dict.
    pub fn non_persistent(value: Tensor) -> Self {
        Self::from_parts(value, false)
    }

    fn from_parts(value: Tensor, persistent: bool) -> Self {
        let initial = value.detach();
        Self(Arc::new(Inner {
            value: RwLock::new(initial.clone()),
            initial,
            persistent,
            keeps_dtype: AtomicBool::new(false),
            swapped: AtomicBool::new(false),
        }))
    }

    /// The value; a buffer has no gradient. In a [`functional_call`](crate::functional_call) this is the given value, with
    /// its graph, and setting the buffer sets that one.
    pub fn tensor(&self) -> Tensor {
        match overrides::get(self.id()) {
            Some(value) => value,
            None => self.0.get(),
        }
    }

    /// Replaces the value by one of the same shape and dtype.
    ///
    /// # Errors
    ///
    /// A different shape or dtype.
    pub fn set(&self, value: Tensor) -> Result<()> {
        let old = self.tensor();
        check_shape("set", old.shape(), &value)?;
        old.check_same("set", &value)?;
        self.replace(value);
        Ok(())
    }

    /// Replaces the value by a cast or moved copy of it.
    pub(crate) fn replace(&self, value: Tensor) {
        let mut value = value.detach();
        if !overrides::exchange(self.id(), &mut value) {
            journal::note(self.id(), &self.0);
            self.0.put(value);
        }
    }

    /// Whether the state dict holds the buffer.
    pub fn is_persistent(&self) -> bool {
        self.0.persistent
    }

    /// Keeps the dtype when the module is cast: position and frequency tables are wrong in half precision. This also
    /// applies to every tied handle.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Buffer, DType, Module, ModuleExt, Tensor};
    ///
    /// #[derive(Module)]
    /// struct Positions {
    ///     table: Buffer,
    /// }
    ///
    /// let positions = Positions { table: Buffer::new(Tensor::from([1000.5_f32])).keep_dtype() };
    /// positions.bfloat16()?;
    /// assert_eq!(positions.table.tensor().dtype(), DType::F32);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[must_use]
    pub fn keep_dtype(self) -> Self {
        self.0.keeps_dtype.store(true, Ordering::Relaxed);
        self
    }

    /// Whether the buffer keeps its dtype.
    pub fn keeps_dtype(&self) -> bool {
        self.0.keeps_dtype.load(Ordering::Relaxed)
    }

    /// Whether [`swap_state_dict`](crate::ModuleExt::swap_state_dict) has temporarily replaced the value.
    pub fn is_swapped(&self) -> bool {
        self.0.swapped.load(Ordering::Relaxed)
    }

    /// Marks the value as swapped or not, and returns the previous mark.
    pub(crate) fn mark_swapped(&self, swapped: bool) -> bool {
        self.0.swapped.swap(swapped, Ordering::AcqRel)
    }

    /// Another handle to this buffer: a tie.
    #[must_use]
    pub fn share(&self) -> Self {
        Self(self.0.clone())
    }

    /// Keeps the identity from being reused by another tensor.
    pub(super) fn weak(&self) -> Weak<dyn Any + Send + Sync> {
        let shared: Arc<dyn Any + Send + Sync> = self.0.clone();
        Arc::downgrade(&shared)
    }

    /// Directs users to [`share`](Self::share): the compiler finds it before `Clone::clone` of a reference.
    #[doc(hidden)]
    #[allow(clippy::should_implement_trait)] // It exists to be refused.
    pub fn clone(&self) -> Self
    where
        for<'a> Self: super::MayBeCloned,
    {
        self.share()
    }

    /// The identity, equal for tied handles.
    pub fn id(&self) -> TensorId {
        TensorId::of(&self.0)
    }

    /// The initial value of the buffer, in its current dtype and on its current device.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub(crate) fn initial_value(&self) -> Result<Tensor> {
        let now = self.tensor();
        self.0
            .initial
            .to_dtype(now.dtype())?
            .to_device(&now.device())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tensor("Buffer", &self.tensor(), f)
    }
}

#[diagnostic::do_not_recommend]
impl Field for Buffer {
    const ROLE: FieldRole = FieldRole::Buffer;

    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.buffer(name, self);
    }

    fn visit_field_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>) {
        visitor.buffer(name, self);
    }
}
