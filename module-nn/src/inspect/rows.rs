//! The rows of a summary: the calls of a pass, the modules around them that are not called themselves, and uncalled
//! modules.

use std::collections::HashSet;
use std::time::Duration;

use indexmap::IndexMap;

use super::model_info::flags;
use super::tensor_info::TensorInfo;
use super::trace::{Trace, TracedCall};
use crate::{Module, ModuleExt, TensorId};

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) path: String,
    pub(super) kind: &'static str,
    pub(super) depth: usize,
    pub(super) inputs: Vec<TensorInfo>,
    pub(super) outputs: Vec<TensorInfo>,
    pub(super) kernel: Option<String>,
    /// The parameters of the module including everything in it.
    pub(super) parameters: usize,
    pub(super) trainable: usize,
    /// The parameters that no row below shows.
    pub(super) left: usize,
    /// Including those of the calls below.
    pub(super) mult_adds: u64,
    pub(super) is_leaf: bool,
    pub(super) is_repeat: bool,
    pub(super) reached: bool,
    pub(super) training: Option<bool>,
    pub(super) time: Option<Duration>,
}

impl Row {
    fn new(path: &str, module: &dyn Module) -> Self {
        let own = flags(module);
        Self {
            path: path.to_owned(),
            kind: module.kind(),
            depth: depth(path),
            inputs: Vec::new(),
            outputs: Vec::new(),
            kernel: None,
            parameters: module.num_parameters(),
            trainable: module.num_trainable(),
            left: 0,
            mult_adds: 0,
            is_leaf: module.children().next().is_none(),
            is_repeat: false,
            reached: true,
            training: own.first().map(|(_, training)| *training),
            time: None,
        }
    }

    fn with_call(self, call: &TracedCall) -> Self {
        Self {
            inputs: call.inputs.clone(),
            outputs: call.outputs.clone(),
            kernel: call.kernel.clone(),
            mult_adds: call.mult_adds,
            is_repeat: call.is_repeat,
            time: Some(call.time),
            ..self
        }
    }
}

fn depth(path: &str) -> usize {
    match path {
        "" => 0,
        path => 1 + path.matches('.').count(),
    }
}

/// Whether a module is inside another, by their paths.
fn is_inside(path: &str, outer: &str) -> bool {
    let rest = path.strip_prefix(outer);
    outer.is_empty() && !path.is_empty() || rest.is_some_and(|rest| rest.starts_with('.'))
}

/// The paths of the containing modules, outermost first, without the model.
fn enclosing_paths(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('.').map(|(end, _)| &path[..end])
}

pub(super) fn rows(model: &dyn Module, trace: &Trace) -> Vec<Row> {
    let modules: IndexMap<String, &dyn Module> = model.named_modules().collect();
    let mut rows: Vec<Row> = Vec::new();
    // The modules that contain the previous row.
    let mut open: Vec<String> = Vec::new();
    for call in trace.calls() {
        open.retain(|path| is_inside(&call.path, path));
        for path in enclosing_paths(&call.path) {
            if let (false, Some(module)) = (open.iter().any(|o| o == path), modules.get(path)) {
                rows.push(Row::new(path, *module));
                open.push(path.to_owned());
            }
        }
        if let Some(module) = modules.get(&call.path) {
            rows.push(Row::new(&call.path, *module).with_call(call));
            open.push(call.path.clone());
        }
    }
    let reached: HashSet<String> = rows.iter().map(|row| row.path.clone()).collect();
    let mut missing: Vec<(&String, &dyn Module)> = Vec::new();
    for (path, module) in &modules {
        let within = missing.iter().any(|(outer, _)| is_inside(path, outer));
        if !within && !reached.contains(path) {
            missing.push((path, *module));
        }
    }
    for (path, module) in missing {
        let row = Row {
            reached: false,
            ..Row::new(path, module)
        };
        // After the last row of the module that contains it.
        let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
        let last = rows
            .iter()
            .rposition(|row| row.path == parent || is_inside(&row.path, parent));
        rows.insert(last.map_or(rows.len(), |last| last + 1), row);
    }
    for i in 0..rows.len() {
        let below = rows[i + 1..]
            .iter()
            .take_while(|row| row.depth > rows[i].depth);
        let mult_adds = below
            .clone()
            .map(|row| row.mult_adds)
            .fold(0, u64::saturating_add);
        let mut shown: HashSet<TensorId> = HashSet::new();
        for module in below.filter_map(|row| modules.get(&row.path)) {
            shown.extend(module.parameters().map(|parameter| parameter.id()));
        }
        let Some(module) = modules.get(&rows[i].path) else {
            continue;
        };
        let left = module
            .parameters()
            .filter(|parameter| !shown.contains(&parameter.id()));
        rows[i].left = left.map(|parameter| parameter.numel()).sum();
        if !rows[i].is_leaf {
            rows[i].mult_adds = mult_adds;
        }
    }
    rows
}
