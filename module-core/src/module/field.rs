use super::{FieldRole, Module, Visitor, VisitorMut};

/// The types that a field of a module may have; implemented exactly for the types in the table below.
///
/// | field type | role | in the state dict |
/// |---|---|---|
/// | [`Parameter`](crate::Parameter) | trainable tensor | yes |
/// | [`Buffer`](crate::Buffer) | state that is not trained | if persistent |
/// | [`Maybe<Parameter>`](crate::Maybe), `Maybe<Buffer>` | the same, or absent | if present |
/// | [`ExtraState`](crate::ExtraState) | any other state, at most one | as `_extra_state` |
/// | any [`Module`] | child | its keys, under the field's name |
/// | [`OrIdentity<M>`](crate::OrIdentity) | child, or `Identity` if absent | the keys of the child, if present |
/// | `Box<M>`, `Arc<M>`, `Box<dyn Layer>` | child, transparent | as the child |
/// | `Vec`, array, tuple, `IndexMap<String, _>` of modules or parameters | child with children `0`, `1`, … or the keys | `list.0.weight` |
/// | [`Training`](crate::Training) | the mode flag | no |
/// | [`Marker`](crate::Marker) | gives a module without other fields an address | no |
/// | `bool`, integers, floats, `char`, `String`, `&'static str`, arrays and tuples of them, `PhantomData` | constant, printed in the tree | no |
///
/// # Example
///
/// ```
/// use module_core::{Buffer, Field, FieldRole, Parameter};
///
/// assert!(matches!(Parameter::ROLE, FieldRole::Parameter));
/// assert!(matches!(Buffer::ROLE, FieldRole::Buffer));
/// ```
///
/// ```
/// use module_core::module::{Visitor, VisitorMut};
/// use module_core::{Field, Identity, Parameter, Tensor};
///
/// /// Counts what a field shows.
/// #[derive(Default)]
/// struct Count(usize);
///
/// impl<'a> Visitor<'a> for Count {
///     fn parameter(&mut self, name: &str, _: &'a Parameter) {
///         assert_eq!(name, "weight");
///         self.0 += 1;
///     }
/// }
///
/// impl<'a> VisitorMut<'a> for Count {
///     fn parameter(&mut self, _: &str, _: &'a mut Parameter) {
///         self.0 += 1;
///     }
/// }
///
/// let (mut count, mut weight) = (Count::default(), Parameter::new(Tensor::from(1.0_f32))?);
/// weight.visit_field("weight", &mut count);
/// weight.visit_field_mut("weight", &mut count);
/// assert_eq!(count.0, 2);
///
/// // A module is a child; a parameter is none.
/// let mut act = Identity::new();
/// assert_eq!(act.as_child().map(|child| child.kind()), Some("Identity"));
/// assert!(act.as_child_mut().is_some() && weight.as_child().is_none());
/// # Ok::<(), module_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a module",
    label = "not a field type",
    note = "a struct or enum of your own derives `Module`",
    note = "an absent child is `OrIdentity` or an enum that derives `Module`, never `Option`; an absent parameter or buffer is `Maybe`",
    note = "a tensor is a `Parameter` (learned) or a `Buffer` (not learned)",
    note = "a child that two fields share is an `Arc`; an `Rc` or a cell cannot go to another thread",
    note = "a `Vec`, array, tuple or `IndexMap<String, _>` holds modules or parameters; a `HashMap` has no order",
    note = "`#[module(skip)]` takes a field that holds no tensors out of the module"
)]
pub trait Field: 'static {
    /// The role of a field of this type in its module.
    const ROLE: FieldRole;

    /// Shows this field to `visitor` under `name`.
    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>);

    /// [`visit_field`](Self::visit_field), mutably.
    fn visit_field_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>);

    /// Shows the payload of an enum variant in place of the enum: the members of a module, or this value as member `0`.
    #[doc(hidden)]
    fn visit_payload<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.visit_field("0", visitor);
    }

    /// [`visit_payload`](Self::visit_payload), mutably.
    #[doc(hidden)]
    fn visit_payload_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        self.visit_field_mut("0", visitor);
    }

    /// This field as a module, if it is one.
    fn as_child(&self) -> Option<&dyn Module> {
        None
    }

    /// [`as_child`](Self::as_child), mutably.
    fn as_child_mut(&mut self) -> Option<&mut dyn Module> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<M: Module> Field for M {
    const ROLE: FieldRole = FieldRole::Child;

    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        self.visit_as(name, visitor);
    }

    fn visit_field_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>) {
        self.visit_as_mut(name, visitor);
    }

    fn visit_payload<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.visit(visitor);
    }

    fn visit_payload_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        self.visit_mut(visitor);
    }

    fn as_child(&self) -> Option<&dyn Module> {
        Some(self.as_module())
    }

    fn as_child_mut(&mut self) -> Option<&mut dyn Module> {
        Some(self.as_module_mut())
    }
}

/// Never implemented, so that `clone()` on a parameter or buffer is refused with this message.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not `Clone`, because a second handle and a copy are different things",
    label = "shared or copied?",
    note = "`share()` gives a second handle to the same tensor, as for tied weights",
    note = "`{Self}::new(x.tensor().detach())` makes an independent one"
)]
pub trait MayBeCloned {}
