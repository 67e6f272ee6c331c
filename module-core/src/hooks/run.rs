//! The hooks around one call.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::backward::Capture;
use super::call_hooks::{CallHook, StartHooks};
use super::forward_call::{ForwardCall, ForwardPreCall};
use super::hook::ForwardHook;
use super::registry;
use super::tensors::{Tensors, tensors};
use crate::module::{Module, ModuleId};
use crate::{Result, Tensor};

/// A call of a module that has hooks. Dropped before [`run_hooks`](Self::run_hooks) it has failed, by an error
/// or a panic, and the hooks that always run do so.
///
/// It knows the input and the output only by [`Tensors`], so that it is compiled once and not for each
/// module.
pub(super) struct Hooked<'m> {
    /// Whose hooks run: the module, or an enum for which its payload answers.
    id: ModuleId,
    module: &'m dyn Module,
    start: StartHooks,
    /// The tensors of the input as `forward` gets them.
    inputs: Vec<Tensor>,
    capture: Option<Capture>,
    /// The hooks that always run and have had their turn, by number.
    called: Vec<i64>,
    /// Whether `forward` is running; if this is dropped meanwhile, the call has failed.
    forward: bool,
}

impl<'m> Hooked<'m> {
    /// The hooks of a module as it is called, `None` if it has none.
    pub(super) fn new(id: ModuleId, module: &'m dyn Module) -> Option<Self> {
        Some(Self {
            id,
            module,
            start: registry::at_start(id, module)?,
            inputs: Vec::new(),
            capture: None,
            called: Vec::new(),
            forward: false,
        })
    }

    /// Runs the pre-hooks and prepares the input for backward hooks.
    pub(super) fn run_pre_hooks(&mut self, input: &mut dyn Tensors) -> Result<()> {
        let outcome = self.catch_panic(|this| this.run_before(input));
        match outcome {
            Ok(()) => {
                self.inputs = tensors(input);
                self.forward = true;
                Ok(())
            }
            Err(failure) => {
                self.inputs = tensors(input);
                self.run_always_hooks(None);
                failure.pass_on()
            }
        }
    }

    /// Runs the hooks and prepares the output for backward hooks.
    pub(super) fn run_hooks(&mut self, output: &mut dyn Tensors) -> Result<()> {
        self.forward = false;
        let outcome = self.catch_panic(|this| this.run_after(output));
        outcome.or_else(|failure| {
            self.run_always_hooks(Some(output));
            failure.pass_on()
        })
    }

    fn run_before(&mut self, input: &mut dyn Tensors) -> Result<()> {
        let StartHooks {
            forward_pre,
            backward_pre,
            backward,
        } = std::mem::take(&mut self.start);
        for hook in &forward_pre {
            hook.hook.run(&mut ForwardPreCall {
                module: self.module,
                path: hook.path(),
                input,
            })?;
        }
        self.capture = Capture::start(self.module, backward_pre, backward, input)?;
        Ok(())
    }

    fn run_after(&mut self, output: &mut dyn Tensors) -> Result<()> {
        for hook in registry::at_end(self.id, self.module) {
            if hook.always_call {
                self.called.push(hook.number);
            }
            self.call(&hook, Some(output), false)?;
        }
        self.capture.take().map_or(Ok(()), |it| it.end(output))
    }

    fn call(
        &self,
        hook: &CallHook<ForwardHook>,
        output: Option<&mut dyn Tensors>,
        failed: bool,
    ) -> Result<()> {
        hook.hook.run(&mut ForwardCall {
            module: self.module,
            path: hook.path(),
            inputs: &self.inputs,
            output: output.map(|output| output as &mut dyn Tensors),
            failed,
        })
    }

    /// Runs the hooks that always run and have not yet. What they raise is lost, as in PyTorch: the
    /// first failure is the one that counts.
    fn run_always_hooks(&mut self, mut output: Option<&mut dyn Tensors>) {
        for hook in registry::at_end(self.id, self.module) {
            if hook.always_call && !self.called.contains(&hook.number) {
                let output = output
                    .as_mut()
                    .map(|output| &mut **output as &mut dyn Tensors);
                let run = AssertUnwindSafe(|| self.call(&hook, output, true));
                let _ = catch_unwind(run);
            }
        }
    }

    fn catch_panic(&mut self, run: impl FnOnce(&mut Self) -> Result<()>) -> Result<(), Failure> {
        match catch_unwind(AssertUnwindSafe(|| run(self))) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Failure::Error(error)),
            Err(panic) => Err(Failure::Panic(panic)),
        }
    }
}

impl Drop for Hooked<'_> {
    fn drop(&mut self) {
        if self.forward {
            self.run_always_hooks(None);
        }
    }
}

/// How hooks failed.
enum Failure {
    Error(crate::Error),
    Panic(Box<dyn std::any::Any + Send>),
}

impl Failure {
    fn pass_on(self) -> Result<()> {
        match self {
            Self::Error(error) => Err(error),
            Self::Panic(panic) => resume_unwind(panic),
        }
    }
}
