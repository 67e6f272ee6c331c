//! The implementation of `#[module(skip)]`.

use std::sync::Arc;

use super::{Describe, FieldInfo, Module};
use crate::__private::{HoldsNoTensors, HoldsTensors, IsNotClone};

/// Types that hold parameters, buffers or modules, so that `#[module(skip)]` refuses them.
#[doc(hidden)]
pub trait HoldsState {}

impl<M: Module + ?Sized> HoldsState for M {}
impl HoldsState for crate::Parameter {}
impl HoldsState for crate::Buffer {}
impl HoldsState for crate::ExtraState {}
impl<T: HoldsState> HoldsState for Option<T> {}
impl<T: HoldsState + ?Sized> HoldsState for std::rc::Rc<T> {}
impl<T: HoldsState> HoldsState for std::cell::Cell<T> {}
impl<T: HoldsState> HoldsState for std::cell::RefCell<T> {}
impl<T: HoldsState> HoldsState for std::cell::OnceCell<T> {}
impl<T: HoldsState> HoldsState for std::sync::OnceLock<T> {}
impl<T: HoldsState> HoldsState for std::sync::Mutex<T> {}
impl<T: HoldsState> HoldsState for std::sync::RwLock<T> {}
impl<T: HoldsState> HoldsState for std::collections::VecDeque<T> {}
impl<K, T: HoldsState, S> HoldsState for std::collections::HashMap<K, T, S> {}
impl<K, T: HoldsState> HoldsState for std::collections::BTreeMap<K, T> {}
impl HoldsState for Box<crate::Parameter> {}
impl HoldsState for Arc<crate::Parameter> {}

/// Finds out which traits `T` has: an inherent item exists only if its bound holds, and shadows the item of the same name
/// in [`SkipFallback`].
#[doc(hidden)]
pub struct Skip<T: ?Sized>(std::marker::PhantomData<T>);

#[doc(hidden)]
pub trait SkipFallback {
    const HOLDS_STATE: HoldsNoTensors = HoldsNoTensors;
    const FIELDS: &'static [FieldInfo] = &[];

    fn is_no_clone() {}
}

impl<T: ?Sized> SkipFallback for Skip<T> {}

impl<T: HoldsState + ?Sized> Skip<T> {
    /// `T` holds parameters, buffers or modules.
    pub const HOLDS_STATE: HoldsTensors = HoldsTensors;
}

/// A module, and the first of its fields that may lack `Clone`: if a field does, a derived `Clone` is the compiler's error
/// to report.
impl<T: Clone, F: Clone> Skip<(T, F)> {
    /// `T` can be cloned, which no module may.
    pub fn is_no_clone()
    where
        T: IsNotClone,
    {
    }
}

impl<T: Describe> Skip<T> {
    /// The description of the fields of `T`.
    pub const FIELDS: &'static [FieldInfo] = T::FIELDS;
}
