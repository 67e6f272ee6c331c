use std::any::Any;
use std::fmt;

use super::ModuleId;
use super::visit::{Constants, Visitor, VisitorMut};
use crate::{Result, Tensor};

/// A network or a part of one: parameters, buffers and child modules in declaration order.
///
/// `#[derive(Module)]` writes the implementation from the fields of a struct or an enum; it is not meant to be written by
/// hand. What a module computes is [`Forward`]; the methods that users call on it are in [`ModuleExt`](crate::ModuleExt)
/// and [`Call`](crate::Call).
///
/// The trait is object-safe, so walks, hooks and reports pass around `&dyn Module`.
///
/// # Example
///
/// ```
/// use module_core::{Module, ModuleExt, Parameter, Tensor};
///
/// #[derive(Module)]
/// struct Scale {
///     weight: Parameter,
/// }
///
/// let scale = Scale { weight: Parameter::new(Tensor::from(2.0_f32))? };
/// assert_eq!(scale.named_parameters().map(|(name, _)| name).collect::<Vec<_>>(), ["weight"]);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::module::{Visitor, VisitorMut};
/// use module_core::{Identity, Module, Parameter, Tensor};
///
/// /// The names of the members that a module shows.
/// #[derive(Default)]
/// struct Names(Vec<String>);
///
/// impl<'a> Visitor<'a> for Names {
///     fn parameter(&mut self, name: &str, _: &'a Parameter) {
///         self.0.push(name.to_owned());
///     }
///
///     fn module(&mut self, name: &str, child: &'a dyn Module) {
///         self.0.push(format!("{name}: {}", child.kind()));
///     }
/// }
///
/// impl<'a> VisitorMut<'a> for Names {
///     fn module(&mut self, name: &str, child: &'a mut dyn Module) {
///         self.0.push(format!("{name}, to be changed: {}", child.kind()));
///     }
/// }
///
/// #[derive(Module)]
/// struct Block {
///     weight: Parameter,
///     act: Identity,
/// }
///
/// let mut names = Names::default();
/// let mut block = Block { weight: Parameter::new(Tensor::from(1.0_f32))?, act: Identity::new() };
/// block.visit(&mut names);
/// block.visit_mut(&mut names);
/// assert_eq!(names.0, ["weight", "act: Identity", "act, to be changed: Identity"]);
///
/// // A box is transparent: it shows the module that it holds, whose identity it has.
/// let mut boxed = Box::new(block);
/// assert_eq!(boxed.as_module().id(), boxed.id());
/// assert_eq!(boxed.as_module_mut().kind(), "Block");
/// let mut names = Names::default();
/// boxed.visit_as("first", &mut names);
/// boxed.visit_as_mut("first", &mut names);
/// assert_eq!(names.0, ["first: Block", "first, to be changed: Block"]);
/// # Ok::<(), module_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module",
    label = "not a module",
    note = "write `#[derive(Module)]` on `{Self}`, or use a type that has it",
    note = "a tensor is cast by `to_dtype` and moved by `to_device`"
)]
pub trait Module: Any + Send + Sync + Upcast {
    /// The name of the type, as the module tree and error messages print it: `Linear`.
    fn kind(&self) -> &'static str;

    /// [`kind`](Self::kind) without a value: the name that the compiler knows, which sees through aliases, unless the
    /// derive was given another name.
    #[doc(hidden)]
    fn type_kind() -> &'static str
    where
        Self: Sized,
    {
        let name = std::any::type_name::<Self>();
        let start = name.split('<').next().unwrap_or(name).rfind("::");
        start.map_or(name, |start| &name[start + 2..])
    }

    /// Shows each member to `visitor`, in declaration order, under its own name.
    ///
    /// Children are shown but not entered.
    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>);

    /// [`visit`](Self::visit), mutably.
    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>);

    /// The module that this value resolves to: itself, or what a `Box`, an `Arc` or a one-field enum variant holds.
    fn as_module(&self) -> &dyn Module {
        self.upcast()
    }

    /// [`as_module`](Self::as_module), mutably; an enum returns itself here, so that its variant can be replaced.
    fn as_module_mut(&mut self) -> &mut dyn Module {
        self.upcast_mut()
    }

    /// Shows this value to `visitor` as the field `name` of its owner.
    fn visit_as<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.module(name, self.as_module());
    }

    /// [`visit_as`](Self::visit_as), mutably.
    fn visit_as_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>) {
        visitor.module(name, self.as_module_mut());
    }

    /// The text that the module tree prints between the parentheses after the name; by default the constants, such as
    /// `in_features=4, bias=True`.
    ///
    /// # Errors
    ///
    /// Those of the formatter.
    ///
    /// # Example
    ///
    /// ```
    /// use std::fmt;
    ///
    /// use module_core::{Module, ModuleExt, Parameter, Tensor};
    ///
    /// #[derive(Module)]
    /// #[module(extra_repr = Self::shape)]
    /// struct Scale {
    ///     weight: Parameter,
    /// }
    ///
    /// impl Scale {
    ///     fn shape(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    ///         write!(f, "{}", self.weight.shape())
    ///     }
    /// }
    ///
    /// /// What the tree prints in the parentheses.
    /// fn extra_repr(module: &dyn Module) -> String {
    ///     fmt::from_fn(|f| module.extra_repr(f)).to_string()
    /// }
    ///
    /// let scale = Scale { weight: Parameter::new(Tensor::from([1.0_f32, 2.0]))? };
    /// assert_eq!((extra_repr(&scale), scale.tree().to_string()), ("[2]".into(), "Scale([2])".into()));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Constants::of(self, f)
    }

    /// The identity by which hooks, error paths and deduplication recognize this module.
    fn id(&self) -> ModuleId {
        ModuleId::of(self)
    }
}

