//! Freezing parts of a tree.

use super::{Buffer, Module, Training, Visitor, Walk, walk};
use crate::{ModuleError, Result, Select};

/// The buffers and the mode flag of one module.
#[derive(Default)]
struct Own<'a> {
    buffers: Vec<String>,
    flag: Option<&'a Training>,
}

impl<'a> Visitor<'a> for Own<'a> {
    fn buffer(&mut self, name: &str, _: &'a Buffer) {
        self.buffers.push(name.to_owned());
    }

    fn training(&mut self, flag: &'a Training) {
        self.flag = Some(flag);
    }
}

/// Freezes or unfreezes the selection: parameters, and with `statistics` the buffers of modules that have a mode. Returns
/// the paths.
pub(crate) fn set_frozen(
    root: &dyn Module,
    select: &Select,
    frozen: bool,
    statistics: bool,
) -> Result<Vec<String>> {
    // Any name of a tied tensor may be the selected one.
    let every_path = Walk::new().remove_duplicate(false);
    let parameters = walk::parameters(root, &every_path);
    let mut modules = Vec::new();
    for (path, module) in walk::modules(root, &every_path)
        .into_iter()
        .filter(|_| statistics)
    {
        let mut own = Own::default();
        module.visit(&mut own);
        own.buffers
            .iter_mut()
            .for_each(|name| *name = walk::join(&path, name));
        modules.push(own);
    }
    let buffers = modules.iter().flat_map(|own| &own.buffers);
    let paths = parameters.iter().map(|(path, _)| path).chain(buffers);
    select.resolve(paths.map(String::as_str))?;
    let mut changed = Vec::new();
    for (path, parameter) in parameters
        .into_iter()
        .filter(|(path, _)| select.covers(path))
    {
        match frozen {
            true => parameter.freeze(),
            false => parameter.unfreeze(),
        }
        changed.push(path);
    }
    for Own { buffers, flag } in modules {
        let (selected, rest): (Vec<String>, Vec<String>) =
            buffers.into_iter().partition(|path| select.covers(path));
        // Statistics belong together: they cannot be frozen individually.
        if selected.is_empty() || (frozen && flag.is_some() && !rest.is_empty()) {
            continue;
        }
        if let Some(flag) = flag {
            flag.set_frozen(frozen);
        }
        changed.extend(selected);
    }
    if changed.is_empty() && !select.is_none() {
        return Err(ModuleError::NothingSelected {
            selection: select.to_string(),
            suggestion: None,
            names: Vec::new(),
        }
        .into());
    }
    Ok(changed)
}
