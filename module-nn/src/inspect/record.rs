//! The hooks that record a pass.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use super::clock::Clock;
use super::cost;
use super::flow::{Endpoint, Flow, Origins};
use super::tensor_info::TensorInfo;
use super::trace::{ParameterInfo, Trace, TracedCall};
use crate::module::ModuleId;
use crate::{Call, HookOptions, Module, ModuleExt, Result, Tensor, Tensors, Walk};

/// Recording.
impl Trace {
    /// Calls the model under the caller's grad mode and records the pass.
    ///
    /// # Errors
    ///
    /// Those of the model.
    pub fn record<I: Tensors, M>(model: &M, input: I) -> Result<Self>
    where
        M: Call<I, Output: Tensors> + ?Sized,
    {
        let (result, trace) = record(model.as_module(), false, || model.call(input));
        result?;
        Ok(trace)
    }

    /// [`record`](Self::record), with [`flows`](Self::flows).
    ///
    /// It records the graph of everything that is computed, whatever the grad mode, to know what happened to tensors
    /// between calls, for example that two branches were added. The activations stay in memory until the pass is over.
    ///
    /// # Errors
    ///
    /// Those of the model.
    pub fn record_flows<I: Tensors, M>(model: &M, mut input: I) -> Result<Self>
    where
        M: Call<I, Output: Tensors> + ?Sized,
    {
        crate::enable_grad(|| {
            input.for_each_mut(&mut |tensor| {
                // Indices have no gradient and need none: they are passed on unchanged.
                if let (false, Ok(leaf)) = (tensor.requires_grad(), tensor.with_grad()) {
                    *tensor = leaf;
                }
            });
            let (result, trace) = record(model.as_module(), true, || model.call(input));
            result?;
            Ok(trace)
        })
    }

    /// Records all calls of modules of `model` that `run` makes, whether they fail or not.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::inspect::Trace;
    /// use module_nn::prelude::*;
    ///
    /// let layer = Linear::new(4, 8)?;
    /// let (result, trace) = Trace::during(&layer, || layer.call(Tensor::from([1.0_f32])));
    /// assert!(result.is_err() && trace.calls()[0].failed);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn during<R>(model: &(impl Module + ?Sized), run: impl FnOnce() -> R) -> (R, Self) {
        record(model.as_module(), false, run)
    }
}

/// The record of a pass so far.
struct Recorder {
    began: Clock,
    calls: Vec<TracedCall>,
    /// The calls in progress, outermost first: the index into `calls`, and the module.
    running: Vec<(usize, ModuleId)>,
    called: HashSet<ModuleId>,
    has_calls: Vec<bool>,
    /// `None` if flows are not requested: this keeps tensors alive.
    origins: Option<Origins>,
    /// Where the inputs of each call came from.
    sources: Vec<Vec<(Endpoint, TensorInfo)>>,
    flows: Vec<Flow>,
    inputs: Vec<TensorInfo>,
    outputs: Vec<TensorInfo>,
}

