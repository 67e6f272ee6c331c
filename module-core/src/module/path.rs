//! Looking up a member by its dotted path.

use super::walk::{MemberRef, join, members};
use super::{Buffer, Module, Parameter, VisitorMut};
use crate::error::suggest;
use crate::{Error, ModuleError, Result};

fn find<'a>(module: &'a dyn Module, path: &str, step: &str) -> Result<MemberRef<'a>> {
    let members = members(module);
    let names = members.iter().map(|(name, _)| name.as_str());
    let suggestion = suggest(step, names);
    members
        .into_iter()
        .find(|(name, _)| name == step)
        .map(|(_, member)| member)
        .ok_or_else(|| {
            let (path, step, module) = (path.to_owned(), step.to_owned(), module.kind());
            ModuleError::NoSuchMember {
                path,
                step,
                module,
                suggestion,
            }
            .into()
        })
}

fn wrong_kind_error(
    module: &dyn Module,
    path: &str,
    step: &str,
    found: &MemberRef<'_>,
    expected: &'static str,
) -> Error {
    let found = match found {
        MemberRef::Parameter(_) => "parameter",
        MemberRef::Buffer(_) => "buffer",
        MemberRef::Module(_) => "module",
        MemberRef::Constant => "constant",
    };
    let (path, step, module) = (path.to_owned(), step.to_owned(), module.kind());
    ModuleError::WrongMember {
        path,
        step,
        module,
        found,
        expected,
    }
    .into()
}

/// The module at `path`; the empty path is the root.
pub(crate) fn submodule<'a>(root: &'a dyn Module, path: &str) -> Result<&'a dyn Module> {
    descend(root, path, path)
}

fn descend<'a>(root: &'a dyn Module, whole: &str, path: &str) -> Result<&'a dyn Module> {
    let mut module = root;
    for step in path.split('.').filter(|_| !path.is_empty()) {
        module = match find(module, whole, step)? {
            MemberRef::Module(child) => child,
            other => return Err(wrong_kind_error(module, whole, step, &other, "module")),
        };
    }
    Ok(module)
}

/// The owner of the last step of `path`, and that step.
fn owner<'a, 'p>(root: &'a dyn Module, path: &'p str) -> Result<(&'a dyn Module, &'p str)> {
    let (parent, step) = path.rsplit_once('.').unwrap_or(("", path));
    Ok((descend(root, path, parent)?, step))
}

pub(crate) fn parameter<'a>(root: &'a dyn Module, path: &str) -> Result<&'a Parameter> {
    let (module, step) = owner(root, path)?;
    match find(module, path, step)? {
        MemberRef::Parameter(parameter) => Ok(parameter),
        other => Err(wrong_kind_error(module, path, step, &other, "parameter")),
    }
}

pub(crate) fn buffer<'a>(root: &'a dyn Module, path: &str) -> Result<&'a Buffer> {
    let (module, step) = owner(root, path)?;
    match find(module, path, step)? {
        MemberRef::Buffer(buffer) => Ok(buffer),
        other => Err(wrong_kind_error(module, path, step, &other, "buffer")),
    }
}

/// The child under one name, mutably.
struct Child<'s, 'a> {
    step: &'s str,
    found: Option<&'a mut dyn Module>,
}

impl<'a> VisitorMut<'a> for Child<'_, 'a> {
    fn module(&mut self, name: &str, module: &'a mut dyn Module) {
        if name == self.step {
            self.found = Some(module);
        }
    }
}

/// The module at `path`, mutably.
pub(crate) fn submodule_mut<'a>(
    root: &'a mut dyn Module,
    path: &str,
) -> Result<&'a mut dyn Module> {
    // The shared walk finds every mistake in the path, with its error.
    let kind = submodule(root, path)?.kind();
    let mut module = root;
    for step in path.split('.').filter(|_| !path.is_empty()) {
        let mut child = Child { step, found: None };
        module.visit_mut(&mut child);
        module = child.found.ok_or_else(|| {
            Error::from(ModuleError::SharedModule {
                path: path.to_owned(),
                module: kind,
            })
        })?;
    }
    Ok(module)
}

/// Calls `f` on every module, children first, with its path.
pub(crate) fn apply(root: &mut dyn Module, f: &mut dyn FnMut(&str, &mut dyn Module)) -> Result<()> {
    struct Apply<'f> {
        path: String,
        f: &'f mut dyn FnMut(&str, &mut dyn Module),
        shared: Option<Error>,
    }

    impl<'a> VisitorMut<'a> for Apply<'_> {
        fn module(&mut self, name: &str, module: &'a mut dyn Module) {
            let path = join(&self.path, name);
            let mut inner = Apply {
                path,
                f: &mut *self.f,
                shared: self.shared.take(),
            };
            module.visit_mut(&mut inner);
            let Apply { path, shared, .. } = inner;
            self.shared = shared;
            (self.f)(&path, module);
        }

        fn shared(&mut self, name: &str, module: &'a dyn Module) {
            let path = match name {
                "" => self.path.clone(),
                name => join(&self.path, name),
            };
            let module = module.kind();
            self.shared
                .get_or_insert_with(|| ModuleError::SharedModule { path, module }.into());
        }
    }

    // Nothing is applied unless everything can be: the first walk only looks for shared modules.
    let mut nothing = |_: &str, _: &mut dyn Module| {};
    let mut look = Apply {
        path: String::new(),
        f: &mut nothing,
        shared: None,
    };
    root.visit_mut(&mut look);
    if let Some(error) = look.shared {
        return Err(error);
    }
    let mut apply = Apply {
        path: String::new(),
        f,
        shared: None,
    };
    root.visit_mut(&mut apply);
    f("", root);
    Ok(())
}
