//! Edge cases of trees, resets, freezing, optimizers, hooks and files that could go wrong silently.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use module_nn::prelude::*;
use module_nn::{Generator, init};

#[derive(Module)]
struct Net {
    first: Linear,
    second: Linear,
}

impl Net {
    fn new() -> Self {
        Self {
            first: Linear::new(2, 2).unwrap(),
            second: Linear::new(2, 1).unwrap(),
        }
    }
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.second.call(self.first.call(x)?)
    }
}

fn loss(net: &impl Forward<Output = Tensor>) -> Tensor {
    let output = net.call(Tensor::from([[1.0_f32, 2.0]])).unwrap();
    output.sum(..).unwrap()
}

#[derive(Module)]
enum Choice {
    Shared(Arc<Linear>),
}

#[derive(Module)]
struct Flattened {
    #[module(flatten)]
    net: Arc<Net>,
}

#[test]
fn apply_on_a_shared_root_is_an_error() {
    fn refused(mut root: impl Module, place: &str) {
        let mut count = 0;
        let error = root.apply(|_, _| count += 1).unwrap_err();
        let text = format!(
            "{place} is shared through an `Arc`, so it cannot be borrowed mutably; drop the other handles first"
        );
        assert_eq!((error.to_string(), count), (text, 0));
    }

    let net = Arc::new(Net::new());
    let _other = net.clone();
    refused(net.clone(), "Net");
    refused(Flattened { net: net.clone() }, "Net");
    refused(vec![Flattened { net }], "`0` (Net)");
    let layer = Arc::new(Linear::new(1, 1).unwrap());
    let _other = layer.clone();
    refused(Choice::Shared(layer), "Linear");
}

/// Fails from the second call on.
struct Once(AtomicBool);

impl Init for Once {
    fn init(&self, shape: &Shape, dtype: DType, _: &Generator) -> Result<Tensor> {
        if self.0.swap(true, Ordering::Relaxed) {
            return Err(Error::argument("once", "call", 2, "is one too many"));
        }
        Tensor::zeros(shape, dtype)
    }
}

#[derive(Module)]
struct Pair<P> {
    first: P,
    second: P,
}

#[test]
fn a_reset_that_fails_changes_nothing() {
    let pair = Pair {
        first: Parameter::with_init([2], init::ones()).unwrap(),
        second: Parameter::with_init([2], Once(false.into())).unwrap(),
    };
    pair.first.set(Tensor::from([5.0_f32, 6.0])).unwrap();
    assert!(pair.reset_parameters().is_err());
    assert_eq!(pair.first.tensor().to_vec::<f32>().unwrap(), [5.0, 6.0]);
}

/// Ignores the requested dtype.
struct Single;

impl Init for Single {
    fn init(&self, shape: &Shape, _: DType, _: &Generator) -> Result<Tensor> {
        Tensor::zeros(shape, DType::F32)
    }
}

#[test]
fn an_initializer_cannot_change_the_dtype() {
    let pair = Pair {
        first: Parameter::with_init([2], Single).unwrap(),
        second: Parameter::with_init([2], init::ones()).unwrap(),
    };
    pair.half().unwrap();
    let error = pair.reset_parameters().unwrap_err().to_string();
    assert_eq!(
        error,
        "reset: dtypes float16 and float32 differ; cast one with `to_dtype`"
    );
    assert_eq!(pair.first.tensor().dtype(), DType::F16);
}

#[test]
fn freezing_between_forward_and_backward_leaves_no_gradient() {
    let net = Net::new();
    let loss = loss(&net);
    net.first.set_requires_grad(false);
    loss.backward().unwrap();
    assert!(net.first.weight().grad().is_none());
    assert!(net.second.weight().grad().is_some());
    net.first.set_requires_grad(true);
    assert!(net.first.weight().grad().is_none());
}

#[test]
fn gradients_of_frozen_parameters_alone_allow_no_step() {
    let net = Net::new();
    let mut optimizer = SGD::new(&net, 0.1).unwrap();
    net.set_requires_grad(false);
    let weight = net.first.weight();
    weight.set_grad(weight.detach()).unwrap();
    let error = optimizer.step(&net).unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(OptimizerError::NoGradients { .. })
    ));
}

#[derive(Module)]
struct One {
    weight: Parameter,
}

impl Forward for One {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        x.mul(self.weight.tensor())
    }
}

/// The memory of a dropped model is soon reused by the next one.
#[test]
fn an_optimizer_does_not_take_a_new_model_for_one_that_has_gone() {
    let model = || One {
        weight: Parameter::new(Tensor::from([1.0_f32, 1.0])).unwrap(),
    };
    for spare in 0..8 {
        // Blocks that are free when the new model is created, so that it gets the old one's.
        let leaves: Vec<Tensor> = (0..spare)
            .map(|_| Tensor::from(1.0_f32).with_grad().unwrap())
            .collect();
        let old = model();
        let mut optimizer = SGD::new(&old, 0.1).unwrap();
        drop(old);
        drop(leaves);
        let new = model();
        loss(&new).backward().unwrap();
        assert!(optimizer.step(&new).is_err());
    }
}

#[derive(Module)]
struct Borrows {
    marker: Marker,
}

impl<'a> Forward<&'a Tensor> for Borrows {
    type Output = Tensor;

    fn forward(&self, x: &'a Tensor) -> Result<Tensor> {
        Ok(x.clone())
    }
}

#[test]
fn a_borrowed_input_is_not_replaced_in_silence() {
    let module = Borrows {
        marker: Marker::new(),
    };
    let _hook =
        module.register_forward_pre_hook(|call| call.set_inputs(vec![Tensor::from(9.0_f32)]));
    let error = module.call(&Tensor::from(1.0_f32)).unwrap_err();
    assert!(error.to_string().contains("borrowed"), "{error}");
}

/// Two tensors loaded from one value share it until one of them is trained. If a file treated this as a tie, PyTorch, which
/// has no such sharing, would miss the second name.
#[test]
fn equal_weights_that_are_not_tied_are_both_written() {
    let pair = Pair {
        first: Linear::new(2, 2).unwrap(),
        second: Linear::new(2, 2).unwrap(),
    };
    let state = pair.first.state_dict().unwrap();
    assert_eq!(pair.second.load_state_dict(&state).unwrap().loaded.len(), 2);
    let file = std::env::temp_dir().join(format!("untied-{}.safetensors", std::process::id()));
    pair.save(&file).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for key in ["first.weight", "first.bias", "second.weight", "second.bias"] {
        assert!(text.contains(&format!("\"{key}\":{{")), "{key} is missing");
    }
}

#[test]
fn a_parameter_tells_its_dtype_and_device() {
    let net = Net::new();
    net.bfloat16().unwrap();
    let weight = net.first.weight();
    assert_eq!(
        (weight.dtype(), weight.device()),
        (DType::BF16, Device::cpu())
    );
}