/// Conversion to `dyn Module`, which default methods of a trait cannot do themselves.
///
/// Every module has it.
#[doc(hidden)]
pub trait Upcast {
    fn upcast(&self) -> &dyn Module;

    fn upcast_mut(&mut self) -> &mut dyn Module;
}

#[diagnostic::do_not_recommend]
impl<M: Module> Upcast for M {
    fn upcast(&self) -> &dyn Module {
        self
    }

    fn upcast_mut(&mut self) -> &mut dyn Module {
        self
    }
}

/// The computation of a module on an `Input`.
///
/// Implement `forward`; invoke [`call`](crate::Call::call), which runs the hooks and adds the path to errors. The input is
/// taken by value because a [`Tensor`] is a cheap handle, and memory that nothing else holds can be reused in place.
///
/// # Example
///
/// ```
/// use module_core::{Call, Forward, Module, Parameter, Result, Tensor};
///
/// #[derive(Module)]
/// struct Scale {
///     weight: Parameter,
/// }
///
/// impl Forward for Scale {
///     type Output = Tensor;
///
///     fn forward(&self, input: Tensor) -> Result<Tensor> {
///         input.mul(&self.weight.tensor())
///     }
/// }
///
/// let scale = Scale { weight: Parameter::new(Tensor::from(2.0_f32))? };
/// assert_eq!(scale.call(Tensor::from([1.0_f32, 3.0]))?.to_vec::<f32>()?, [2.0, 6.0]);
/// # Ok::<(), module_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `forward` that takes `{Input}`",
    label = "no `Forward<{Input}>`",
    note = "write `impl Forward<{Input}> for {Self}`"
)]
pub trait Forward<Input = Tensor>: Module {
    /// The type that `forward` returns.
    type Output;

    /// Computes the output; called through [`call`](crate::Call::call).
    ///
    /// # Errors
    ///
    /// A wrong shape, dtype or device, and any other input that the module refuses.
    fn forward(&self, input: Input) -> Result<Self::Output>;
}

/// A module that maps one tensor to one tensor: the element type of `Sequential`, as `Box<dyn Layer>`.
///
/// Every `Forward<Tensor, Output = Tensor>` has it; it cannot be implemented directly.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, Layer, Tensor};
///
/// let layers: Vec<Box<dyn Layer>> = vec![Box::new(Identity::new())];
/// let mut x = Tensor::from([1.0_f32]);
/// for layer in &layers {
///     x = layer.call(x)?;
/// }
/// # Ok::<(), module_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer",
    label = "not a layer",
    note = "a layer maps one tensor to one tensor: `impl Forward for {Self}` with `type Output = Tensor`"
)]
pub trait Layer: Module {
    #[doc(hidden)]
    fn forward_layer(&self, input: Tensor) -> Result<Tensor>;

    /// Exchanges this layer with a module of its type; returns whether the types match.
    #[doc(hidden)]
    fn swap_with(&mut self, place: &mut dyn Module) -> bool;
}

#[diagnostic::do_not_recommend]
impl<L: Forward<Tensor, Output = Tensor>> Layer for L {
    fn forward_layer(&self, input: Tensor) -> Result<Tensor> {
        self.forward(input)
    }

    fn swap_with(&mut self, place: &mut dyn Module) -> bool {
        let place = (place as &mut dyn Any).downcast_mut::<L>();
        place.map(|place| std::mem::swap(self, place)).is_some()
    }
}

impl dyn Module {
    /// Directs users from `Box<dyn Module>` to `Box<dyn Layer>`: the compiler finds it before
    /// [`Call::call`](crate::Call::call), and says what is wrong.
    #[doc(hidden)]
    pub fn call<I>(&self, _: I) -> Result<Tensor>
    where
        Self: Computes<I>,
    {
        self.computes()
    }
}

/// The operations that a `dyn Module` does not have.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a `dyn Module` cannot be called, because modules differ in their inputs and outputs",
    label = "a `dyn Module` has no `forward`",
    note = "write `Box<dyn Layer>` instead of `Box<dyn Module>` for modules that map one tensor to one tensor",
    note = "`ModuleList<Box<dyn Layer>>`, `Vec<Box<dyn Layer>>` and `Sequential` hold them"
)]
pub trait Computes<I> {
    fn computes(&self) -> Result<Tensor>;
}

impl Forward<Tensor> for dyn Layer {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.forward_layer(input)
    }
}
