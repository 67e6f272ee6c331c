use std::any::{Any, TypeId};

use indexmap::IndexMap;

use crate::module::VisitorMut;
use crate::{Error, Identity, Layer, Module, ModuleError, ModuleExt, Result, Select, Walk};

/// Replaces the selected layers by new ones, all or, if anything fails, none; returns their paths.
///
/// `make` gets the path and the current module. A boxed layer (`Box<dyn Layer>`, as in a [`Sequential`](crate::Sequential))
/// may be replaced by one of any type; a field with a concrete type only by one of that type.
///
/// # Errors
///
/// An invalid pattern, or one that matches nothing, with the nearest name; a selected module inside another one; a module
/// behind a shared `Arc`; a type that cannot change; an error of `make`.
///
/// # Example
///
/// ```
/// use module_nn::inspect::replace;
/// use module_nn::prelude::*;
///
/// let mut model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new());
/// let paths = replace(&mut model, "1", |_, _| Ok(Box::new(Identity::new())))?;
/// assert_eq!(paths, ["1"]);
/// assert_eq!(model.get_submodule("1")?.kind(), "Identity");
/// # Ok::<(), Error>(())
/// ```
pub fn replace(
    model: &mut impl Module,
    select: impl Into<Select>,
    mut make: impl FnMut(&str, &dyn Module) -> Result<Box<dyn Layer>>,
) -> Result<Vec<String>> {
    let places = places("replace", model, &select.into())?;
    let mut made = IndexMap::new();
    for SelectedModule {
        path,
        boxed,
        holds,
        kind,
    } in places
    {
        let new = unbox(make(&path, model.get_submodule(&path)?)?);
        if !boxed && holds != (&*new as &dyn Any).type_id() {
            let new = new.kind();
            let other = if new == kind { " behind a pointer" } else { "" };
            let problem = format!(
                "is a field of type {kind}, which cannot hold a {new}{other}; make the field a `Box<dyn Layer>`"
            );
            return Err(Error::argument("replace", "select", path, problem));
        }
        made.insert(path, new);
    }
    Ok(install(model, made, &mut |slot, mut new| match slot {
        ModuleMut::Boxed(layer) => *layer = new,
        ModuleMut::Typed(module) => {
            (*new).swap_with(module);
        }
    }))
}

/// Wraps the selected boxed layers, or otherwise makes new layers from them; returns their paths. If `around` panics, an
/// [`Identity`] takes the place of the old layer.
///
/// # Errors
///
/// As for [`replace`], before anything is changed; a field that is not a `Box<dyn Layer>`.
///
/// # Example
///
/// ```
/// use module_nn::inspect::wrap;
/// use module_nn::prelude::*;
///
/// let mut model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new());
/// wrap(&mut model, "0", |_, linear| Box::new(Sequential::from_iter([linear]).push(ReLU::new())))?;
/// assert_eq!(model.get_submodule("0.0")?.kind(), "Linear");
/// # Ok::<(), Error>(())
/// ```
pub fn wrap(
    model: &mut impl Module,
    select: impl Into<Select>,
    mut around: impl FnMut(&str, Box<dyn Layer>) -> Box<dyn Layer>,
) -> Result<Vec<String>> {
    let places = places("wrap", model, &select.into())?;
    if let Some(SelectedModule { path, kind, .. }) = places.iter().find(|place| !place.boxed) {
        let problem = format!(
            "is a field of type {kind}, which can hold nothing else; make the field a `Box<dyn Layer>`"
        );
        return Err(Error::argument("wrap", "select", path, problem));
    }
    let paths = places
        .into_iter()
        .map(|place| (place.path.clone(), place.path));
    Ok(install(model, paths.collect(), &mut |slot, path| {
        if let ModuleMut::Boxed(layer) = slot {
            let old = std::mem::replace(layer, Box::new(Identity::new()));
            *layer = around(&path, old);
        }
    }))
}

/// Makes new modules from the selected ones of one type, wherever they are, all or, if anything fails, none; returns their
/// paths.
///
/// # Errors
///
/// As for [`replace`]; a selected module of another type.
///
/// # Example
///
/// ```
/// use module_nn::inspect::replace_typed;
/// use module_nn::prelude::*;
///
/// let mut layers = vec![Linear::new(4, 8)?, Linear::new(8, 2)?];
/// replace_typed(&mut layers, "1", |_, old: &Linear| Linear::new(old.weight().shape()[1], 5))?;
/// assert_eq!(layers[1].weight().shape().to_string(), "[5, 8]");
/// # Ok::<(), Error>(())
/// ```
pub fn replace_typed<M: Module>(
    model: &mut impl Module,
    select: impl Into<Select>,
    mut make: impl FnMut(&str, &M) -> Result<M>,
) -> Result<Vec<String>> {
    let mut made = IndexMap::new();
    for place in places("replace_typed", model, &select.into())? {
        let old = model.get_submodule(&place.path)?.as_module();
        let old = (old as &dyn Any).downcast_ref::<M>();
        // An enum resolves to its content, and cannot be given another content of that type.
        let Some(old) = old.filter(|_| place.holds == TypeId::of::<M>()) else {
            let (kind, asked) = (place.kind, M::type_kind());
            let problem =
                format!("is a {kind}, not a {asked}; select modules of type {asked} only");
            return Err(Error::argument(
                "replace_typed",
                "select",
                place.path,
                problem,
            ));
        };
        let new = make(&place.path, old)?;
        made.insert(place.path, new);
    }
    Ok(install(model, made, &mut |slot, new| {
        let module = (slot.module() as &mut dyn Any).downcast_mut::<M>();
        if let Some(module) = module {
            *module = new;
        }
    }))
}

