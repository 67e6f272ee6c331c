//! The observations of the training steps.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::graph::Graph;
use super::options::AuditOptions;
use super::probe::Probes;
use super::stats::{Stats, change, same_values};
use crate::module::ModuleId;
use crate::{Buffer, GraphNode, Module, Parameter, Tensor};

/// The observations of all steps.
pub(super) struct Record<'m> {
    pub(super) options: AuditOptions,
    /// In the order of `named_modules`, the model first.
    pub(super) modules: Vec<ModuleRecord<'m>>,
    /// Each once, tied ones under their first path.
    pub(super) parameters: Vec<ParameterRecord<'m>>,
    pub(super) buffers: Vec<BufferRecord<'m>>,
    pub(super) steps: Vec<Step>,
}

/// A module of the model.
pub(super) struct ModuleRecord<'m> {
    pub(super) path: String,
    pub(super) kind: &'static str,
    pub(super) module: &'m dyn Module,
    /// The module that contains it, as an index; `None` for the model.
    pub(super) parent: Option<usize>,
    /// Its own parameters, without those of its children, as indices; a tied one belongs to each module.
    pub(super) parameters: Vec<usize>,
    /// Its own buffers, as indices.
    pub(super) buffers: Vec<usize>,
}

pub(super) struct ParameterRecord<'m> {
    pub(super) path: String,
    /// The first module that contains it, as an index.
    pub(super) module: usize,
    pub(super) parameter: &'m Parameter,
    /// The number of its node in every graph.
    pub(super) leaf: u64,
}

pub(super) struct BufferRecord<'m> {
    pub(super) path: String,
    pub(super) buffer: &'m Buffer,
}

/// One step of the training.
pub(super) struct Step {
    /// The state at the beginning.
    pub(super) start: State,
    /// The state at the end.
    pub(super) end: State,
    /// The calls in the order in which they began.
    pub(super) calls: Vec<CallRecord>,
    /// The backward passes, in order.
    pub(super) passes: Vec<PassRecord>,
    /// The losses that functions of a prediction and a target computed, in order.
    pub(super) loss_calls: Vec<LossRecord>,
    /// The losses that the closure returned.
    pub(super) losses: Vec<Tensor>,
    /// The gradients of parameters and of the inputs and outputs of calls, by node.
    pub(super) grads: HashMap<u64, GradSlot>,
    /// The leaves of parameters that some pass gave a zero gradient.
    pub(super) zeros: HashSet<u64>,
    /// Cached statistics.
    pub(super) known: KnownNumbers,
    /// The nodes behind all calls, passes and losses.
    pub(super) graph: Graph,
    /// The results of gradients with respect to inputs.
    pub(super) probes: Probes,
}

/// Numbers that several checks need.
#[derive(Default)]
pub(super) struct KnownNumbers {
    /// Of gradients, by node.
    grads: RefCell<HashMap<u64, Option<Stats>>>,
    /// How far each parameter moved.
    changes: RefCell<HashMap<usize, Option<f64>>>,
}

/// The state of a model; it holds handles, because tensors do not change.
pub(super) struct State {
    /// For each parameter.
    pub(super) parameters: Vec<ParameterState>,
    /// The value of each buffer.
    pub(super) buffers: Vec<Tensor>,
    /// The mode of each module that has one.
    pub(super) modes: Vec<Option<Mode>>,
}

pub(super) struct ParameterState {
    pub(super) value: Tensor,
    /// The value, as long as something needs it: until the step has been read.
    pub(super) grad: Option<Tensor>,
    /// Whether it is trained.
    pub(super) requires_grad: bool,
    /// The statistics of the value, once requested.
    stats: OnceCell<Stats>,
}

impl ParameterState {
    pub(super) fn of(parameter: &Parameter) -> Self {
        Self {
            value: parameter.detach(),
            grad: parameter.grad(),
            requires_grad: parameter.requires_grad(),
            stats: OnceCell::new(),
        }
    }

    /// The statistics of the value.
    pub(super) fn stats(&self) -> Stats {
        *self.stats.get_or_init(|| Stats::of(&self.value))
    }

    /// Whether it is a matrix whose size can be compared with others: neither zero nor near zero.
    pub(super) fn is_sized_matrix(&self) -> bool {
        self.value.rank() > 1 && !self.is_nearly_nothing() && self.stats().is_finite()
    }

    /// Whether its size is near zero.
    pub(super) fn is_nearly_nothing(&self) -> bool {
        self.stats().rms <= NEARLY_NOTHING
    }
}

