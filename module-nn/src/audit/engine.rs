//! Watches training steps from outside: by hooks on the calls of all modules, on the gradients of their inputs and outputs,
//! on losses and on backward passes.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use super::graph::Graph;
use super::options::AuditOptions;
use super::probe::{ProbeLeaves, ProbeOptions, is_probing, probe};
use super::record::{
    CallRecord, GradSlot, KnownNumbers, LossRecord, PassRecord, Record, Seen, State, Step, lock,
};
use super::stats::is_zero;
use super::survey::{mode, state, survey};
use crate::autograd::{PassEvent, watch_passes};
use crate::hooks::{register_module_forward_hook_with, register_module_forward_pre_hook};
use crate::module::ModuleId;
use crate::{
    GradHookHandle, GraphNode, HookOptions, Leaf, LossCall, Module, Parameter, Result, Tensor,
    is_grad_enabled, watch_losses,
};

/// Runs the steps and records what happens.
pub(super) fn watch<'m>(
    model: &'m dyn Module,
    options: AuditOptions,
    step: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
) -> Result<Record<'m>> {
    let mut record = survey(model, options);
    for number in 0..record.options.steps {
        let leaks = |step: &Step| step.probes.records.iter().any(|probe| probe.leak.is_some());
        // If rows of a batch depend on each other, the next step searches for the module that mixes them.
        let within = record.steps.last().is_some_and(leaks);
        let probes = record.steps.iter().flat_map(|step| &step.probes.records);
        let settled = probes.filter(|probe| probe.settles());
        let probes = ProbeOptions {
            within,
            batch_dim: record.options.batch_dim,
            settled: settled.map(|probe| probe.id).collect(),
        };
        let step = watch_step(&record, probes, || step(number))?;
        record.steps.push(step);
    }
    Ok(record)
}

/// A parameter, and its state at the beginning of the step.
struct Watched {
    parameter: Parameter,
    value: Tensor,
    grad: Option<Tensor>,
}

impl Watched {
    /// Whether its gradient was dropped before anything was done with it.
    fn dropped_unused(&self) -> bool {
        self.parameter.grad().is_none_or(|grad| is_zero(&grad))
            && self.parameter.detach().shares_memory_with(&self.value)
    }
}

/// The observations of a step so far.
struct Recorder {
    modules: HashMap<ModuleId, usize>,
    parameters: Vec<Watched>,
    calls: Vec<CallRecord>,
    /// The calls in progress, outermost first.
    running: Vec<usize>,
    losses: Vec<LossRecord>,
    /// The passes, and the nodes that they start from.
    passes: Vec<(PassRecord, Vec<GraphNode>)>,
    /// The passes in progress.
    passing: usize,
    /// The nodes of everything seen, from which the graph is built at the end of the step.
    nodes: Vec<GraphNode>,
    /// The nodes whose gradients are watched.
    watched: HashSet<u64>,
    /// Hooks that watch one gradient each.
    hooks: Vec<GradHookHandle>,
    grads: HashMap<u64, GradSlot>,
    /// The leaves of parameters that a pass gave a zero gradient.
    zeros: Arc<Mutex<HashSet<u64>>>,
    /// The leaves of probes: the training does not track these.
    leaves: ProbeLeaves,
}

impl Recorder {
    fn new(record: &Record<'_>, start: &State) -> Self {
        let parameters = record.parameters.iter().zip(&start.parameters);
        let parameters = parameters.map(|(known, state)| Watched {
            parameter: known.parameter.share(),
            value: state.value.clone(),
            grad: state.grad.clone(),
        });
        Self {
            modules: record.by_id(),
            parameters: parameters.collect(),
            calls: Vec::new(),
            running: Vec::new(),
            losses: Vec::new(),
            passes: Vec::new(),
            passing: 0,
            nodes: Vec::new(),
            watched: HashSet::new(),
            hooks: Vec::new(),
            grads: HashMap::new(),
            zeros: Arc::default(),
            leaves: ProbeLeaves::default(),
        }
    }

