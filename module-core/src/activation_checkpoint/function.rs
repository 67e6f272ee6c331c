use std::sync::{Arc, OnceLock};

use super::surroundings::Surroundings;
use crate::hooks::Tensors;
use crate::module::journal::{self, Journal, JournalId};
use crate::{AutogradError, DType, Result, Shape, is_grad_enabled, recompute_in_backward};

/// Calls `function` on `inputs` without keeping what its operations save for the backward pass; the backward pass runs
/// `function` again. This is `torch.utils.checkpoint.checkpoint(function, *inputs, use_reentrant=False)`.
///
/// All gradients equal those of `function(inputs)` bit for bit: those of the inputs, and of parameters and other tensors
/// that `function` captures. A backward pass may be repeated (`retain_graph`), compute gradients of only some tensors
/// (`autograd::grad`), or be differentiated itself (`create_graph`). Several tensors are passed and returned in tuples,
/// vectors or structs. Modules are captured in an `Arc`.
///
/// In the second run:
///
/// - Random numbers are the same as in the first run: default generators, of the CPU and of the devices of the inputs,
///   start from the same state. The draws come from private generators of this thread, so that nothing else is affected.
///   Generators that `function` uses explicitly are not restored.
/// - Buffers that it sets, such as the running statistics of a batch norm, start from their original values, and afterwards
///   keep those of the first run: they are updated once. (PyTorch updates them twice.)
/// - Forward hooks of the modules run again, as in PyTorch.
/// - A hook that it registers on a tensor is that of the first run, not a second one: it runs once for each gradient. (In
///   PyTorch, those on `inputs` and captured tensors run twice.)
/// - Parameters have their current values, and modules their current mode. Change neither before the backward pass.
///
/// `function` may compute gradients of its own operations, with [`autograd::grad`](crate::autograd::grad): it is then run
/// once more for each time that it does. `backward` would add to the gradients of parameters in every run.
///
/// `checkpoint` inside another one saves memory in the second run of the outer one. If no gradients are recorded, it just
/// calls `function`.
///
/// # Errors
///
/// Those of `function`. In the backward pass also [`AutogradError::Recomputed`], if the second run of `function` differs:
/// other operations, or outputs of another number, shape or dtype.
///
/// # Example
///
/// ```
/// use module_core::activation_checkpoint::checkpoint;
/// use module_core::Tensor;
///
/// let x = Tensor::from([0.5_f32, 1.0]).with_grad()?;
/// let y = checkpoint(|x: Tensor| x.exp()?.sin(), x.clone())?;
/// y.sum(..)?.backward()?; // Computes `exp` and `sin` again.
/// assert!(x.grad().is_some());
/// # Ok::<(), module_core::Error>(())
/// ```
pub fn checkpoint<I, O, F>(function: F, inputs: I) -> Result<O>
where
    I: Tensors + Clone + Send + Sync + 'static,
    O: Tensors,
    F: Fn(I) -> Result<O> + Send + Sync + 'static,
{
    if !is_grad_enabled() {
        return function(inputs);
    }
    let function = Arc::new(function);
    let first = Arc::new(OnceLock::new());
    let surroundings = Surroundings::of(&inputs);
    let id = JournalId::new();
    let (kept, again, known) = (inputs.clone(), function.clone(), first.clone());
    let again = move || {
        let run = || Outputs::of(&again(kept.clone())?).check(known.get());
        surroundings.restored(|| match known.get() {
            Some(FirstRun { changed, .. }) => changed.replay(run),
            // The first run itself asks for a gradient.
            None => journal::replay_open(id, run),
        })
    };
    recompute_in_backward(
        move || {
            let (output, changed) = journal::record(id, || function(inputs));
            let output = output?;
            let outputs = Outputs::of(&output);
            // Set once, because this runs once.
            let _ = first.set(FirstRun { changed, outputs });
            Ok(output)
        },
        again,
    )
}

/// The values that the first run leaves for the second.
struct FirstRun {
    changed: Journal,
    outputs: Outputs,
}

/// The number, shapes and dtypes of the outputs.
struct Outputs(Vec<(DType, Shape)>);

impl Outputs {
    fn of(output: &dyn Tensors) -> Self {
        let mut outputs = Vec::new();
        output.for_each(&mut |x| outputs.push((x.dtype(), x.shape().clone())));
        Self(outputs)
    }

    fn check(&self, first: Option<&FirstRun>) -> Result<()> {
        match first {
            Some(FirstRun { outputs, .. }) if outputs.0 != self.0 => {
                let problem = format!("the outputs {self}, and {outputs} at first");
                Err(AutogradError::Recomputed {
                    op: "checkpoint",
                    problem,
                }
                .into())
            }
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for Outputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let each = self
            .0
            .iter()
            .map(|(dtype, shape)| format!("{dtype} {shape}"));
        f.write_str(&each.collect::<Vec<_>>().join(" and "))
    }
}
