//! Walks over the tree of a module, in PyTorch's order.

use super::identity::Seen;
use super::{Buffer, Module, ModuleId, Parameter, TensorId, Training, Visitor};

/// The options of a walk: PyTorch's `recurse`, `remove_duplicate` and `prefix`.
///
/// # Example
///
/// ```
/// use module_core::Walk;
///
/// let every_path = Walk::new().remove_duplicate(false).prefix("model");
/// ```
///
/// ```
/// use module_core::{Identity, ModuleExt, Sequential, Walk};
///
/// // Only the module itself and its own children.
/// let net = Sequential::new().push(Sequential::new().push(Identity::new()));
/// let names = |walk| net.named_modules_with(walk).map(|(name, _)| name).collect::<Vec<_>>();
/// assert_eq!(names(Walk::new().prefix("net")), ["net", "net.0", "net.0.0"]);
/// assert_eq!(names(Walk::new().recurse(false)), [""]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    pub(crate) recurse: bool,
    pub(crate) remove_duplicate: bool,
    pub(crate) prefix: String,
}

impl Walk {
    /// All descendants, each once, without a prefix.
    pub fn new() -> Self {
        Self {
            recurse: true,
            remove_duplicate: true,
            prefix: String::new(),
        }
    }

    /// Whether to enter children.
    #[must_use]
    pub fn recurse(self, recurse: bool) -> Self {
        Self { recurse, ..self }
    }

    /// Whether a module or tensor with several paths is listed only under the first one.
    #[must_use]
    pub fn remove_duplicate(self, remove_duplicate: bool) -> Self {
        Self {
            remove_duplicate,
            ..self
        }
    }

    /// The prefix of every name.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            ..self
        }
    }
}

impl Default for Walk {
    fn default() -> Self {
        Self::new()
    }
}

/// `name` inside the module at `path`.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        return name.to_owned();
    }
    let mut joined = String::with_capacity(path.len() + 1 + name.len());
    joined.push_str(path);
    joined.push('.');
    joined.push_str(name);
    joined
}

/// A member of a module, with its name.
pub(crate) enum MemberRef<'a> {
    Parameter(&'a Parameter),
    Buffer(&'a Buffer),
    Module(&'a dyn Module),
    Constant,
}

/// The members of one module, in declaration order.
pub(crate) fn members(module: &dyn Module) -> Vec<(String, MemberRef<'_>)> {
    struct Collect<'a>(Vec<(String, MemberRef<'a>)>);

    impl<'a> Visitor<'a> for Collect<'a> {
        fn parameter(&mut self, name: &str, parameter: &'a Parameter) {
            self.0
                .push((name.to_owned(), MemberRef::Parameter(parameter)));
        }

        fn buffer(&mut self, name: &str, buffer: &'a Buffer) {
            self.0.push((name.to_owned(), MemberRef::Buffer(buffer)));
        }

        fn module(&mut self, name: &str, module: &'a dyn Module) {
            self.0.push((name.to_owned(), MemberRef::Module(module)));
        }

        fn constant(&mut self, name: &str, _: &'a dyn super::Constant) {
            self.0.push((name.to_owned(), MemberRef::Constant));
        }
    }

    let mut collect = Collect(Vec::new());
    module.visit(&mut collect);
    collect.0
}

/// The child modules of one module; for one that it holds twice, the first name.
pub(crate) fn children(module: &dyn Module) -> Vec<(String, &dyn Module)> {
    let mut seen = Seen::default();
    let members = members(module).into_iter();
    let found = members.filter_map(|(name, member)| match member {
        MemberRef::Module(child) if seen.insert(child.id()) => Some((name, child)),
        _ => None,
    });
    found.collect()
}

/// Pre-order, root first.
pub(crate) fn modules<'a>(root: &'a dyn Module, walk: &Walk) -> Vec<(String, &'a dyn Module)> {
    let mut found = Vec::new();
    let mut seen = walk.remove_duplicate.then(Seen::default);
    enter(
        root,
        walk.prefix.clone(),
        walk.recurse,
        &mut seen,
        &mut found,
    );
    found
}

struct Children<'s, 'a> {
    path: &'s str,
    seen: &'s mut Option<Seen<ModuleId>>,
    found: &'s mut Vec<(String, &'a dyn Module)>,
}

impl<'a> Visitor<'a> for Children<'_, 'a> {
    fn module(&mut self, name: &str, module: &'a dyn Module) {
        enter(module, join(self.path, name), true, self.seen, self.found);
    }
}

