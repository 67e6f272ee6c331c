//! Which elements of its input what a model gives depends on, by gradients that are taken while a step runs.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::autograd::{PassEvent, grad_with, watch_passes};
use crate::hooks::{
    ForwardCall, ForwardPreCall, register_module_forward_hook_with,
    register_module_forward_pre_hook,
};
use crate::module::ModuleId;
use crate::{
    BackwardOptions, DType, HookOptions, Module, Result, Shape, Tensor, is_grad_enabled, no_grad,
};

thread_local! {
    static PROBING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the gradients that are being computed are those of a probe, which are none of the training.
pub(super) fn is_probing() -> bool {
    PROBING.get()
}

/// What is probed.
#[derive(Clone, Copy, Default)]
pub(super) struct ProbeOptions {
    /// Whether the calls within outermost ones are probed as well.
    pub(super) within: bool,
    /// The dimension of the batch, where it was declared.
    pub(super) batch_dim: Option<usize>,
}

/// What was seen of a call.
pub(super) struct ProbeRecord {
    pub(super) id: ModuleId,
    /// Whether no other call made this one.
    pub(super) outermost: bool,
    /// A row of the output, and another row of the input on which it depends.
    pub(super) leak: Option<(usize, usize)>,
    /// The indices of the first input, by dimension, of which nothing in the output depends.
    pub(super) unused: Vec<(usize, Vec<usize>)>,
}

/// What a step has shown.
#[derive(Default)]
pub(super) struct Probes {
    pub(super) records: Vec<ProbeRecord>,
    /// The leaves that inputs were made of, which are no parameters.
    pub(super) leaves: Vec<u64>,
}

/// Runs a step with each outermost call of `modules` probed.
pub(super) fn probe<R>(
    modules: impl Fn(ModuleId) -> bool + 'static,
    options: ProbeOptions,
    step: impl FnOnce() -> R,
) -> (R, Probes) {
    let state = Rc::new(RefCell::new(State {
        options,
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
        let frame = after.borrow_mut().end(call);
        if let Some(record) = frame.and_then(|frame| frame.probe(call, options)) {
            after.borrow_mut().probes.records.push(record);
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
    let result = watch_passes(watch, step);
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
    /// Whether it, or a call within it, computes statistics of its batch, by which its rows are meant to be tied.
    ties_rows: bool,
    inputs: Vec<Tensor>,
    /// What embeddings within an outermost call made of indices, whose rows are those of the batch.
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
        let mut inputs = Vec::new();
        if probed {
            inputs = call.tracked_inputs();
            if outermost {
                self.track(&mut inputs)?;
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
            embedded: None,
            given,
        });
        Ok(())
    }

    /// Makes leaves of the inputs that nothing tracks.
    fn track(&mut self, inputs: &mut [Tensor]) -> Result<()> {
        for input in inputs {
            if !input.requires_grad() && input.dtype().is_floating_point() {
                *input = input.with_grad()?;
                let node = input.graph_node();
                self.probes.leaves.extend(node.map(|node| node.id()));
            }
        }
        Ok(())
    }

    fn end(&mut self, call: &ForwardCall<'_>) -> Option<Frame> {
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
        (frame.probed && !call.failed()).then_some(frame)
    }
}

/// Whether a layer normalizes by statistics of its batch.
fn ties_rows(module: &dyn Module) -> bool {
    ["BatchNorm", "SyncBatchNorm"]
        .iter()
        .any(|kind| module.kind().starts_with(kind))
}

impl Frame {
    /// Takes what an embedding gave, if it is the first of a model of indices.
    fn take_embedded(&mut self, call: &ForwardCall<'_>) {
        let is_first = self.embedded.is_none() && call.module().kind() == "Embedding";
        if !is_first || self.inputs.iter().any(Tensor::requires_grad) {
            return;
        }
        let output = call.tracked_outputs().into_iter().next();
        let sizes = [self.inputs.first(), output.as_ref()].map(|it| it?.size(0).ok());
        self.embedded = output.filter(|it| it.requires_grad() && sizes[0] == sizes[1]);
    }

    fn probe(&self, call: &ForwardCall<'_>, options: ProbeOptions) -> Option<ProbeRecord> {
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
        // What has no gradient says nothing here; the backward pass of the training will.
        let leak = match self.ties_rows {
            true => None,
            false => {
                let dims = self.batch_dims(output, input, options.batch_dim);
                leak(output, input, &dims).ok().flatten()
            }
        };
        let unused = match self.outermost && given.is_some() {
            true => unused(&outputs, input, options.batch_dim).unwrap_or_default(),
            false => Vec::new(),
        };
        Some(ProbeRecord {
            id: self.id,
            outermost: self.outermost,
            leak,
            unused,
        })
    }

    /// The dimensions that may be those of the batch, of the output and of the input: rows that stay apart along one
    /// of these pairs are those of the batch.
    fn batch_dims(
        &self,
        output: &Tensor,
        input: &Tensor,
        declared: Option<usize>,
    ) -> Vec<(usize, usize)> {
        let batch = declared.unwrap_or(0);
        if !self.outermost {
            // Rows of a part may be something else, as the time is where it stands first.
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
            // What is left of a sequence may be one vector for each row.
            Some(dim) => vec![(dim, dim), (0, dim)],
            // With the time first, in a vector for each element or for each row.
            None if input.rank() == 3 && output.shape().first() == input.shape().first() => {
                vec![(0, 0), (0, 1), (1, 1)]
            }
            None => vec![(0, 0)],
        }
    }
}

/// The largest absolute gradients of the elements of `input`, from these of `outputs`, with every dimension but one
/// taken together.
fn magnitudes(
    outputs: &[Tensor],
    grads: &[Tensor],
    input: &Tensor,
    dims: &[usize],
) -> Result<Option<Vec<Vec<f32>>>> {
    let outputs: Vec<&Tensor> = outputs.iter().collect();
    let grads: Vec<&Tensor> = grads.iter().collect();
    let keep = BackwardOptions::new().retain_graph(true);
    let Some(grad) = grad_with(&outputs, &grads, &[input], keep)?.pop().flatten() else {
        return Ok(None);
    };
    let grad = grad.to_dtype(DType::F32)?.abs()?;
    let of_dim = |&dim: &usize| {
        let rest = (0..grad.rank())
            .filter(|&other| other != dim)
            .map(|dim| dim as isize);
        let rest: Vec<isize> = rest.collect();
        let magnitudes = if rest.is_empty() {
            grad.clone()
        } else {
            grad.amax(rest)?
        };
        magnitudes.to_vec::<f32>()
    };
    dims.iter()
        .map(of_dim)
        .collect::<Result<Vec<_>>>()
        .map(Some)
}

/// Numbers for each element that do not cancel out in sums, as those of a softmax.
fn weights(output: &Tensor) -> Result<Tensor> {
    let numbers = Tensor::arange(1, output.numel() as i64 + 1, DType::F32)?.sin()?;
    numbers
        .reshape(output.shape().clone())?
        .to_dtype(output.dtype())
}

/// A row of the output, and another row of the input on which it depends, along the first of `dims`, which are those of
/// the output and of the input; `None` where rows stay apart along any of them.
fn leak(
    output: &Tensor,
    input: &Tensor,
    dims: &[(usize, usize)],
) -> Result<Option<(usize, usize)>> {
    let mut leak = None;
    for &(of_output, of_input) in dims {
        let sizes = [(output, of_output), (input, of_input)];
        let [rows, count] = sizes.map(|(tensor, dim)| tensor.shape().get(dim).copied());
        let (Some(count), true) = (count, rows == count) else {
            continue;
        };
        match leak_along(output, input, (of_output, of_input), count)? {
            Some(found) => leak = leak.or(Some(found)),
            None => return Ok(None),
        }
    }
    Ok(leak)
}

/// [`leak`] along one dimension, of so many rows.
fn leak_along(
    output: &Tensor,
    input: &Tensor,
    (of_output, of_input): (usize, usize),
    count: usize,
) -> Result<Option<(usize, usize)>> {
    if count < 2 {
        return Ok(None);
    }
    let row = count / 2;
    let grad = no_grad(|| {
        let rows = Tensor::arange(0, count as i64, DType::I64)?.eq(row as i64)?;
        let mut sizes = vec![1; output.rank()];
        sizes[of_output] = count;
        let rows = rows.to_dtype(output.dtype())?.reshape(sizes)?;
        weights(output)?.mul(&rows)
    })?;
    let found = magnitudes(std::slice::from_ref(output), &[grad], input, &[of_input])?;
    let others = found.unwrap_or_default().pop().unwrap_or_default();
    let other = others
        .iter()
        .enumerate()
        .find(|&(other, &size)| other != row && size > 0.0);
    Ok(other.map(|(other, _)| (row, other)))
}

/// The indices of an input, by dimension, of which nothing in the outputs depends.
fn unused(
    outputs: &[Tensor],
    input: &Tensor,
    batch_dim: Option<usize>,
) -> Result<Vec<(usize, Vec<usize>)>> {
    let grads = no_grad(|| outputs.iter().map(weights).collect::<Result<Vec<_>>>())?;
    let batch = batch_dim.unwrap_or(0);
    let dims: Vec<usize> = (0..input.rank()).filter(|&dim| dim != batch).collect();
    let Some(found) = magnitudes(outputs, &grads, input, &dims)? else {
        return Ok(Vec::new());
    };
    let indices = dims.into_iter().zip(found).map(|(dim, sizes)| {
        let indices = sizes.iter().enumerate().filter(|&(_, &size)| size == 0.0);
        (
            dim,
            indices.map(|(index, _)| index).collect::<Vec<_>>(),
            sizes.len(),
        )
    });
    // Of an input that is not used at all, or of which a whole dimension is not, something else is to be said.
    let partly =
        indices.filter(|(_, indices, count)| !indices.is_empty() && indices.len() < *count);
    Ok(partly.map(|(dim, indices, _)| (dim, indices)).collect())
}
