use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU64;
use std::sync::OnceLock;

use super::next_number::next_number;
use super::{Field, FieldRole, Visitor, VisitorMut};

/// A few bytes that give a module without other fields an address of its own.
///
/// Hooks identify a module by its address, and two values of size zero may share one. The first hook stores a number here,
/// which tells the module from another one placed at the same address later. A marker registers nothing and is not printed.
///
/// # Example
///
/// ```
/// use module_core::{Marker, Module};
///
/// #[derive(Module)]
/// struct Swish {
///     marker: Marker,
/// }
///
/// let swish = Swish { marker: Marker::new() };
/// assert_eq!(swish.kind(), "Swish");
/// ```
#[derive(Default)]
pub struct Marker(OnceLock<NonZeroU64>);

impl Marker {
    /// A marker; all are equal.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The number, if there is one.
    pub(super) fn number(&self) -> Option<NonZeroU64> {
        self.0.get().copied()
    }

    /// The number, which is unique among all markers.
    pub(super) fn assign_number(&self) -> NonZeroU64 {
        *self.0.get_or_init(next_number)
    }
}

impl fmt::Debug for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Marker")
    }
}

/// A marker for another module, so that it does not inherit this one's hooks.
impl Clone for Marker {
    fn clone(&self) -> Self {
        Self::new()
    }
}

/// All markers are equal.
impl PartialEq for Marker {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Marker {}

impl Hash for Marker {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

#[diagnostic::do_not_recommend]
impl Field for Marker {
    const ROLE: FieldRole = FieldRole::Marker;

    fn visit_field<'a>(&'a self, _name: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.marker(self);
    }

    fn visit_field_mut<'a>(&'a mut self, _name: &str, _visitor: &mut dyn VisitorMut<'a>) {}
}