/// The root mean square below which a weight counts as near zero.
const NEARLY_NOTHING: f64 = 1e-3;

/// The mode flag of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub(super) training: bool,
    /// Whether its statistics are frozen.
    pub(super) frozen: bool,
}

/// A call of a module.
pub(super) struct CallRecord {
    /// The module of the model, as an index; `None` for a module outside the model.
    pub(super) module: Option<usize>,
    /// The identity of the module.
    pub(super) id: ModuleId,
    /// The name of its type.
    pub(super) kind: &'static str,
    /// The call that made this one, as an index.
    pub(super) parent: Option<usize>,
    pub(super) inputs: Vec<Seen>,
    /// None if it failed.
    pub(super) outputs: Vec<Seen>,
    /// The mode that it ran in.
    pub(super) mode: Option<Mode>,
    /// Whether a graph was recorded.
    pub(super) grad_enabled: bool,
    /// Whether it was made within a backward pass that recomputes activations.
    pub(super) recomputed: bool,
    /// The numbers of the nodes made during the call: from the first to before the second.
    pub(super) nodes: (u64, u64),
}

/// A loss of a prediction and a target.
pub(super) struct LossRecord {
    /// The name of the function.
    pub(super) name: &'static str,
    /// The innermost call during which it was computed, as an index.
    pub(super) call: Option<usize>,
    /// The node of the prediction, if it was tracked.
    pub(super) input: Option<u64>,
    /// Detached.
    pub(super) target: Tensor,
    /// The ignored class, if targets are classes.
    pub(super) ignore_index: Option<i64>,
}

/// Where a hook stores a gradient: that of the last pass.
pub(super) type GradSlot = Arc<Mutex<Option<Tensor>>>;

/// An input or output tensor of a call.
pub(super) struct Seen {
    /// Detached.
    pub(super) tensor: Tensor,
    /// The number of its node, if it was tracked.
    pub(super) node: Option<u64>,
    /// The gradient that arrived there, the last one if there were several passes.
    grad: GradSlot,
    /// The statistics, once requested.
    stats: OnceCell<Stats>,
}

impl Seen {
    pub(super) fn new(tensor: &Tensor, node: Option<&GraphNode>) -> Self {
        Self {
            tensor: tensor.detach(),
            node: node.map(GraphNode::id),
            grad: Arc::default(),
            stats: OnceCell::new(),
        }
    }

    /// Where the hook stores the gradient.
    pub(super) fn slot(&self) -> GradSlot {
        self.grad.clone()
    }

    /// The gradient that arrived, if one did.
    pub(super) fn grad(&self) -> Option<Tensor> {
        lock(&self.grad).clone()
    }

