use std::any::Any;
use std::fmt;

use super::{Buffer, Constant, ExtraState, Layer, Marker, Module, Parameter, Training};

/// Receives the members of a module from [`Module::visit`].
///
/// Every method does nothing by default, so a visitor implements only those that it needs.
///
/// # Example
///
/// ```
/// use module_core::{Module, Parameter, Tensor, module::Visitor};
///
/// #[derive(Default)]
/// struct Names(Vec<String>);
///
/// impl<'a> Visitor<'a> for Names {
///     fn parameter(&mut self, name: &str, _parameter: &'a Parameter) {
///         self.0.push(name.to_owned());
///     }
/// }
///
/// #[derive(Module)]
/// struct Scale {
///     weight: Parameter,
/// }
///
/// let scale = Scale { weight: Parameter::new(Tensor::from(2.0_f32))? };
/// let mut names = Names::default();
/// scale.visit(&mut names);
/// assert_eq!(names.0, ["weight"]);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::module::{Constant, Repr, Visitor};
/// use module_core::{Buffer, ExtraState, Module, Tensor, Training};
///
/// /// Everything but parameters and children, in words.
/// #[derive(Default)]
/// struct State(Vec<String>);
///
/// impl<'a> Visitor<'a> for State {
///     fn buffer(&mut self, name: &str, buffer: &'a Buffer) {
///         self.0.push(format!("{name}: {}", buffer.tensor().dtype()));
///     }
///
///     fn extra_state(&mut self, state: &'a ExtraState) {
///         self.0.push(format!("extra: {} bytes", state.tensor().numel()));
///     }
///
///     fn training(&mut self, flag: &'a Training) {
///         self.0.push(format!("training: {}", flag.is_training()));
///     }
///
///     fn constant(&mut self, name: &str, value: &'a dyn Constant) {
///         self.0.push(format!("{name} = {}", Repr(value)));
///     }
/// }
///
/// #[derive(Module)]
/// struct Norm {
///     count: Buffer,
///     names: ExtraState,
///     training: Training,
///     eps: f64,
/// }
///
/// let norm = Norm {
///     count: Buffer::new(Tensor::from(0_i64)),
///     names: ExtraState::from_value("ab")?,
///     training: Training::new(),
///     eps: 1e-5,
/// };
/// let mut state = State::default();
/// norm.visit(&mut state);
/// assert_eq!(state.0, ["count: int64", "extra: 4 bytes", "training: true", "eps = 1e-05"]);
/// # Ok::<(), module_core::Error>(())
/// ```
pub trait Visitor<'a> {
    /// A trainable tensor.
    fn parameter(&mut self, name: &str, parameter: &'a Parameter) {
        let _ = (name, parameter);
    }

    /// State that is not trained.
    fn buffer(&mut self, name: &str, buffer: &'a Buffer) {
        let _ = (name, buffer);
    }

    /// A child; its own members are shown by its own `visit`.
    fn module(&mut self, name: &str, module: &'a dyn Module) {
        let _ = (name, module);
    }

    /// State that is neither, at most one per module.
    fn extra_state(&mut self, state: &'a ExtraState) {
        let _ = state;
    }

    /// The mode flag.
    fn training(&mut self, flag: &'a Training) {
        let _ = flag;
    }

    /// A marker, which registers nothing.
    #[doc(hidden)]
    fn marker(&mut self, marker: &'a Marker) {
        let _ = marker;
    }

    /// A field that is only printed.
    fn constant(&mut self, name: &str, value: &'a dyn Constant) {
        let _ = (name, value);
    }

    /// A layer's holder of adapters, which registers nothing by itself.
    #[doc(hidden)]
    fn extension(&mut self, extension: &'a dyn Any) {
        let _ = extension;
    }

    /// Keys of older checkpoints in place of keys of the module, relative to it: pairs of an old and a present key. A load
    /// renames those of one call, if the state dict has all the old keys and none of the present ones.
    #[doc(hidden)]
    fn former_keys(&mut self, keys: &[(&str, &str)]) {
        let _ = keys;
    }
}

