//! The ways to train a network. All but one give the same bits.

use std::sync::{Arc, LazyLock, Mutex};

use module_mirror::{Family, mirror};
use module_nn::activation_checkpoint::checkpoint;
use module_nn::prelude::*;
use module_nn::{FunctionalCall, HookSet, deferred};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    Plain,
    /// Another network takes over from the saved state.
    Resumed,
    /// It is built without values.
    Deferred,
    /// Each pass is run again in the backward pass.
    Checkpointed,
    /// The same, on another thread.
    CheckpointedAcrossThreads,
    /// Each pass has values of its own, and its gradients are given to the parameters.
    Functional,
    /// Every module has hooks that change nothing.
    Hooked,
    /// Each gradient is taken away as soon as it is complete, and put back at the end.
    TakenAtOnce,
    /// It is on another device.
    OnMirror,
    /// The same without fused families, whose operations are composed of others. The bits differ.
    OnMirrorComposed,
}

static MIRROR: LazyLock<Device> = LazyLock::new(|| mirror(&[]).expect("a new device"));
static COMPOSED: LazyLock<Device> = LazyLock::new(|| mirror(&Family::ALL).expect("a new device"));

/// The loss of an output, if there is one.
type Loss<'a> = &'a dyn Fn(&Tensor) -> Result<Option<Tensor>>;

impl Way {
    /// Those that give the same bits as the plain one.
    pub(super) const OTHERS: [Self; 8] = [
        Self::Resumed,
        Self::Deferred,
        Self::Checkpointed,
        Self::CheckpointedAcrossThreads,
        Self::Functional,
        Self::Hooked,
        Self::TakenAtOnce,
        Self::OnMirror,
    ];

    pub(super) fn device(self) -> Device {
        match self {
            Self::OnMirror => *MIRROR,
            Self::OnMirrorComposed => *COMPOSED,
            _ => Device::cpu(),
        }
    }

    pub(super) fn build(
        self,
        build: impl FnOnce() -> Result<Box<dyn Layer>>,
    ) -> Result<Box<dyn Layer>> {
        if self != Self::Deferred {
            return build();
        }
        let model = deferred(build)?;
        model.reset_parameters()?;
        Ok(model)
    }

    /// A pass, which leaves gradients if there is a loss; the output, and whether there is one.
    pub(super) fn pass(
        self,
        model: &Arc<dyn Layer>,
        x: &Tensor,
        loss: Loss<'_>,
    ) -> Result<(Tensor, bool)> {
        let x = x.clone();
        match self {
            Self::Plain
            | Self::Resumed
            | Self::Deferred
            | Self::OnMirror
            | Self::OnMirrorComposed => finish(model.call(x)?, loss, backward),
            Self::Checkpointed => finish(checkpointed(model, x)?, loss, backward),
            Self::CheckpointedAcrossThreads => finish(checkpointed(model, x)?, loss, |loss| {
                std::thread::scope(|scope| scope.spawn(|| backward(loss)).join().expect("a result"))
            }),
            Self::Functional => functional(model, x, loss),
            Self::Hooked => {
                let root = &**model;
                let _hooks = [
                    HookSet::forward_pre(root, Select::all(), |_| ())?,
                    HookSet::forward(root, Select::all(), |_| ())?,
                    HookSet::full_backward_pre(root, Select::all(), |_| ())?,
                    HookSet::full_backward(root, Select::all(), |_| ())?,
                ];
                finish(model.call(x)?, loss, backward)
            }
            Self::TakenAtOnce => {
                let taken = Arc::new(Mutex::new(Vec::new()));
                let take = |parameter: &Parameter| {
                    let taken = taken.clone();
                    parameter.register_post_accumulate_grad_hook(move |parameter| {
                        taken
                            .lock()
                            .expect("no panic")
                            .push((parameter.share(), parameter.grad()));
                        parameter.zero_grad();
                        Ok(())
                    })
                };
                let hooks: Vec<_> = model.parameters().map(take).collect();
                let result = finish(model.call(x)?, loss, backward)?;
                drop(hooks);
                for (parameter, grad) in taken.lock().expect("no panic").drain(..) {
                    parameter.set_grad(grad.expect("a gradient"))?;
                }
                Ok(result)
            }
        }
    }
}

fn backward(loss: &Tensor) -> Result<()> {
    loss.backward()
}

fn checkpointed(model: &Arc<dyn Layer>, x: Tensor) -> Result<Tensor> {
    let model = model.clone();
    checkpoint(move |x: Tensor| model.call(x), x)
}

fn finish(
    output: Tensor,
    loss: Loss<'_>,
    backward: impl FnOnce(&Tensor) -> Result<()>,
) -> Result<(Tensor, bool)> {
    let loss = loss(&output)?;
    if let Some(loss) = &loss {
        backward(loss)?;
    }
    Ok((output, loss.is_some()))
}

fn functional(model: &Arc<dyn Layer>, x: Tensor, loss: Loss<'_>) -> Result<(Tensor, bool)> {
    let own = |(key, parameter): (String, &Parameter)| {
        let value = parameter.detach();
        let value = match parameter.requires_grad() {
            true => value.with_grad()?,
            false => value,
        };
        Ok((key, value))
    };
    let values: Vec<(String, Tensor)> = model.named_parameters().map(own).collect::<Result<_>>()?;
    let given = values.iter().map(|(key, value)| (key.clone(), value));
    let (output, buffers) = FunctionalCall::new(&**model).call_with_buffers(given, x)?;
    for (key, buffer) in model.named_buffers() {
        buffer.set(buffers.get(&key).expect("every buffer").clone())?;
    }
    let result = finish(output, loss, backward)?;
    for ((_, parameter), (_, value)) in model.named_parameters().zip(&values) {
        if let Some(grad) = value.grad() {
            parameter.set_grad(grad)?;
        }
    }
    Ok(result)
}
