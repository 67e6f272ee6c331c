use std::any::Any;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fmt_tensor::fmt_tensor;
use super::{Field, FieldRole, TensorId, Visitor, VisitorMut, overrides};
use crate::{Error, Result, Tensor};

/// State of a module that is neither a parameter nor a buffer, and is saved with it: PyTorch's
/// `get_extra_state` and `set_extra_state`.
///
/// Its state-dict key is `_extra_state`, whatever the field is called, after the module's own parameters and buffers. It is
/// a tensor of any shape and dtype, which loading replaces unchanged, or any serde value, which is kept as a tensor of
/// JSON. It is never cast or moved, and `reset_parameters` leaves it alone. A module has at most one.
///
/// # Example
///
/// ```
/// use module_core::{ExtraState, Module, ModuleExt};
///
/// #[derive(Module)]
/// struct Tokens {
///     words: ExtraState,
/// }
///
/// let tokens = Tokens { words: ExtraState::from_value(&["a", "b"])? };
/// let state = tokens.state_dict()?;
/// assert!(state.keys().eq(["_extra_state"]));
///
/// let other = Tokens { words: ExtraState::from_value(&["c"])? };
/// assert!(other.load_state_dict(&state)?.missing.is_empty());
/// assert_eq!(other.words.value::<Vec<String>>()?, ["a", "b"]);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::{ExtraState, Tensor};
///
/// // A tensor, which may change its shape.
/// let seen = ExtraState::new(Tensor::from([3_i64, 5]));
/// seen.set(Tensor::from([3_i64, 5, 8]));
/// assert_eq!(seen.tensor().to_vec::<i64>()?, [3, 5, 8]);
///
/// // A value of any type; one that does not fit the type asked for is an error.
/// let words = ExtraState::from_value("old")?;
/// words.set_value(&["new", "words"])?;
/// assert_eq!(words.value::<Vec<String>>()?, ["new", "words"]);
/// assert!(words.value::<u64>().is_err());
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct ExtraState(Arc<RwLock<Tensor>>);

impl ExtraState {
    /// The key in the state dict.
    pub const KEY: &'static str = "_extra_state";

    /// A tensor.
    pub fn new(value: Tensor) -> Self {
        Self(Arc::new(RwLock::new(value.detach())))
    }

    /// A value of any type.
    ///
    /// # Errors
    ///
    /// A value that cannot be written as JSON, such as a map whose keys are not strings.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        json(value).map(Self::new)
    }

    /// The tensor.
    pub fn tensor(&self) -> Tensor {
        if let Some(value) = overrides::get(self.id()) {
            return value;
        }
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Replaces the tensor by one of any shape and dtype.
    pub fn set(&self, value: Tensor) {
        let mut value = value.detach();
        if overrides::exchange(self.id(), &mut value) {
            return;
        }
        let mut place = self.0.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *place, &mut value);
    }

    /// The value that was given to [`from_value`](Self::from_value) or [`set_value`](Self::set_value).
    ///
    /// # Errors
    ///
    /// A tensor that does not hold a value of this type.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T> {
        let bytes = self.tensor().to_vec::<u8>()?;
        serde_json::from_slice(&bytes).map_err(Error::custom)
    }

    /// Replaces the value by another of any type.
    ///
    /// # Errors
    ///
    /// Those of [`from_value`](Self::from_value); then the value is unchanged.
    pub fn set_value<T: Serialize + ?Sized>(&self, value: &T) -> Result<()> {
        self.set(json(value)?);
        Ok(())
    }

    /// Keeps the identity from being reused by another tensor.
    pub(super) fn weak(&self) -> Weak<dyn Any + Send + Sync> {
        let shared: Arc<dyn Any + Send + Sync> = self.0.clone();
        Arc::downgrade(&shared)
    }

    pub(crate) fn id(&self) -> TensorId {
        TensorId::of(&self.0)
    }
}

fn json<T: Serialize + ?Sized>(value: &T) -> Result<Tensor> {
    let bytes = serde_json::to_vec(value).map_err(Error::custom)?;
    let length = bytes.len();
    Tensor::from_vec(bytes, length)
}

impl fmt::Debug for ExtraState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tensor("ExtraState", &self.tensor(), f)
    }
}

#[diagnostic::do_not_recommend]
impl Field for ExtraState {
    const ROLE: FieldRole = FieldRole::ExtraState;

    fn visit_field<'a>(&'a self, _name: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.extra_state(self);
    }

    fn visit_field_mut<'a>(&'a mut self, _name: &str, _visitor: &mut dyn VisitorMut<'a>) {}
}