fn enter<'a>(
    module: &'a dyn Module,
    path: String,
    recurse: bool,
    seen: &mut Option<Seen<ModuleId>>,
    found: &mut Vec<(String, &'a dyn Module)>,
) {
    if seen.as_mut().is_some_and(|seen| !seen.insert(module.id())) {
        return;
    }
    // It gets its path when those of its children have been made of it.
    let index = found.len();
    found.push((String::new(), module));
    if recurse {
        let path = &path;
        module.visit(&mut Children { path, seen, found });
    }
    found[index].0 = path;
}

struct Parameters<'s, 'a> {
    path: &'s str,
    found: &'s mut Vec<(String, &'a Parameter)>,
}

impl<'a> Visitor<'a> for Parameters<'_, 'a> {
    fn parameter(&mut self, name: &str, parameter: &'a Parameter) {
        self.found.push((join(self.path, name), parameter));
    }
}

/// A module's own first, then its descendants'; for a tied one, the first name.
pub(crate) fn parameters<'a>(root: &'a dyn Module, walk: &Walk) -> Vec<(String, &'a Parameter)> {
    let mut found = Vec::new();
    for (path, module) in modules(root, walk) {
        module.visit(&mut Parameters {
            path: &path,
            found: &mut found,
        });
    }
    if walk.remove_duplicate {
        let mut seen = Seen::default();
        found.retain(|(_, parameter)| seen.insert(parameter.id()));
    }
    found
}

/// Shows every parameter of a tree once, in no particular order.
pub(crate) fn each_parameter<'a>(root: &'a dyn Module, f: &mut dyn FnMut(&'a Parameter)) {
    struct Each<'f, 'a> {
        modules: Seen<ModuleId>,
        parameters: Seen<TensorId>,
        f: &'f mut dyn FnMut(&'a Parameter),
    }

    impl<'a> Visitor<'a> for Each<'_, 'a> {
        fn parameter(&mut self, _: &str, parameter: &'a Parameter) {
            if self.parameters.insert(parameter.id()) {
                (self.f)(parameter);
            }
        }

        fn module(&mut self, _: &str, module: &'a dyn Module) {
            if self.modules.insert(module.id()) {
                module.visit(self);
            }
        }
    }

    let mut each = Each {
        modules: Seen::default(),
        parameters: Seen::default(),
        f,
    };
    each.modules.insert(root.id());
    root.visit(&mut each);
}

/// The number of elements of the parameters to be counted.
pub(crate) fn numel(root: &dyn Module, counts: fn(&Parameter) -> bool) -> usize {
    let mut total = 0;
    each_parameter(root, &mut |parameter| {
        if counts(parameter) {
            total += parameter.numel();
        }
    });
    total
}

struct Buffers<'s, 'a> {
    path: &'s str,
    found: &'s mut Vec<(String, &'a Buffer)>,
}

impl<'a> Visitor<'a> for Buffers<'_, 'a> {
    fn buffer(&mut self, name: &str, buffer: &'a Buffer) {
        self.found.push((join(self.path, name), buffer));
    }
}

/// Like [`parameters`]; includes buffers that are not persistent.
pub(crate) fn buffers<'a>(root: &'a dyn Module, walk: &Walk) -> Vec<(String, &'a Buffer)> {
    let mut found = Vec::new();
    for (path, module) in modules(root, walk) {
        module.visit(&mut Buffers {
            path: &path,
            found: &mut found,
        });
    }
    if walk.remove_duplicate {
        let mut seen = Seen::default();
        found.retain(|(_, buffer)| seen.insert(buffer.id()));
    }
    found
}

/// The mode flags of a tree.
pub(crate) fn flags(root: &dyn Module) -> Vec<&Training> {
    struct Flags<'a>(Vec<&'a Training>);

    impl<'a> Visitor<'a> for Flags<'a> {
        fn training(&mut self, flag: &'a Training) {
            self.0.push(flag);
        }
    }

    let mut flags = Flags(Vec::new());
    for (_, module) in modules(root, &Walk::new()) {
        module.visit(&mut flags);
    }
    flags.0
}

/// The first path from `root` to the module `id`.
pub(crate) fn path_to(root: &dyn Module, id: (std::any::TypeId, usize)) -> Option<String> {
    modules(root, &Walk::new())
        .into_iter()
        .find(|(_, module)| module.id().parts() == id)
        .map(|found| found.0)
}