    fn begin_call(&mut self, module: &dyn Module, inputs: &[Tensor]) -> Result<()> {
        let id = module.id();
        let own = self.modules.get(&id).copied();
        let call = CallRecord {
            module: own,
            id,
            kind: module.kind(),
            parent: self.running.last().copied(),
            inputs: self.see_all(inputs, false)?,
            outputs: Vec::new(),
            mode: mode(module),
            grad_enabled: is_grad_enabled(),
            recomputed: self.passing > 0,
            nodes: (next_node(), u64::MAX),
        };
        self.running.push(self.calls.len());
        self.calls.push(call);
        Ok(())
    }

    fn end_call(&mut self, id: ModuleId, outputs: &[Tensor]) -> Result<()> {
        // A call that failed in a pre-hook may never have begun here.
        if !self.running.iter().any(|&index| self.calls[index].id == id) {
            return Ok(());
        }
        let end = next_node();
        while let Some(index) = self.running.pop() {
            self.calls[index].nodes.1 = end;
            if self.calls[index].id == id {
                self.calls[index].outputs = self.see_all(outputs, true)?;
                break;
            }
        }
        Ok(())
    }

    /// Sees tensors and watches their gradients; those of inputs only if nothing watches them yet.
    fn see_all(&mut self, tensors: &[Tensor], again: bool) -> Result<Vec<Seen>> {
        tensors
            .iter()
            .map(|tensor| self.see(tensor, again))
            .collect()
    }

    fn see(&mut self, tensor: &Tensor, again: bool) -> Result<Seen> {
        let node = tensor.graph_node();
        let node = node.filter(|node| !self.leaves.borrow().contains(&node.id()));
        let seen = Seen::new(tensor, node.as_ref());
        let Some(node) = node.filter(|_| self.passing == 0) else {
            return Ok(seen);
        };
        if self.watched.insert(node.id()) || again {
            self.watch_grad(tensor, node.id(), seen.slot())?;
        }
        self.nodes.push(node);
        Ok(seen)
    }

    fn watch_grad(&mut self, tensor: &Tensor, node: u64, slot: GradSlot) -> Result<()> {
        self.grads.entry(node).or_insert_with(|| slot.clone());
        let watch = move |grad: &Tensor| {
            if !is_probing() {
                *lock(&slot) = Some(grad.detach());
            }
            Ok(None)
        };
        self.hooks.push(tensor.register_hook(watch)?);
        Ok(())
    }

    /// Watches the parameters that are trained now.
    fn watch_parameters(&mut self) {
        for index in 0..self.parameters.len() {
            let tensor = self.parameters[index].parameter.tensor();
            let Some(node) = tensor.graph_node() else {
                continue;
            };
            if self.watched.insert(node.id()) {
                // Only an untracked tensor is refused.
                let _ = self.watch_grad(&tensor, node.id(), GradSlot::default());
                let (zeros, leaf) = (self.zeros.clone(), node.id());
                let watch = tensor.register_hook(move |grad| {
                    if !is_probing() && is_zero(grad) {
                        lock(&zeros).insert(leaf);
                    }
                    Ok(None)
                });
                self.hooks.extend(watch);
            }
        }
    }

    fn see_loss(&mut self, loss: LossCall<'_>) {
        // Inside a backward pass it is a recomputation.
        if self.passing > 0 {
            return;
        }
        let node = loss.input.graph_node();
        self.losses.push(LossRecord {
            name: loss.name,
            call: self.running.last().copied(),
            input: node.as_ref().map(GraphNode::id),
            target: loss.target.detach(),
            ignore_index: loss.ignore_index,
        });
        self.nodes.extend(node);
    }

