//! Finds which elements of its input a model's output depends on, by gradients computed while a step runs.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

use super::dependence::{Unused, rows, unused};
use crate::autograd::{PassEvent, watch_passes};
use crate::hooks::{
    ForwardCall, ForwardPreCall, register_module_forward_hook_with,
    register_module_forward_pre_hook,
};
use crate::module::ModuleId;
use crate::{HookOptions, Leaf, Module, Result, Shape, Tensor, is_grad_enabled, no_grad};

thread_local! {
    static PROBING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the gradients being computed are those of a probe and not of the training.
pub(super) fn is_probing() -> bool {
    PROBING.get()
}

/// The properties to probe.
#[derive(Clone, Default)]
pub(super) struct ProbeOptions {
    /// Whether calls within outermost ones are probed as well.
    pub(super) within: bool,
    /// The batch dimension, if it was declared.
    pub(super) batch_dim: Option<usize>,
    /// The modules of which a call has already shown that all of the input is used.
    pub(super) settled: HashSet<ModuleId>,
}

/// The leaves that a step's inputs became for its probes, which are not parameters.
pub(super) type ProbeLeaves = Rc<RefCell<HashSet<u64>>>;

/// The results of probing a call.
pub(super) struct ProbeRecord {
    pub(super) id: ModuleId,
    /// Whether it was not made within another call.
    pub(super) outermost: bool,
    /// A row of the output, and another row of the input on which it depends.
    pub(super) leak: Option<(usize, usize)>,
    /// The indices of the first input, by dimension, that no output depends on.
    pub(super) unused: Vec<Unused>,
}

/// The results of probing a step.
#[derive(Default)]
pub(super) struct Probes {
    pub(super) records: Vec<ProbeRecord>,
    /// The leaves that inputs became.
    pub(super) leaves: ProbeLeaves,
}

/// Runs a step, which is told about the leaves, and probes each outermost call of `modules`.
pub(super) fn probe<R>(
    modules: impl Fn(ModuleId) -> bool + 'static,
    options: ProbeOptions,
    step: impl FnOnce(ProbeLeaves) -> R,
) -> (R, Probes) {
    let leaves = ProbeLeaves::default();
    let state = Rc::new(RefCell::new(State {
        options,
        probes: Probes {
            leaves: leaves.clone(),
            ..Probes::default()
        },
        ..State::default()
    }));
    let before = state.clone();
    let pre = register_module_forward_pre_hook(move |call| {
        let known = modules(call.module().id());
        before.borrow_mut().begin(call, known)
    });
    let after = state.clone();
    let always = HookOptions::new().always_call(true);
    let post = register_module_forward_hook_with(always, move |call| {
        // The borrow ends first: the gradients may run modules again.
        let ended = after.borrow_mut().end(call);
        let Some((frame, options)) = ended else {
            return;
        };
        let record = frame.probe(call, &options);
        frame.let_go();
        if let Some(record) = record {
            after.borrow_mut().add(record);
        }
    });
    let passes = state.clone();
    let watch = move |event: PassEvent<'_>| {
        let mut state = passes.borrow_mut();
        state.passing = match event {
            PassEvent::Begin { .. } => state.passing + 1,
            _ => state.passing.saturating_sub(1),
        };
    };
    let result = watch_passes(watch, || step(leaves));
    drop((pre, post));
    let probes = std::mem::take(&mut state.borrow_mut().probes);
    (result, probes)
}

#[derive(Default)]
struct State {
    options: ProbeOptions,
    /// The calls in progress, outermost first.
    frames: Vec<Frame>,
    /// The backward passes in progress, which may run modules again.
    passing: usize,
    probes: Probes,
}

/// A call in progress.
struct Frame {
    id: ModuleId,
    outermost: bool,
    /// Whether it is probed.
    probed: bool,
    /// Whether it, or a call within it, computes batch statistics, which mix its rows on purpose.
    ties_rows: bool,
    inputs: Vec<Tensor>,
    /// The inputs that nothing else tracks.
    leaves: Vec<Leaf>,
    /// The outputs of embeddings within an outermost call, whose rows are those of the batch.
    embedded: Option<Tensor>,
    /// The shape of the first input of the outermost call.
    given: Shape,
}

impl State {
    fn begin(&mut self, call: &mut ForwardPreCall<'_>, known: bool) -> Result<()> {
        if self.passing > 0 || is_probing() {
            return Ok(());
        }
        let outermost = self.frames.is_empty();
        let probed = known && is_grad_enabled() && (outermost || self.options.within);
        let (mut inputs, mut leaves) = (Vec::new(), Vec::new());
        if probed {
            inputs = call.tracked_inputs();
            if outermost {
                leaves = self.track(&mut inputs);
                call.set_inputs(inputs.clone())?;
            }
        }
        let given = match self.frames.first() {
            Some(outermost) => outermost.given.clone(),
            None => inputs
                .first()
                .map(|input| input.shape().clone())
                .unwrap_or_default(),
        };
        self.frames.push(Frame {
            id: call.module().id(),
            outermost,
            probed,
            ties_rows: false,
            inputs,
            leaves,
            embedded: None,
            given,
        });
        Ok(())
    }