impl Recorder {
    fn new(flows: bool) -> Self {
        Self {
            began: Clock::start(),
            calls: Vec::new(),
            running: Vec::new(),
            called: HashSet::new(),
            has_calls: Vec::new(),
            origins: flows.then(Origins::default),
            sources: Vec::new(),
            flows: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    fn begin(&mut self, path: &str, module: &dyn Module, inputs: &[Tensor]) {
        let parent = self.running.last().map(|(index, _)| *index);
        match parent {
            Some(parent) => self.has_calls[parent] = true,
            None => {
                for input in inputs {
                    let place = Endpoint::Input(self.inputs.len());
                    self.inputs.push(TensorInfo::of(input));
                    if let Some(origins) = &mut self.origins {
                        origins.add(place, input);
                    }
                }
            }
        }
        self.running.push((self.calls.len(), module.id()));
        self.has_calls.push(false);
        let mut sources = Vec::new();
        if let Some(origins) = &self.origins {
            for input in inputs {
                sources.extend(origins.of(input));
            }
        }
        self.sources.push(sources);
        let is_leaf = module.children().next().is_none();
        self.calls.push(TracedCall {
            path: path.to_owned(),
            kind: module.kind(),
            parent,
            inputs: inputs.iter().map(TensorInfo::of).collect(),
            outputs: Vec::new(),
            parameters: own_parameters(module),
            kernel: kernel(module),
            is_leaf,
            is_counted: is_leaf && module.kind() != "NonDynamicallyQuantizableLinear",
            is_repeat: !self.called.insert(module.id()),
            failed: false,
            start: self.began.elapsed(),
            time: Duration::ZERO,
            mult_adds: 0,
        });
    }

    fn end(&mut self, module: &dyn Module, outputs: &[Tensor], failed: bool) {
        let now = self.began.elapsed();
        let id = module.id();
        // A call that failed in someone else's pre-hook may never have begun here.
        if !self.running.iter().any(|(_, running)| *running == id) {
            return;
        }
        while let Some((index, running)) = self.running.pop() {
            let call = &mut self.calls[index];
            call.time = now.saturating_sub(call.start);
            if running != id {
                call.failed = true;
                continue;
            }
            call.failed = failed;
            call.outputs = outputs.iter().map(TensorInfo::of).collect();
            if call.is_counted {
                call.mult_adds = cost::mult_adds(&call.parameters, call.outputs.first());
            }
            let outermost = call.parent.is_none();
            if !self.has_calls[index] {
                let to = Endpoint::Call(index);
                for (from, tensor) in std::mem::take(&mut self.sources[index]) {
                    self.flow(Flow { from, to, tensor });
                }
                if let Some(origins) = &mut self.origins {
                    outputs.iter().for_each(|output| origins.add(to, output));
                }
            }
            if outermost {
                for output in outputs {
                    let to = Endpoint::Output(self.outputs.len());
                    self.outputs.push(TensorInfo::of(output));
                    let from = self.origins.as_ref().map(|origins| origins.of(output));
                    for (from, tensor) in from.unwrap_or_default() {
                        self.flow(Flow { from, to, tensor });
                    }
                }
            }
            return;
        }
    }

    fn flow(&mut self, flow: Flow) {
        let same = |known: &&Flow| known.to == flow.to;
        let known = self
            .flows
            .iter()
            .rev()
            .take_while(same)
            .any(|known| *known == flow);
        if !known {
            self.flows.push(flow);
        }
    }

    fn finish(mut self) -> Trace {
        let now = self.began.elapsed();
        for (index, _) in self.running {
            let call = &mut self.calls[index];
            (call.failed, call.time) = (true, now.saturating_sub(call.start));
        }
        Trace {
            calls: self.calls,
            flows: self.flows,
            inputs: self.inputs,
            outputs: self.outputs,
        }
    }
}

fn own_parameters(module: &dyn Module) -> Vec<ParameterInfo> {
    let own = module.named_parameters_with(Walk::new().recurse(false));
    let infos = own.map(|(name, parameter)| ParameterInfo {
        name,
        id: parameter.id(),
        tensor: TensorInfo {
            shape: parameter.shape(),
            dtype: parameter.dtype(),
        },
        trainable: parameter.requires_grad(),
    });
    infos.collect()
}

/// The kernel size that a module prints as `kernel_size=…`, so that users' modules have one too.
fn kernel(module: &dyn Module) -> Option<String> {
    struct ExtraRepr<'m>(&'m dyn Module);

    impl std::fmt::Display for ExtraRepr<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.0.extra_repr(f)
        }
    }

    let text = ExtraRepr(module).to_string();
    let (_, rest) = text.split_once("kernel_size=")?;
    let end = match rest.starts_with('(') {
        true => rest.find(')').map(|end| end + 1),
        false => rest.find(','),
    };
    Some(rest[..end.unwrap_or(rest.len())].to_owned())
}

/// Runs `run` with hooks on all modules of `model`; with `flows`, also records where tensors go.
fn record<R>(model: &dyn Module, flows: bool, run: impl FnOnce() -> R) -> (R, Trace) {
    let recorder = Rc::new(RefCell::new(Recorder::new(flows)));
    let mut handles = Vec::new();
    for (path, module) in model.named_modules() {
        let before = recorder.clone();
        // They see one pass, on this thread.
        let here = HookOptions::new().this_thread(true);
        handles.push(module.register_forward_pre_hook_with(here, move |call| {
            before
                .borrow_mut()
                .begin(&path, call.module(), &call.tracked_inputs());
        }));
        let after = recorder.clone();
        let always = here.always_call(true);
        handles.push(module.register_forward_hook_with(always, move |call| {
            after
                .borrow_mut()
                .end(call.module(), &call.tracked_outputs(), call.failed());
        }));
    }
    recorder.borrow_mut().began = Clock::start();
    let result = run();
    drop(handles);
    let recorder = recorder.replace(Recorder::new(false));
    (result, recorder.finish())
}
