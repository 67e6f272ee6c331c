//! The parts of a model, and their values and modes.

use std::collections::HashMap;

use super::options::AuditOptions;
use super::record::{
    BufferRecord, Mode, ModuleRecord, ParameterRecord, ParameterState, Record, State,
};
use crate::module::Visitor;
use crate::{Module, ModuleExt, Training, Walk};

/// The parts of the model.
pub(super) fn survey(model: &dyn Module, options: AuditOptions) -> Record<'_> {
    let mut record = Record {
        options,
        modules: Vec::new(),
        parameters: Vec::new(),
        buffers: Vec::new(),
        steps: Vec::new(),
    };
    let mut paths = HashMap::new();
    let (mut parameters, mut buffers) = (HashMap::new(), HashMap::new());
    for (index, (path, module)) in model.named_modules().enumerate() {
        let mut own = ModuleRecord {
            parent: parent(&paths, &path),
            kind: module.kind(),
            module,
            parameters: Vec::new(),
            buffers: Vec::new(),
            path: path.clone(),
        };
        let walk = Walk::new().recurse(false).prefix(&path);
        for (path, parameter) in module.named_parameters_with(walk.clone()) {
            let number = *parameters.entry(parameter.id()).or_insert_with(|| {
                record.parameters.push(ParameterRecord {
                    path,
                    module: index,
                    parameter,
                    leaf: parameter.graph_node().id(),
                });
                record.parameters.len() - 1
            });
            own.parameters.push(number);
        }
        for (path, buffer) in module.named_buffers_with(walk) {
            let number = *buffers.entry(buffer.id()).or_insert_with(|| {
                record.buffers.push(BufferRecord { path, buffer });
                record.buffers.len() - 1
            });
            own.buffers.push(number);
        }
        paths.insert(path, index);
        record.modules.push(own);
    }
    record
}

/// The module that contains the one at `path`: names may themselves contain dots.
fn parent(known: &HashMap<String, usize>, path: &str) -> Option<usize> {
    if path.is_empty() {
        return None;
    }
    let ends = path.rmatch_indices('.').map(|(end, _)| &path[..end]);
    let found = ends.chain([""]).find_map(|path| known.get(path));
    found.copied()
}

/// The mode of a module itself, if it has one.
pub(super) fn mode(module: &dyn Module) -> Option<Mode> {
    struct Own(Option<Mode>);

    impl<'a> Visitor<'a> for Own {
        fn training(&mut self, flag: &'a Training) {
            self.0 = Some(Mode {
                training: flag.is_training(),
                frozen: flag.is_frozen(),
            });
        }
    }

    let mut own = Own(None);
    module.visit(&mut own);
    own.0
}

/// The current parameters, buffers and modes.
pub(super) fn state(record: &Record<'_>) -> State {
    let parameters = record.parameters.iter();
    let parameters = parameters.map(|known| ParameterState::of(known.parameter));
    State {
        parameters: parameters.collect(),
        buffers: record
            .buffers
            .iter()
            .map(|known| known.buffer.tensor())
            .collect(),
        modes: record
            .modules
            .iter()
            .map(|known| mode(known.module))
            .collect(),
    }
}
