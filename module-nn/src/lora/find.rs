//! The layers of a model that have adapters, or could.

use std::any::Any;

use module_core::module::{Visitor, VisitorMut};
use module_core::{Module, ModuleError, Parameter, Training};

use super::adapters::{Adaptable, Adapters, Held, MEMBERS};
use super::weights::WeightAdapters;

/// A module of a model, with its place for adapters if it is a layer that supports them; or one of several weights of such
/// a layer, with its own place.
pub(super) struct Found<'a> {
    pub(super) path: String,
    pub(super) module: &'a dyn Module,
    pub(super) place: Option<Place<'a>>,
    /// Its own parameters; none for a weight, which is a parameter of its layer.
    pub(super) parameters: Vec<(String, &'a Parameter)>,
    /// Its mode, if it has one.
    pub(super) training: Option<bool>,
    /// For a weight, the path of its layer.
    pub(super) layer: Option<String>,
}

impl Found<'_> {
    /// Whether it is a weight rather than a module.
    pub(super) fn is_weight(&self) -> bool {
        self.layer.is_some()
    }

    /// Whether one of the paths belongs to the module or one of its weights.
    pub(super) fn is_adapted(&self, paths: &[String]) -> bool {
        let mut own = self.parameters.iter().map(|(name, _)| name.as_str());
        paths.contains(&self.path) || own.any(|name| paths.contains(&join(&self.path, name)))
    }
}

/// Where a layer holds its adapters, and the parameters that they adapt.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) adapters: &'a Adapters,
    /// Absent if the weight is computed.
    pub(super) weight: Option<&'a Parameter>,
    pub(super) bias: Option<&'a Parameter>,
}

impl<'a> Place<'a> {
    pub(super) fn adaptable(&self) -> Adaptable {
        self.adapters.adaptable
    }

    pub(super) fn held(&self) -> Option<&'a Held> {
        self.adapters.held.as_deref()
    }
}

/// The modules of a model in PyTorch's order, under every path, without those of adapters; a layer with several adaptable
/// weights is followed by these.
pub(super) fn find(model: &dyn Module) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    enter(model.as_module(), String::new(), &mut found);
    found
}

/// Those with adapters, with their paths.
pub(super) fn adapted(model: &dyn Module) -> Vec<(String, Place<'_>)> {
    let places = find(model).into_iter();
    let places = places.filter_map(|found| found.place.map(|place| (found.path, place)));
    places
        .filter(|(_, place)| !place.adapters.is_empty())
        .collect()
}

#[derive(Default)]
struct Members<'a> {
    parameters: Vec<(String, &'a Parameter)>,
    children: Vec<(String, &'a dyn Module)>,
    adapters: Option<&'a Adapters>,
    weights: Option<&'a WeightAdapters>,
    training: Option<bool>,
}

impl<'a> Visitor<'a> for Members<'a> {
    fn training(&mut self, flag: &'a Training) {
        self.training = Some(flag.is_training());
    }

    fn parameter(&mut self, name: &str, parameter: &'a Parameter) {
        self.parameters.push((name.to_owned(), parameter));
    }

    fn module(&mut self, name: &str, module: &'a dyn Module) {
        let of_adapters = self.adapters.is_some() && MEMBERS.contains(&name)
            || self
                .weights
                .is_some_and(|weights| weights.is_member(module));
        if !of_adapters {
            self.children.push((name.to_owned(), module));
        }
    }

    fn extension(&mut self, extension: &'a dyn Any) {
        self.adapters = extension.downcast_ref().or(self.adapters);
        self.weights = extension.downcast_ref().or(self.weights);
    }
}

fn enter<'a>(module: &'a dyn Module, path: String, found: &mut Vec<Found<'a>>) {
    let mut members = Members::default();
    module.visit(&mut members);
    let Members {
        parameters,
        children,
        adapters,
        weights,
        training,
    } = members;
    let own = |wanted: &str| {
        let mut own = parameters.iter().filter(|(name, _)| name == wanted);
        own.next().map(|&(_, parameter)| parameter)
    };
    let place = adapters.map(|adapters| {
        let [weight, bias] = match adapters.adaptable {
            Adaptable::InProjection => ["in_proj_weight", "in_proj_bias"],
            _ => ["weight", "bias"],
        };
        Place {
            adapters,
            weight: own(weight),
            bias: own(bias),
        }
    });
    let joined = |name: &str| join(&path, name);
    let children: Vec<_> = children
        .into_iter()
        .map(|(name, child)| (joined(&name), child))
        .collect();
    let weights = weights.into_iter().flat_map(WeightAdapters::iter);
    let weights = weights.map(|(name, adapters)| Found {
        path: joined(name),
        module,
        place: Some(Place {
            adapters,
            weight: own(name),
            bias: None,
        }),
        parameters: Vec::new(),
        training: None,
        layer: Some(path.clone()),
    });
    let weights: Vec<Found<'_>> = weights.collect();
    found.push(Found {
        path,
        module,
        place,
        parameters,
        training,
        layer: None,
    });
    found.extend(weights);
    for (path, child) in children {
        enter(child, path, found);
    }
}

/// `name` in the module at `path`.
pub(super) fn join(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}

/// Whether `path` belongs to `module` or something in it.
pub(super) fn is_within(path: &str, module: &str) -> bool {
    let rest = path.strip_prefix(module);
    rest.is_some_and(|rest| module.is_empty() || rest.is_empty() || rest.starts_with('.'))
}

/// Calls `change` with the path and the adapters of every layer that supports them; returns the modules behind a shared
/// `Arc`, to which nobody has mutable access.
pub(super) fn each_mut(
    model: &mut dyn Module,
    change: &mut dyn FnMut(&str, &mut Adapters),
) -> Vec<(String, &'static str)> {
    let mut shared = Vec::new();
    let mut each = Each {
        path: String::new(),
        change,
        shared: &mut shared,
    };
    model.visit_mut(&mut each);
    shared
}

/// Refuses paths within modules that are shared through an `Arc`.
pub(super) fn check_exclusive<'p>(
    model: &mut dyn Module,
    paths: impl IntoIterator<Item = &'p str>,
) -> Result<(), ModuleError> {
    let shared = each_mut(model, &mut |_, _| {});
    for path in paths {
        let around = shared.iter().find(|(shared, _)| is_within(path, shared));
        if let Some((path, module)) = around {
            let (path, module) = (path.clone(), *module);
            return Err(ModuleError::SharedModule { path, module });
        }
    }
    Ok(())
}

struct Each<'f> {
    path: String,
    change: &'f mut dyn FnMut(&str, &mut Adapters),
    shared: &'f mut Vec<(String, &'static str)>,
}

impl<'a> VisitorMut<'a> for Each<'_> {
    fn module(&mut self, name: &str, module: &'a mut dyn Module) {
        let mut inner = Each {
            path: join(&self.path, name),
            change: &mut *self.change,
            shared: &mut *self.shared,
        };
        module.visit_mut(&mut inner);
    }

    fn extension(&mut self, extension: &'a mut dyn Any) -> Option<&'a mut dyn Any> {
        if let Some(adapters) = extension.downcast_mut::<Adapters>() {
            (self.change)(&self.path, adapters);
        } else if let Some(weights) = extension.downcast_mut::<WeightAdapters>() {
            for (name, adapters) in weights.iter_mut() {
                (self.change)(&join(&self.path, name), adapters);
            }
        }
        None
    }

    fn shared(&mut self, name: &str, module: &'a dyn Module) {
        self.shared.push((join(&self.path, name), module.kind()));
    }
}