/// A layer without nested boxes, so that its type is that of a field.
fn unbox(mut layer: Box<dyn Layer>) -> Box<dyn Layer> {
    while let Some(inner) = (&mut *layer as &mut dyn Any).downcast_mut::<Box<dyn Layer>>() {
        layer = std::mem::replace(inner, Box::new(Identity::new()));
    }
    layer
}

/// The field that holds a module.
enum ModuleMut<'a> {
    Boxed(&'a mut Box<dyn Layer>),
    Typed(&'a mut dyn Module),
}

impl<'a> ModuleMut<'a> {
    /// The module in it.
    fn module(self) -> &'a mut dyn Module {
        match self {
            Self::Boxed(layer) => (**layer).as_module_mut(),
            Self::Typed(module) => module,
        }
    }
}

/// A selected field.
struct SelectedModule {
    path: String,
    boxed: bool,
    /// The type of the module in it; an enum counts as itself, whatever it holds.
    holds: TypeId,
    kind: &'static str,
}

/// Walks over the fields of a model, and does not descend into those that `at` accepts.
struct PlaceVisitor<'s> {
    path: String,
    at: &'s mut dyn FnMut(&str, ModuleMut<'_>),
    taken: &'s dyn Fn(&str) -> bool,
    shared: &'s mut Vec<(String, &'static str)>,
}

impl PlaceVisitor<'_> {
    fn join(&self, name: &str) -> String {
        match (self.path.as_str(), name) {
            ("", name) => name.to_owned(),
            (path, "") => path.to_owned(),
            (path, name) => format!("{path}.{name}"),
        }
    }
}

impl<'a> VisitorMut<'a> for PlaceVisitor<'_> {
    fn layer(
        &mut self,
        name: &str,
        layer: &'a mut Box<dyn Layer>,
    ) -> Option<&'a mut Box<dyn Layer>> {
        let path = self.join(name);
        if (self.taken)(&path) {
            (self.at)(&path, ModuleMut::Boxed(layer));
            return None;
        }
        Some(layer)
    }

    fn module(&mut self, name: &str, module: &'a mut dyn Module) {
        let path = self.join(name);
        if (self.taken)(&path) {
            return (self.at)(&path, ModuleMut::Typed(module));
        }
        let mut inner = PlaceVisitor {
            path,
            at: &mut *self.at,
            taken: self.taken,
            shared: &mut *self.shared,
        };
        module.visit_mut(&mut inner);
    }

    fn shared(&mut self, name: &str, module: &'a dyn Module) {
        self.shared.push((self.join(name), module.kind()));
    }
}

/// The selected fields.
fn places(
    op: &'static str,
    model: &mut impl Module,
    select: &Select,
) -> Result<Vec<SelectedModule>> {
    let every_path = Walk::new().remove_duplicate(false);
    let paths = model.named_modules_with(every_path).map(|(path, _)| path);
    let paths: Vec<String> = paths.filter(|path| !path.is_empty()).collect();
    let selected = select.resolve_modules(paths.iter().map(String::as_str))?;
    for inner in &selected {
        let is_inside = |outer: &&&str| {
            inner
                .strip_prefix(**outer)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        if let Some(outer) = selected.iter().find(is_inside) {
            let problem = format!("stands inside `{outer}`, which is selected too");
            return Err(Error::argument(op, "select", inner, problem));
        }
    }
    let (mut found, mut shared) = (Vec::new(), Vec::new());
    let mut places = PlaceVisitor {
        path: String::new(),
        at: &mut |path, slot| {
            let (path, boxed) = (path.to_owned(), matches!(slot, ModuleMut::Boxed(_)));
            let module = slot.module();
            let (holds, kind) = ((module as &dyn Any).type_id(), module.kind());
            found.push(SelectedModule {
                path,
                boxed,
                holds,
                kind,
            });
        },
        taken: &|path| selected.contains(&path),
        shared: &mut shared,
    };
    model.visit_mut(&mut places);
    let around = |path: &str, shared: &str| {
        let rest = path.strip_prefix(shared);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let missing = shared
        .into_iter()
        .find(|(shared, _)| selected.iter().any(|path| around(path, shared)));
    match missing {
        Some((path, module)) => Err(ModuleError::SharedModule { path, module }.into()),
        None => Ok(found),
    }
}

/// Gives each field its new value.
fn install<T>(
    model: &mut impl Module,
    made: IndexMap<String, T>,
    put: &mut dyn FnMut(ModuleMut<'_>, T),
) -> Vec<String> {
    let paths: Vec<String> = made.keys().cloned().collect();
    let mut made = made;
    let mut places = PlaceVisitor {
        path: String::new(),
        at: &mut |path, slot| {
            if let Some(new) = made.shift_remove(path) {
                put(slot, new);
            }
        },
        taken: &|path| paths.iter().any(|known| known == path),
        shared: &mut Vec::new(),
    };
    model.visit_mut(&mut places);
    paths
}