    /// Makes leaves of untracked inputs.
    fn track(&mut self, inputs: &mut [Tensor]) -> Vec<Leaf> {
        let untracked = inputs
            .iter_mut()
            .filter(|input| !input.requires_grad() && input.dtype().is_floating_point());
        let leaves: Vec<Leaf> = untracked
            .map(|input| {
                let leaf = Leaf::new();
                *input = leaf.track(input);
                leaf
            })
            .collect();
        let nodes = leaves.iter().map(|leaf| leaf.graph_node().id());
        self.probes.leaves.borrow_mut().extend(nodes);
        leaves
    }

    fn add(&mut self, record: ProbeRecord) {
        if record.settles() {
            self.options.settled.insert(record.id);
        }
        self.probes.records.push(record);
    }

    fn end(&mut self, call: &ForwardCall<'_>) -> Option<(Frame, ProbeOptions)> {
        if self.passing > 0 || is_probing() {
            return None;
        }
        let id = call.module().id();
        let position = self.frames.iter().rposition(|frame| frame.id == id)?;
        let mut frame = self.frames.drain(position..).next()?;
        frame.ties_rows |= ties_rows(call.module());
        if let Some(outer) = self.frames.last_mut() {
            outer.ties_rows |= frame.ties_rows;
        }
        if let Some(outermost) = self.frames.first_mut().filter(|frame| frame.probed) {
            outermost.take_embedded(call);
        }
        (frame.probed && !call.failed()).then(|| (frame, self.options.clone()))
    }
}

/// Whether a layer normalizes by batch statistics.
fn ties_rows(module: &dyn Module) -> bool {
    ["BatchNorm", "SyncBatchNorm"]
        .iter()
        .any(|kind| module.kind().starts_with(kind))
}

impl Frame {
    /// Uses the output of an embedding, if it is the first one of a model with indices as its input.
    fn take_embedded(&mut self, call: &ForwardCall<'_>) {
        let is_first = self.embedded.is_none() && call.module().kind() == "Embedding";
        if !is_first || self.inputs.iter().any(Tensor::requires_grad) {
            return;
        }
        let output = call.tracked_outputs().into_iter().next();
        let sizes = [self.inputs.first(), output.as_ref()].map(|it| it?.size(0).ok());
        self.embedded = output.filter(|it| it.requires_grad() && sizes[0] == sizes[1]);
    }

    /// Lets the training's backward pass skip gradients of inputs that only probes request.
    fn let_go(&self) {
        for leaf in &self.leaves {
            leaf.set_requires_grad(false);
        }
    }

    fn probe(&self, call: &ForwardCall<'_>, options: &ProbeOptions) -> Option<ProbeRecord> {
        struct Probing;

        impl Drop for Probing {
            fn drop(&mut self) {
                PROBING.set(false);
            }
        }

        let is_tracked = |tensor: &Tensor| tensor.requires_grad() && tensor.rank() > 0;
        let outputs: Vec<Tensor> = call
            .tracked_outputs()
            .into_iter()
            .filter(is_tracked)
            .collect();
        let given = self.inputs.iter().find(|input| is_tracked(input));
        let input = given.or(self.embedded.as_ref())?;
        let output = outputs.first()?;
        PROBING.set(true);
        let _probing = Probing;
        // An operation without a gradient is not an error here; the training's backward pass will report it.
        let rows = match self.ties_rows {
            true => None,
            false => {
                let dims = self.batch_dims(output, input, options.batch_dim);
                no_grad(|| rows(output, input, &dims)).ok()
            }
        };
        let rows = rows.unwrap_or_default();
        let asked = given.filter(|_| self.outermost && !options.settled.contains(&self.id));
        let unused = asked.map(|input| {
            let batch = options.batch_dim.unwrap_or(0);
            no_grad(|| unused(&outputs, input, batch, rows.of_own.as_ref())).unwrap_or_default()
        });
        Some(ProbeRecord {
            id: self.id,
            outermost: self.outermost,
            leak: rows.leak,
            unused: unused.unwrap_or_default(),
        })
    }

    /// The candidates for the batch dimension, of the output and of the input: if rows are independent along one of these
    /// pairs, it is the batch.
    fn batch_dims(
        &self,
        output: &Tensor,
        input: &Tensor,
        declared: Option<usize>,
    ) -> Vec<(usize, usize)> {
        let batch = declared.unwrap_or(0);
        if !self.outermost {
            // The rows of a part may have another meaning, for example if time comes first.
            let [count, rows] =
                [&self.given, input.shape()].map(|shape| shape.get(batch).copied().unwrap_or(0));
            let is_batch = count > 0 && rows.is_multiple_of(count);
            return if is_batch {
                vec![(batch, batch)]
            } else {
                Vec::new()
            };
        }
        match declared {
            Some(0) => vec![(0, 0)],
            // A sequence may be reduced to one vector for each row.
            Some(dim) => vec![(dim, dim), (0, dim)],
            // If time comes first, in a vector for each element or for each row.
            None if input.rank() == 3 && output.shape().first() == input.shape().first() => {
                vec![(0, 0), (0, 1), (1, 1)]
            }
            None => vec![(0, 0)],
        }
    }
}

impl ProbeRecord {
    /// Whether it shows that no part of the module's input is unused in all calls.
    pub(super) fn settles(&self) -> bool {
        self.outermost && self.unused.is_empty()
    }
}