    /// The statistics of the values.
    pub(super) fn stats(&self) -> Stats {
        *self.stats.get_or_init(|| Stats::of(&self.tensor))
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A backward pass.
pub(super) struct PassRecord {
    /// The numbers of the nodes that it started from.
    pub(super) roots: Vec<u64>,
    /// The nodes whose gradients were requested, if the pass adds none to leaves.
    pub(super) inputs: Option<Vec<u64>>,
    /// The parameters that already had a gradient at the beginning of the step, as indices; not those whose gradient was
    /// dropped before anything else was done with it.
    pub(super) stale: Vec<usize>,
    /// The numbers of all nodes that it can reach.
    pub(super) reached: HashSet<u64>,
}

impl CallRecord {
    /// Marks tensors whose nodes are not in the graph as untracked.
    pub(super) fn forget_all_but(&mut self, graph: &Graph) {
        for seen in self.inputs.iter_mut().chain(&mut self.outputs) {
            seen.node = seen.node.filter(|&node| graph.get(node).is_some());
        }
    }
}

impl Step {
    /// Whether the step changed the value of a parameter.
    pub(super) fn moved(&self, parameter: usize) -> bool {
        let [before, after] =
            [&self.start, &self.end].map(|state| &state.parameters[parameter].value);
        !same_values(before, after)
    }

    /// The gradient of a node: of a parameter, or of an input or output of a call.
    pub(super) fn grad_of(&self, node: u64) -> Option<Tensor> {
        self.grads.get(&node).and_then(|slot| lock(slot).clone())
    }

    /// The statistics of the gradient of a node.
    pub(super) fn grad_stats(&self, node: u64) -> Option<Stats> {
        let mut known = self.known.grads.borrow_mut();
        let compute = || self.grad_of(node).map(|grad| Stats::of(&grad));
        *known.entry(node).or_insert_with(compute)
    }

    /// Computes what the checks need from the parameters that the step trains, while they are in the cache, and drops
    /// gradients that are no longer needed.
    pub(super) fn read_parameters(&mut self, parameters: &[ParameterRecord<'_>]) {
        for (index, known) in parameters.iter().enumerate() {
            self.end.parameters[index].grad = None;
            if !self.passes.iter().any(|pass| pass.stale.contains(&index)) {
                self.start.parameters[index].grad = None;
            }
            if self.trains(known.leaf) {
                let _ = self.start.parameters[index].stats();
                self.change(index);
                self.grad_stats(known.leaf);
                self.grads.remove(&known.leaf);
            }
        }
    }

    /// The norm of a step's change to a parameter.
    pub(super) fn change(&self, parameter: usize) -> Option<f64> {
        let states = [&self.start, &self.end];
        let [before, after] = states.map(|state| &state.parameters[parameter].value);
        let mut known = self.known.changes.borrow_mut();
        *known
            .entry(parameter)
            .or_insert_with(|| change(before, after))
    }

    /// The passes that add gradients to leaves.
    pub(super) fn adding_passes(&self) -> impl Iterator<Item = &PassRecord> {
        self.passes.iter().filter(|pass| pass.inputs.is_none())
    }

    /// Whether a pass of this step adds a gradient to this leaf.
    pub(super) fn trains(&self, leaf: u64) -> bool {
        self.adding_passes()
            .any(|pass| pass.reached.contains(&leaf))
    }

    /// Whether any pass of this step goes through this node.
    pub(super) fn reaches(&self, node: u64) -> bool {
        self.passes.iter().any(|pass| pass.reached.contains(&node))
    }

    /// The innermost call during which a node was made.
    pub(super) fn call_of_node(&self, node: u64) -> Option<usize> {
        let within = |call: &CallRecord| (call.nodes.0..call.nodes.1).contains(&node);
        // Of nested calls, the innermost began last.
        self.calls.iter().rposition(within)
    }

    /// The calls of the model's modules that ran forward, with their index and that of their module.
    pub(super) fn model_calls(&self) -> impl Iterator<Item = (usize, usize, &CallRecord)> {
        let calls = self.calls.iter().enumerate();
        calls.filter_map(|(i, call)| Some((i, call.module?, call)).filter(|_| !call.recomputed))
    }
}

impl Record<'_> {
    /// The modules as indices by identity.
    pub(super) fn by_id(&self) -> HashMap<ModuleId, usize> {
        let modules = self.modules.iter().enumerate();
        modules.map(|(i, module)| (module.module.id(), i)).collect()
    }

    /// A module and all that contain it, innermost first.
    pub(super) fn with_parents(&self, module: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(module), |&i| self.modules[i].parent)
    }

    /// Whether `module` is `ancestor` or one of its descendants.
    pub(super) fn is_within(&self, module: usize, ancestor: usize) -> bool {
        self.with_parents(module).any(|i| i == ancestor)
    }

    /// The path of a call's module and its type, in readable form: `encoder.0 (Linear)`.
    pub(super) fn name_call(&self, call: &CallRecord) -> String {
        match call.module {
            Some(module) => self.name_module(module),
            None => format!("a `{}` outside of the model", call.kind),
        }
    }

    /// The path of a module and its type, in readable form.
    pub(super) fn name_module(&self, module: usize) -> String {
        let ModuleRecord { path, kind, .. } = &self.modules[module];
        match path.as_str() {
            "" => format!("the model itself ({kind})"),
            path => format!("`{path}` ({kind})"),
        }
    }

    /// The indices of the parameters of a module and its descendants.
    pub(super) fn parameters_within(&self, module: usize) -> Vec<usize> {
        let modules = self.modules.iter().enumerate();
        let within = modules.filter(|(i, _)| self.is_within(*i, module));
        within
            .flat_map(|(_, module)| module.parameters.iter().copied())
            .collect()
    }

    /// Whether a parameter was trained in any of the steps: not paused at the beginning or end of the step, or reached by a
    /// pass, like one that is paused for only part of the step.
    pub(super) fn is_trainable(&self, parameter: usize) -> bool {
        let leaf = self.parameters[parameter].leaf;
        self.steps.iter().any(|step| {
            let states = [&step.start, &step.end];
            states
                .iter()
                .any(|state| state.parameters[parameter].requires_grad)
                || step.trains(leaf)
        })
    }
}
