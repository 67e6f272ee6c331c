//! The items that `#[derive(Module)]` expands to; not part of the public interface.
//!
//! A field is visited through [`Field`], or through one of the traits below if the tokens of its type look like a known
//! mistake. Each of these holds for exactly the types that are a `Field`, so that a user's own type with the same name is
//! accepted; they differ only in the compiler's message for other types.

pub use std::fmt::Debug;

#[cfg(feature = "fs")]
pub use crate::checkpoint::read_bytes;
pub use crate::hooks::Tensors;
pub use crate::module::{
    Describe, Field, FieldInfo, FieldRole, FieldsCheck, Forward, Module, Skip, SkipFallback,
    Visitor, VisitorMut, Written, assert_module, fmt_tree,
};
pub use crate::{Result, Tensor};

use crate::Call;

/// A trait that holds for every [`Field`] and visits it as that does, with its own diagnostic.
macro_rules! diagnostic_alias {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        pub trait $name {
            const ROLE: FieldRole;

            fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>);

            fn visit_field_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>);

            fn visit_payload<'a>(&'a self, visitor: &mut dyn Visitor<'a>);

            fn visit_payload_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>);

            fn as_child(&self) -> Option<&dyn Module>;
        }

        #[diagnostic::do_not_recommend]
        impl<T: Field> $name for T {
            const ROLE: FieldRole = <T as Field>::ROLE;

            fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
                Field::visit_field(self, name, visitor);
            }

            fn visit_field_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>) {
                Field::visit_field_mut(self, name, visitor);
            }

            fn visit_payload<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
                Field::visit_payload(self, visitor);
            }

            fn visit_payload_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
                Field::visit_payload_mut(self, visitor);
            }

            fn as_child(&self) -> Option<&dyn Module> {
                Field::as_child(self)
            }
        }
    };
}

diagnostic_alias!(
    /// Types written as `Option<_>`.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a field of a module",
        label = "the content of an `Option` may be absent, and its keys with it",
        note = "a child that may be absent is `OrIdentity`, or an enum that derives `Module`",
        note = "a parameter or buffer that may be absent is `Maybe<Parameter>` or `Maybe<Buffer>`",
        note = "a setting that may be absent holds no tensors: `#[module(skip)]` takes it out of the module"
    )]
    OptionField
);

diagnostic_alias!(
    /// Types written as `Option<usize>` or an option of another constant.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a field of a module",
        label = "a setting that may be absent",
        note = "write `#[module(skip)]` on the field: it holds no tensors, and is not part of the module"
    )]
    OptionSettingField
);

diagnostic_alias!(
    /// Types written as `Tensor`.
    #[diagnostic::on_unimplemented(
        message = "a bare `Tensor` cannot be a field of a module",
        label = "learned or not?",
        note = "write `Parameter` for a tensor that is learned, `Buffer` for one that is not"
    )]
    TensorField
);

diagnostic_alias!(
    /// Types written as `HashMap<…>`, or another map or set of the standard library.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a field of a module",
        label = "does not keep the order of its modules",
        note = "write `IndexMap<String, _>`, which keeps the order of insertion"
    )]
    MapField
);

diagnostic_alias!(
    /// Types written as `Vec<usize>` or another list of constants.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a field of a module",
        label = "a list holds modules or parameters",
        note = "write `[_; N]` for constants of a fixed number, `#[module(skip)]` for any other value, `Buffer` for state that is saved"
    )]
    NumbersField
);

diagnostic_alias!(
    /// Types written as `Rc<_>`, `RefCell<_>`, `Mutex<_>` or another cell.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a field of a module",
        label = "hides its contents",
        note = "`Parameter` and `Buffer` can be set through `&self` and need no cell; a module that two fields share is an `Arc`",
        note = "a value without tensors is taken out of the module by `#[module(skip)]`"
    )]
    CellField
);

/// A field with `#[module(flatten)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module, so it has no members to flatten",
    label = "not a module",
    note = "remove `#[module(flatten)]`, or derive `Module` for the type"
)]
pub trait FlattenField {
    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>);

    fn visit_field_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>);
}

#[diagnostic::do_not_recommend]
impl<T: Module> FlattenField for T {
    fn visit_field<'a>(&'a self, _name: &str, visitor: &mut dyn Visitor<'a>) {
        self.visit(visitor);
    }

    fn visit_field_mut<'a>(&'a mut self, _name: &str, visitor: &mut dyn VisitorMut<'a>) {
        self.visit_mut(visitor);
    }
}

/// Types allowed behind `#[module(skip)]`, as far as a trait can tell; [`Skip`] checks the rest.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be in a module, even behind `#[module(skip)]`",
    label = "cannot be shared between threads",
    note = "a module is `Send` and `Sync`: use `Arc` for `Rc`, `Mutex` for `RefCell`, an atomic for `Cell`"
)]
pub trait Skippable {
    const YES: bool = true;
}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Skippable for T {}

/// The answer of [`Skip`] for a type that holds parameters, buffers or modules: a separate type, so that a trait says what
/// is wrong.
#[derive(Clone, Copy)]
pub struct HoldsTensors;

/// The answer of [`Skip`] for any other type.
#[derive(Clone, Copy)]
pub struct HoldsNoTensors;

/// Implemented only by [`HoldsNoTensors`], so that skipping a field with state is an error.
#[diagnostic::on_unimplemented(
    message = "this type holds parameters, buffers or modules, which `#[module(skip)]` would hide from training, saving and moving",
    label = "hidden by `#[module(skip)]`",
    note = "remove `#[module(skip)]`"
)]
pub trait MayBeSkipped: Copy {}

#[diagnostic::do_not_recommend]
impl MayBeSkipped for HoldsNoTensors {}

/// Checks what is behind `#[module(skip)]`.
pub const fn may_be_skipped(_: impl MayBeSkipped) {}

/// Never true of a module with `Clone`.
#[diagnostic::on_unimplemented(
    message = "a module cannot be `Clone`, because it would share its parameters or copy them, and `Clone` does not say which",
    label = "a module, and `Clone`",
    note = "remove `Clone`; build a second module and load the first one's state dict, or tie single tensors with `share()`"
)]
pub trait IsNotClone {}

/// Whether a type has size zero.
pub struct IsEmpty<const YES: bool>;

/// A type whose values have addresses of their own.
#[diagnostic::on_unimplemented(
    message = "a module of size zero has no address of its own, by which hooks could identify it",
    label = "occupies no memory",
    note = "give it a field `marker: Marker`"
)]
pub trait HasAddress {
    const YES: () = ();
}

#[diagnostic::do_not_recommend]
impl HasAddress for IsEmpty<false> {}

/// The payload of each variant of an enum with `#[derive(Forward)]`: a layer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer",
    label = "does not map one tensor to one tensor",
    note = "each variant must hold a layer that takes one `Tensor` and returns one `Tensor`",
    note = "where `{Self}` takes or returns something else, write `impl Forward` for the enum, with a `match` over its variants"
)]
pub trait LayerPayload {
    fn call_payload(&self, input: Tensor) -> Result<Tensor>;
}

#[diagnostic::do_not_recommend]
impl<L: Forward<Tensor, Output = Tensor>> LayerPayload for L {
    fn call_payload(&self, input: Tensor) -> Result<Tensor> {
        self.call(input)
    }
}