/// Receives the members of a module, mutably borrowed, from [`Module::visit_mut`].
///
/// # Example
///
/// ```
/// use module_core::{Module, Parameter, Tensor, module::VisitorMut};
///
/// struct Doubled;
///
/// impl<'a> VisitorMut<'a> for Doubled {
///     fn parameter(&mut self, _name: &str, parameter: &'a mut Parameter) {
///         let doubled = parameter.tensor().detach().mul(2.0).and_then(Parameter::new);
///         *parameter = doubled.expect("a floating-point tensor");
///     }
/// }
///
/// #[derive(Module)]
/// struct Scale {
///     weight: Parameter,
/// }
///
/// let mut scale = Scale { weight: Parameter::new(Tensor::from(2.0_f32))? };
/// scale.visit_mut(&mut Doubled);
/// assert_eq!(scale.weight.tensor().item::<f32>()?, 4.0);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use std::sync::Arc;
///
/// use module_core::module::VisitorMut;
/// use module_core::{Buffer, Identity, Layer, Module, Sequential, Tensor};
///
/// /// Empties buffers and boxed layers.
/// #[derive(Default)]
/// struct Clear {
///     shared: Vec<String>,
/// }
///
/// impl<'a> VisitorMut<'a> for Clear {
///     fn buffer(&mut self, _: &str, buffer: &'a mut Buffer) {
///         *buffer = Buffer::new(Tensor::from(0_i64));
///     }
///
///     fn layer(&mut self, _: &str, layer: &'a mut Box<dyn Layer>) -> Option<&'a mut Box<dyn Layer>> {
///         *layer = Box::new(Identity::new());
///         None // It is not shown again, as a module.
///     }
///
///     fn shared(&mut self, name: &str, _: &'a dyn Module) {
///         self.shared.push(name.to_owned());
///     }
/// }
///
/// #[derive(Module)]
/// struct Net {
///     steps: Buffer,
///     layer: Box<dyn Layer>,
///     head: Arc<Identity>,
/// }
///
/// let head = Arc::new(Identity::new());
/// let mut net = Net {
///     steps: Buffer::new(Tensor::from(7_i64)),
///     layer: Box::new(Sequential::new()),
///     head: head.clone(),
/// };
/// let mut clear = Clear::default();
/// net.visit_mut(&mut clear);
/// assert_eq!((net.steps.tensor().item::<i64>()?, net.layer.kind()), (0, "Identity"));
/// assert_eq!(clear.shared, ["head"]);
/// # Ok::<(), module_core::Error>(())
/// ```
pub trait VisitorMut<'a> {
    /// A trainable tensor.
    fn parameter(&mut self, name: &str, parameter: &'a mut Parameter) {
        let _ = (name, parameter);
    }

    /// State that is not trained.
    fn buffer(&mut self, name: &str, buffer: &'a mut Buffer) {
        let _ = (name, buffer);
    }

    /// A child; its own members are shown by its own `visit_mut`.
    fn module(&mut self, name: &str, module: &'a mut dyn Module) {
        let _ = (name, module);
    }

    /// A boxed layer, which may be replaced by one of another type. A visitor that returns it instead receives the
    /// [`module`](Self::module) that it holds.
    fn layer(
        &mut self,
        name: &str,
        layer: &'a mut Box<dyn Layer>,
    ) -> Option<&'a mut Box<dyn Layer>> {
        let _ = name;
        Some(layer)
    }

    /// A layer's holder of adapters. A visitor that returns it receives its members.
    #[doc(hidden)]
    fn extension(&mut self, extension: &'a mut dyn Any) -> Option<&'a mut dyn Any> {
        Some(extension)
    }

    /// A child behind an `Arc` with other handles, so that it cannot be borrowed mutably; without a name, the visited
    /// module itself.
    fn shared(&mut self, name: &str, module: &'a dyn Module) {
        let _ = (name, module);
    }
}

/// Prints the constants of a module as `name=value`, separated by commas.
pub(crate) struct Constants<'f, 'b> {
    f: &'f mut fmt::Formatter<'b>,
    first: bool,
    result: fmt::Result,
}

impl Constants<'_, '_> {
    pub(crate) fn of<M: Module + ?Sized>(module: &M, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut constants = Constants {
            f,
            first: true,
            result: Ok(()),
        };
        module.visit(&mut constants);
        constants.result
    }
}

impl<'a> Visitor<'a> for Constants<'_, '_> {
    fn constant(&mut self, name: &str, value: &'a dyn Constant) {
        if self.result.is_err() {
            return;
        }
        let separator = if self.first { "" } else { ", " };
        self.first = false;
        self.result = write!(self.f, "{separator}{name}=").and_then(|()| value.fmt(self.f));
    }
}
