use super::{Field, FieldRole, Visitor, VisitorMut};

/// One byte that gives a module without other fields an address of its own.
///
/// Hooks know a module by its address, and two values of size zero may have the same one. A marker
/// registers nothing and is not printed.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Marker(u8);

impl Marker {
    /// A marker; all are alike.
    pub const fn new() -> Self {
        Self(0)
    }
}

#[diagnostic::do_not_recommend]
impl Field for Marker {
    const ROLE: FieldRole = FieldRole::Marker;

    fn visit_field<'a>(&'a self, _name: &str, _visitor: &mut dyn Visitor<'a>) {}

    fn visit_field_mut<'a>(&'a mut self, _name: &str, _visitor: &mut dyn VisitorMut<'a>) {}
}
