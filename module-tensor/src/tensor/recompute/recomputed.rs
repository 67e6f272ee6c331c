use std::sync::Arc;

use super::super::{Backward, Function, Gradients, lock, with_grad_mode};
use super::collected::Collected;
use super::frame::Frame;
use super::modes::{Entered, Mode};
use super::pass;
use crate::{AutogradError, Result};

/// The function of an operation whose own function was dropped.
pub(super) struct Recomputed {
    frame: Arc<Frame>,
    index: usize,
    op: &'static str,
}

impl Recomputed {
    /// That of the next operation of the frame.
    pub(super) fn next(frame: &Arc<Frame>, op: &'static str) -> Arc<dyn Function> {
        let (frame, index) = (frame.clone(), lock(&frame.nodes).len());
        Arc::new(Self { frame, index, op })
    }

    /// Takes the function; if the pass has already used it, or has none, all of the frame are recomputed.
    fn take(&self) -> Result<Arc<dyn Function>> {
        let (frame, index, op) = (self.frame.number, self.index, self.op);
        if let Some(function) = pass::take(frame, index) {
            return Ok(function);
        }
        let functions = self.run_again()?;
        let function = functions.get(index).cloned();
        pass::keep(frame, functions);
        // Out of what is kept, so that what it saved is freed after its use.
        let kept = pass::take(frame, index);
        kept.or(function)
            .ok_or(AutogradError::GraphFreed { op }.into())
    }

    /// The functions that the operations have when they are run again.
    ///
    /// If the first run has not ended, because it asks for gradients itself, they are those of its operations so far.
    fn run_again(&self) -> Result<Vec<Arc<dyn Function>>> {
        let (frame, op) = (&self.frame, self.op);
        let differs = |problem: String| AutogradError::Recomputed { op, problem };
        let Some(entered) = Entered::unless_running(Collected::new(frame.clone())) else {
            let problem = "a gradient that needs this recomputation itself";
            return Err(differs(problem.to_owned()).into());
        };
        with_grad_mode(true, || (frame.again)())?;
        let Some(Mode::Again(mut collected)) = entered.leave() else {
            return Err(AutogradError::GraphFreed { op }.into());
        };
        let (before, now) = (lock(&frame.nodes).len(), collected.functions.len());
        if !frame.has_ended() {
            collected.functions.truncate(before);
        }
        let other = now < before || (now > before && frame.has_ended());
        let count = || format!("{now} operation(s), and {before} at first");
        match collected.problem.or_else(|| other.then(count)) {
            None => Ok(collected.functions),
            Some(problem) => Err(differs(problem).into()),
        }
    }
}

impl Function for Recomputed {
    fn name(&self) -> &'static str {
        self.op
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        self.take()?.backward(ctx)
    }
}