    fn see_pass(&mut self, event: PassEvent<'_>) {
        match event {
            PassEvent::Begin { .. } if is_probing() => self.passing += 1,
            PassEvent::Begin { roots, inputs } => {
                self.passing += 1;
                self.watch_parameters();
                // Gradients added by a pass for another part of the model may be dropped before the pass of this part.
                for (pass, _) in &mut self.passes {
                    let dropped = |&index: &usize| self.parameters[index].dropped_unused();
                    pass.stale.retain(|index| !dropped(index));
                }
                let stale = self.parameters.iter().enumerate();
                let stale = stale.filter(|(_, known)| {
                    let both = known.parameter.grad().zip(known.grad.as_ref());
                    both.is_some_and(|(now, before)| now.shares_memory_with(before))
                });
                let pass = PassRecord {
                    roots: roots.iter().map(GraphNode::id).collect(),
                    inputs: inputs.map(|inputs| inputs.iter().map(GraphNode::id).collect()),
                    stale: stale.map(|(i, _)| i).collect(),
                    reached: HashSet::new(),
                };
                self.passes.push((pass, roots.to_vec()));
            }
            _ => self.passing = self.passing.saturating_sub(1),
        }
    }
}

/// The number of the next node, or a smaller one that no node of the model has.
fn next_node() -> u64 {
    Leaf::new().graph_node().id()
}

fn watch_step(
    record: &Record<'_>,
    options: ProbeOptions,
    step: impl FnOnce() -> Result<Vec<Tensor>>,
) -> Result<Step> {
    let start = state(record);
    let recorder = Rc::new(RefCell::new(Recorder::new(record, &start)));
    let known = record.by_id();
    let (result, probes) = probe(
        move |id| known.contains_key(&id),
        options,
        |leaves| {
            recorder.borrow_mut().leaves = leaves;
            let before = recorder.clone();
            let pre = register_module_forward_pre_hook(move |call| {
                let inputs = call.tracked_inputs();
                before.borrow_mut().begin_call(call.module(), &inputs)
            });
            let after = recorder.clone();
            let always = HookOptions::new().always_call(true);
            let post = register_module_forward_hook_with(always, move |call| {
                let (id, outputs) = (call.module().id(), call.tracked_outputs());
                after.borrow_mut().end_call(id, &outputs)
            });
            let (losses, passes) = (recorder.clone(), recorder.clone());
            let step = || watch_losses(move |loss| losses.borrow_mut().see_loss(loss), step);
            let result = watch_passes(move |event| passes.borrow_mut().see_pass(event), step);
            drop((pre, post));
            result
        },
    );
    let losses = result?;
    let mut recorder = recorder.borrow_mut();
    let mut graph = Graph::default();
    losses
        .iter()
        .filter_map(Tensor::graph_node)
        .for_each(|node| graph.add(&node));
    recorder.nodes.iter().for_each(|node| graph.add(node));
    let passes: Vec<_> = recorder.passes.drain(..).collect();
    for (_, roots) in &passes {
        roots.iter().for_each(|root| graph.add(root));
    }
    graph.forget(&probes.leaves.borrow());
    let mut calls = std::mem::take(&mut recorder.calls);
    calls
        .iter_mut()
        .for_each(|call| call.forget_all_but(&graph));
    let passes = passes.into_iter().map(|(mut pass, _)| {
        pass.reached = match &pass.inputs {
            None => graph.ancestors(pass.roots.iter().copied()),
            Some(inputs) => graph.between(&pass.roots, inputs),
        };
        pass
    });
    let passes = passes.collect();
    let losses = losses.iter().map(Tensor::detach).collect();
    let mut step = Step {
        start,
        end: state(record),
        calls,
        passes,
        loss_calls: std::mem::take(&mut recorder.losses),
        losses,
        grads: std::mem::take(&mut recorder.grads),
        zeros: std::mem::take(&mut *lock(&recorder.zeros)),
        known: KnownNumbers::default(),
        graph,
        probes,
    };
    step.read_parameters(&record.parameters);
    Ok(step)
}
