use std::fmt::Debug;

use module_nn::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Arguments;
use super::extreme::Extreme;

/// What a constructor's arguments are used to build.
type Make<T> = Box<dyn Fn(&Value) -> Result<T>>;

/// One layer of the registry.
pub struct Entry {
    /// PyTorch's name.
    pub name: &'static str,
    build: Make<Box<dyn Built>>,
    layer: Make<Box<dyn Layer>>,
    round_trip: Make<RoundTrip>,
    rebuild: Make<Option<Rebuilt>>,
}

/// A module, and a second one built from its `config()`.
pub struct Rebuilt {
    /// Whether its `config()` equals the configuration from which it was built.
    pub equal: bool,
    /// The two.
    pub modules: [Box<dyn Built>; 2],
}

/// The result of writing a configuration as JSON and reading it back.
pub enum RoundTrip {
    /// An equal configuration, with its fields.
    Same(Value),
    /// A different configuration.
    Changed,
    /// None: a layer built from other layers has no configuration that could be written.
    NoConfiguration,
}

/// A module and how to call it.
pub trait Built {
    /// The module.
    fn module(&self) -> &dyn Module;

    /// The `Debug` output of its type.
    fn debug(&self) -> String;

    /// Its outputs in order, with nested tuples flattened.
    ///
    /// # Errors
    ///
    /// Those of the module.
    fn run(&self, arguments: &Arguments<'_>) -> Result<Vec<Tensor>>;
}

/// The configuration of a layer without arguments.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}

/// How to call a module with recorded arguments.
type Run<M> = fn(&M, &Arguments<'_>) -> Result<Vec<Tensor>>;

struct Bound<M> {
    module: M,
    run: Run<M>,
}

impl<M: Module + Debug> Built for Bound<M> {
    fn module(&self) -> &dyn Module {
        self.module.as_module()
    }

    fn debug(&self) -> String {
        format!("{:?}", self.module)
    }

    fn run(&self, arguments: &Arguments<'_>) -> Result<Vec<Tensor>> {
        (self.run)(&self.module, arguments)
    }
}

/// A layer from one tensor to one tensor: `layer("Linear", Linear::config)`.
pub fn layer<C, L>(name: &'static str, config: fn(&L) -> C) -> Entry
where
    C: Build<Output = L> + Serialize + DeserializeOwned + PartialEq + 'static,
    L: Layer + Forward<Tensor, Output = Tensor> + Debug,
{
    layer_with(name, config, call)
}

/// A layer that can also be called with more than a tensor.
pub fn layer_with<C, L>(name: &'static str, config: fn(&L) -> C, run: Run<L>) -> Entry
where
    C: Build<Output = L> + Serialize + DeserializeOwned + PartialEq + 'static,
    L: Layer + Forward<Tensor, Output = Tensor> + Debug,
{
    Entry {
        layer: Box::new(move |kwargs| Ok(Box::new(read::<C>(name, kwargs)?.build()?))),
        ..module(name, config, run)
    }
}

/// A layer without arguments: `plain("ReLU", ReLU::new)`.
pub fn plain<L>(name: &'static str, new: fn() -> L) -> Entry
where
    L: Layer + Forward<Tensor, Output = Tensor> + Debug,
{
    built(name, move |_: &NoArguments| Ok(new()))
}

/// A layer that does not store its configuration.
pub fn built<C, L>(name: &'static str, build: impl Fn(&C) -> Result<L> + Copy + 'static) -> Entry
where
    C: Serialize + DeserializeOwned + PartialEq + 'static,
    L: Layer + Forward<Tensor, Output = Tensor> + Debug,
{
    Entry {
        layer: Box::new(move |kwargs| Ok(Box::new(build(&read(name, kwargs)?)?))),
        ..made(name, build, call)
    }
}

/// A loss with an input and a target.
pub fn loss<C, L>(name: &'static str, config: fn(&L) -> C) -> Entry
where
    C: Build<Output = L> + Serialize + DeserializeOwned + PartialEq + 'static,
    L: Forward<(Tensor, Tensor), Output = Tensor> + Debug,
{
    let run: Run<L> = |loss, arguments| {
        let pair = (arguments.tensor(0)?, arguments.tensor(1)?);
        Ok(vec![loss.call(pair)?])
    };
    module(name, config, run)
}

/// A loss with three tensors.
pub fn triple<C, L>(name: &'static str, config: fn(&L) -> C) -> Entry
where
    C: Build<Output = L> + Serialize + DeserializeOwned + PartialEq + 'static,
    L: Forward<(Tensor, Tensor, Tensor), Output = Tensor> + Debug,
{
    let run: Run<L> = |loss, arguments| {
        let [a, b, c] = [0, 1, 2].map(|place| arguments.tensor(place));
        Ok(vec![loss.call((a?, b?, c?))?])
    };
    module(name, config, run)
}

/// A module with a different signature.
pub fn module<C, M>(name: &'static str, config: fn(&M) -> C, run: Run<M>) -> Entry
where
    C: Build<Output = M> + Serialize + DeserializeOwned + PartialEq + 'static,
    M: Module + Debug,
{
    Entry {
        rebuild: Box::new(move |kwargs| {
            let given: C = read(name, kwargs)?;
            let first = given.build()?;
            let known = config(&first);
            let modules = [first, known.build()?];
            let modules =
                modules.map(|module| -> Box<dyn Built> { Box::new(Bound { module, run }) });
            let equal = known == given;
            Ok(Some(Rebuilt { equal, modules }))
        }),
        ..made(name, C::build, run)
    }
}

fn made<C, M>(
    name: &'static str,
    build: impl Fn(&C) -> Result<M> + Copy + 'static,
    run: Run<M>,
) -> Entry
where
    C: Serialize + DeserializeOwned + PartialEq + 'static,
    M: Module + Debug,
{
    Entry {
        name,
        build: Box::new(move |kwargs| {
            let module = build(&read(name, kwargs)?)?;
            Ok(Box::new(Bound { module, run }))
        }),
        layer: Box::new(move |_| Err(Error::custom(format!("{name} is not a layer")))),
        round_trip: Box::new(move |kwargs| {
            let first: C = read(name, kwargs)?;
            let written = serde_json::to_value(&first).map_err(Error::custom)?;
            Ok(match read::<C>(name, &written)? == first {
                true => RoundTrip::Same(written),
                false => RoundTrip::Changed,
            })
        }),
        rebuild: Box::new(|_| Ok(None)),
    }
}

fn call<L>(layer: &L, arguments: &Arguments<'_>) -> Result<Vec<Tensor>>
where
    L: Layer + Forward<Tensor, Output = Tensor>,
{
    Ok(vec![layer.call(arguments.tensor(0)?)?])
}

impl Entry {
    /// A layer that is built from other layers and has no configuration.
    pub fn composed<L: Layer + Forward<Tensor, Output = Tensor> + Debug>(
        name: &'static str,
        build: fn(&Value) -> Result<L>,
    ) -> Self {
        Self {
            name,
            build: Box::new(move |kwargs| {
                let (module, run) = (build(kwargs)?, call as Run<L>);
                Ok(Box::new(Bound { module, run }))
            }),
            layer: Box::new(move |kwargs| Ok(Box::new(build(kwargs)?))),
            round_trip: Box::new(|_| Ok(RoundTrip::NoConfiguration)),
            rebuild: Box::new(|_| Ok(None)),
        }
    }

    /// Builds the module from the constructor's arguments.
    ///
    /// # Errors
    ///
    /// Arguments that are unknown, missing, of the wrong type, or refused by the layer.
    pub fn build(&self, kwargs: &Value) -> Result<Box<dyn Built>> {
        (self.build)(kwargs)
    }

    /// Builds it as an element of a `Sequential`.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), and a module that does not map one tensor to one tensor.
    pub fn layer(&self, kwargs: &Value) -> Result<Box<dyn Layer>> {
        (self.layer)(kwargs)
    }

    /// The configuration for these arguments, written as JSON and read back.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build).
    pub fn round_trip(&self, kwargs: &Value) -> Result<RoundTrip> {
        (self.round_trip)(kwargs)
    }

    /// The module and the one built from its `config()`; `None` for a module without one.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build).
    pub fn rebuild(&self, kwargs: &Value) -> Result<Option<Rebuilt>> {
        (self.rebuild)(kwargs)
    }

    /// Whether the constructor takes no arguments, so that none can be invalid.
    pub fn takes_no_arguments(&self) -> bool {
        let none = Value::Object(serde_json::Map::new());
        matches!(self.round_trip(&none), Ok(RoundTrip::Same(all)) if all == none)
    }
}

/// The configuration from the arguments; a serde error is an error of the layer.
fn read<C: DeserializeOwned>(name: &'static str, kwargs: &Value) -> Result<C> {
    let refused =
        |error: serde_json::Error| Error::argument(name, "kwargs", kwargs, error.to_string());
    C::deserialize(Extreme(kwargs)).map_err(refused)
}
