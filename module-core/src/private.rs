//! What `#[derive(Module)]` expands to; no part of the public interface.
//!
//! A field is visited through [`Field`], or through one of the traits below where the tokens of its
//! type look like a known mistake. Each of them holds for exactly the types that are a `Field`, so
//! that a type of the user's own with the same name is accepted; they differ only in what the
//! compiler says about a type that is none.

pub use crate::checkpoint::read_bytes;
pub use crate::hooks::Tensors;
pub use crate::module::{
    Describe, Field, FieldInfo, FieldRole, FieldsCheck, Forward, Module, Skip, SkipFallback,
    Visitor, VisitorMut, Written, assert_module,
};
pub use crate::{Result, Tensor};

use crate::Call;

/// A trait that holds for every `$bound` and visits it by `$visit`, with its own diagnostic.
macro_rules! worded {
    ($(#[$meta:meta])* $name:ident for $bound:ident, |$this:ident, $key:ident, $visitor:ident| $visit:expr, $visit_mut:expr) => {
        $(#[$meta])*
        pub trait $name {
            const ROLE: FieldRole;

            fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>);

            fn visit_field_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>);
        }

        #[diagnostic::do_not_recommend]
        impl<T: $bound> $name for T {
            const ROLE: FieldRole = <T as Field>::ROLE;

            fn visit_field<'a>(&'a self, $key: &str, $visitor: &mut dyn Visitor<'a>) {
                let $this = self;
                $visit
            }

            fn visit_field_mut<'a>(&'a mut self, $key: &str, $visitor: &mut dyn VisitorMut<'a>) {
                let $this = self;
                $visit_mut
            }
        }
    };
    ($(#[$meta:meta])* $name:ident) => {
        worded!(
            $(#[$meta])*
            $name for Field, |field, name, visitor| field.visit_field(name, visitor), field.visit_field_mut(name, visitor)
        );
    };
}

worded!(
    /// What is written `Option<_>`.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a field of a module",
        label = "may be absent, and the keys with it",
        note = "a child that may be absent is `Identity`, or an enum that derives `Module`",
        note = "a parameter or buffer that may be absent is `Maybe<Parameter>` or `Maybe<Buffer>`"
    )]
    OptionField
);

worded!(
    /// What is written `Tensor`.
    #[diagnostic::on_unimplemented(
        message = "a bare `Tensor` cannot be a field of a module",
        label = "learned or not?",
        note = "write `Parameter` for a tensor that is learned, `Buffer` for one that is not"
    )]
    TensorField
);

worded!(
    /// What is written `HashMap<…>`, or as another map or set of the standard library.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a field of a module",
        label = "does not keep the order of its modules",
        note = "write `IndexMap<String, _>`, which keeps the order of insertion"
    )]
    MapField
);

worded!(
    /// What is written `Vec<usize>` or as another list of constants.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a field of a module",
        label = "a list holds modules or parameters",
        note = "write `[_; N]` for constants of a fixed number, `#[module(skip)]` for any other value, `Buffer` for state that is saved"
    )]
    NumbersField
);

worded!(
    /// What is written `Rc<_>`, `RefCell<_>`, `Mutex<_>` or as another cell.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be a field of a module",
        label = "hides what it holds",
        note = "`Parameter` and `Buffer` can be set through `&self` and need no cell; a module that two fields share is an `Arc`",
        note = "a value without tensors is taken out of the module by `#[module(skip)]`"
    )]
    CellField
);

worded!(
    /// A field with `#[module(flatten)]`.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not a module, so it has no members to flatten",
        label = "not a module",
        note = "remove `#[module(flatten)]`, or derive `Module` for the type"
    )]
    Flatten for Module, |module, _name, visitor| module.visit(visitor), module.visit_mut(visitor)
);

/// What may stand behind `#[module(skip)]`, as far as a trait can tell; [`Skip`] tells the rest.
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

/// What a variant of an enum with `#[derive(Forward)]` holds: a layer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer",
    label = "does not map one tensor to one tensor",
    note = "write `impl Forward for {Self}` with `type Output = Tensor`; an enum with another input or output has its own `impl Forward`"
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
