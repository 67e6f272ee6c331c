//! Parts of a model that are recomputed in the backward pass: PyTorch's gradients, and bit for bit our own without it.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod surroundings;
mod within;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use module_nn::activation_checkpoint::checkpoint;
use module_nn::prelude::*;
use module_nn::rng::default_generator;
use module_nn::{AutogradError, BackwardOptions, CheckpointedSequential, FunctionalCall, autograd};
use module_tests::golden::{self, Tolerance, assert_close};
use serde_json::Value;

/// The network of the golden file.
fn network() -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(6, 8)?)
        .push(BatchNorm1d::new(8)?)
        .push(Tanh::new())
        .push(Dropout::new(0.4)?)
        .push(Linear::new(8, 8)?)
        .push(GELU::new())
        .push(Dropout::new(0.3)?)
        .push(Linear::new(8, 3)?))
}

/// The gradients of a run of the network, and its buffers.
struct Run {
    out: Tensor,
    input_grad: Tensor,
    grads: Vec<(String, Tensor)>,
    buffers: Vec<(String, Tensor)>,
}

/// Runs a network with the recorded values.
fn run(
    name: &str,
    dtype: DType,
    tensors: &StateDict,
    net: &dyn Module,
    forward: impl Fn(Tensor) -> Result<Tensor>,
) -> Run {
    let get = |key: &str| {
        tensors
            .get(&format!("{name}/{key}"))
            .expect("recorded")
            .clone()
    };
    net.to_dtype(dtype).unwrap();
    for (key, parameter) in net.named_parameters() {
        parameter.set(get(&format!("param.{key}"))).unwrap();
    }
    let x = get("in").with_grad().unwrap();
    let (out, undisturbed) = fork_rng(11, || {
        let out = forward(x.clone()).unwrap();
        let state = default_generator().get_state();
        let loss = out.square().unwrap().mean(..).unwrap();
        loss.backward().unwrap();
        (out.detach(), state == default_generator().get_state())
    });
    assert!(
        undisturbed,
        "{name}: the backward pass drew from the generator"
    );
    let grads = net.named_parameters();
    let buffers = net.named_buffers();
    Run {
        out,
        input_grad: x.grad().unwrap(),
        grads: grads.map(|(key, p)| (key, p.grad().unwrap())).collect(),
        buffers: buffers.map(|(key, b)| (key, b.tensor())).collect(),
    }
}

fn assert_same_bits(a: &Run, b: &Run, what: &str) {
    let same = |a: &Tensor, b: &Tensor, key: &str| {
        assert_close(a, b, Tolerance::EXACT, &format!("{what}: {key}"))
    };
    same(&a.out, &b.out, "out");
    same(&a.input_grad, &b.input_grad, "gin");
    for ((key, a), (_, b)) in a
        .grads
        .iter()
        .zip(&b.grads)
        .chain(a.buffers.iter().zip(&b.buffers))
    {
        same(a, b, key);
    }
}

#[test]
fn gradients_are_those_of_pytorch_and_of_a_plain_pass_to_the_bit() {
    let (case, tensors) = golden::load("activation_checkpoints.safetensors");
    let cases = case["cases"].as_array().unwrap();
    assert!(cases.len() >= 5);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let dtype = if case["dtype"] == "f64" {
            DType::F64
        } else {
            DType::F32
        };
        let plain = network().unwrap();
        let expected = run(name, dtype, &tensors, &plain, |x| plain.call(x));
        let found = match case["segments"].as_u64() {
            Some(segments) => {
                let segments = usize::try_from(segments).unwrap();
                let net = CheckpointedSequential::new(network().unwrap(), segments).unwrap();
                run(name, dtype, &tensors, &net, |x| net.call(x))
            }
            None => {
                let net = Arc::new(network().unwrap());
                run(name, dtype, &tensors, &net, |x| {
                    in_parts(&net, &case["parts"], x)
                })
            }
        };
        assert_same_bits(&found, &expected, name);
        let get = |key: &str| tensors.get(&format!("{name}/{key}")).expect("recorded");
        assert_close(&found.out, get("out"), Tolerance::CONTRACTION, name);
        assert_close(&found.input_grad, get("gin"), Tolerance::DIFFERENCE, name);
        for (key, grad) in &found.grads {
            let key = format!("grad.{key}");
            assert_close(grad, get(&key), Tolerance::DIFFERENCE, &key);
        }
        // Running statistics are updated once, as in a plain pass.
        for (key, buffer) in &found.buffers {
            let key = format!("after.{key}");
            assert_close(buffer, get(&key), Tolerance::CONTRACTION, &key);
        }
    }
}

/// Each layer in a separate checkpoint.
fn in_parts(net: &Arc<Sequential>, parts: &Value, mut x: Tensor) -> Result<Tensor> {
    let mut done = 0;
    for part in parts.as_array().unwrap() {
        let place = |i: usize| usize::try_from(part[i].as_u64().unwrap()).unwrap();
        let (net, start, end) = (net.clone(), place(0), place(1));
        x = checkpoint(move |x| layers(&net, start, end, x), x)?;
        done = end;
    }
    layers(net, done, net.len(), x)
}

fn layers(net: &Sequential, start: usize, end: usize, x: Tensor) -> Result<Tensor> {
    (start..end).try_fold(x, |x, place| net.layer(place)?.call(x))
}

fn leaf(seed: u64, shape: &[usize]) -> Tensor {
    let x = fork_rng(seed, || Tensor::randn(shape, DType::F64)).unwrap();
    x.with_grad().unwrap()
}

fn assert_equal(a: &Option<Tensor>, b: &Option<Tensor>, what: &str) {
    assert_close(
        a.as_ref().unwrap(),
        b.as_ref().unwrap(),
        Tolerance::EXACT,
        what,
    );
}

/// Two input tensors and two outputs, one of which uses a captured tensor.
fn two(w: &Tensor, x: &Tensor, y: &Tensor) -> Result<(Tensor, Tensor)> {
    let h = x.matmul(w)?.tanh()?.dropout(0.3)?;
    Ok((h.mul(y)?.exp()?, h.sigmoid()?.mul(w.sum(..)?)?))
}

/// The loss of [`two`], with different weights for its results, and `w` also used outside.
fn loss_of_two(w: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.sum(..)?
        .add(&b.square()?.mean(..)?)?
        .add(&w.square()?.sum(..)?)
}

#[test]
fn tuples_captured_tensors_repeated_passes_and_second_derivatives() {
    let runs = Arc::new(AtomicUsize::new(0));
    let fresh = || (leaf(1, &[4, 4]), leaf(2, &[3, 4]), leaf(3, &[3, 4]));
    let plain = |w: &Tensor, x: &Tensor, y: &Tensor| {
        let (a, b) = fork_rng(5, || two(w, x, y)).unwrap();
        loss_of_two(w, &a, &b).unwrap()
    };
    let checkpointed = |w: &Tensor, x: &Tensor, y: &Tensor| {
        let (inside, counted) = (w.clone(), runs.clone());
        let function = move |(x, y): (Tensor, Tensor)| {
            counted.fetch_add(1, Ordering::Relaxed);
            two(&inside, &x, &y)
        };
        let (a, b) = fork_rng(5, || checkpoint(function, (x.clone(), y.clone()))).unwrap();
        loss_of_two(w, &a, &b).unwrap()
    };
    let ((w, x, y), (v, s, t)) = (fresh(), fresh());
    let (expected, found) = (plain(&w, &x, &y), checkpointed(&v, &s, &t));
    assert_close(
        &found.detach(),
        &expected.detach(),
        Tolerance::EXACT,
        "the loss",
    );
    let names = |x: &Tensor| x.graph_node().unwrap().name();
    assert_eq!(names(&found), names(&expected));
    for pass in 1..=3 {
        let keep = BackwardOptions::new().retain_graph(pass < 3);
        let one = Tensor::from(1.0_f64);
        expected.backward_with(&one, keep).unwrap();
        found.backward_with(&one, keep).unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), 1 + pass);
        for (a, b) in [(&w, &v), (&x, &s), (&y, &t)] {
            assert_equal(&a.grad(), &b.grad(), "a gradient");
        }
    }
    assert!(
        found
            .backward()
            .unwrap_err()
            .to_string()
            .contains("freed by an earlier backward")
    );

    // The gradient of the norm of the gradients.
    let twice = |loss: Tensor, of: [&Tensor; 3]| {
        let keep = BackwardOptions::new().create_graph(true);
        let grads = autograd::grad(&[&loss], &of, keep).unwrap();
        let squares = grads
            .into_iter()
            .map(|g| g.unwrap().square().unwrap().sum(..).unwrap());
        let norm = squares.reduce(|a, b| a.add(&b).unwrap()).unwrap();
        autograd::grad(&[&norm], &of, BackwardOptions::new()).unwrap()
    };
    let expected = twice(plain(&w, &x, &y), [&w, &x, &y]);
    let found = twice(checkpointed(&v, &s, &t), [&v, &s, &t]);
    for (a, b) in expected.iter().zip(&found) {
        assert_equal(a, b, "a second derivative");
    }
}

#[test]
fn parameters_have_gradients_where_no_input_is_tracked() {
    let layer = Arc::new(fork_rng(1, || Linear::new(3, 2)).unwrap());
    let x = leaf(2, &[4, 3]).detach().to_dtype(DType::F32).unwrap();
    layer
        .call(x.clone())
        .unwrap()
        .sum(..)
        .unwrap()
        .backward()
        .unwrap();
    let expected = layer.weight().grad();
    layer.zero_grad();
    let inside = layer.clone();
    let y = checkpoint(move |x: Tensor| inside.call(x), x.clone()).unwrap();
    y.sum(..).unwrap().backward().unwrap();
    assert_equal(&layer.weight().grad(), &expected, "weight");
    // If nothing is recorded, it just runs.
    let inside = layer.clone();
    let y = no_grad(|| checkpoint(move |x: Tensor| inside.call(x), x)).unwrap();
    assert!(!y.requires_grad());
}

#[test]
fn checkpoints_can_be_nested() {
    fn nested(w: Tensor, depth: usize, runs: Arc<AtomicUsize>, x: Tensor) -> Result<Tensor> {
        runs.fetch_add(1, Ordering::Relaxed);
        let x = x.matmul(&w)?.tanh()?.dropout(0.2)?;
        if depth == 0 {
            return Ok(x);
        }
        let (inside, counted) = (w.clone(), runs.clone());
        let y = checkpoint(
            move |x| nested(inside.clone(), depth - 1, counted.clone(), x),
            x,
        )?;
        y.mul(&w.sum(..)?)
    }
    fn plain(w: &Tensor, depth: usize, x: &Tensor) -> Result<Tensor> {
        let x = x.matmul(w)?.tanh()?.dropout(0.2)?;
        if depth == 0 {
            return Ok(x);
        }
        plain(w, depth - 1, &x)?.mul(&w.sum(..)?)
    }
    let (w, v) = (leaf(1, &[4, 4]), leaf(1, &[4, 4]));
    let (x, s) = (leaf(2, &[3, 4]), leaf(2, &[3, 4]));
    let runs = Arc::new(AtomicUsize::new(0));
    let found = fork_rng(7, || nested(w.clone(), 3, runs.clone(), x.clone())).unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 4);
    found.sum(..).unwrap().backward().unwrap();
    // The outermost body is in no checkpoint; the inner ones run once more for each enclosing checkpoint.
    assert_eq!(runs.load(Ordering::Relaxed), 4 + 3 + 2 + 1);
    let expected = fork_rng(7, || plain(&v, 3, &s)).unwrap();
    expected.sum(..).unwrap().backward().unwrap();
    assert_equal(&w.grad(), &v.grad(), "w");
    assert_equal(&x.grad(), &s.grad(), "x");
}

#[test]
fn what_is_not_the_same_again_is_an_error_and_changes_no_gradient() {
    type Other = fn(&Tensor, usize) -> Result<Tensor>;
    let others: [(Other, &str); 4] = [
        (
            |x, run| if run == 0 { x.exp() } else { x.tanh() },
            "`tanh` of float64 [3] as operation 0, and `exp` of float64 [3] at first",
        ),
        (
            |x, run| if run == 0 { x.exp()?.sin() } else { x.exp() },
            "1 operation(s), and 2 at first",
        ),
        (
            |x, run| if run == 0 { x.exp() } else { x.exp()?.sin() },
            "`sin` as operation 1, behind the last at first",
        ),
        (
            |x, run| x.exp()?.narrow(0, 0..2 - run),
            "the outputs float64 [1], and float64 [2] at first",
        ),
    ];
    for (function, problem) in others {
        let (x, runs) = (leaf(1, &[3]), AtomicUsize::new(0));
        let again = move |x: Tensor| function(&x, runs.fetch_add(1, Ordering::Relaxed));
        let y = checkpoint(again, x.clone()).unwrap();
        let error = y.sum(..).unwrap().backward().unwrap_err();
        let found = error.to_string();
        assert!(found.contains(problem), "{found}");
        assert!(found.contains("must do the same each time"), "{found}");
        assert!(matches!(
            error.kind(),
            ErrorKind::Autograd(AutogradError::Recomputed { .. })
        ));
        assert!(x.grad().is_none());
    }
    let runs = AtomicUsize::new(0);
    let fails = move |x: Tensor| match runs.fetch_add(1, Ordering::Relaxed) {
        0 => x.exp(),
        _ => x.reshape([7]),
    };
    let x = leaf(1, &[3]);
    let y = checkpoint(fails, x.clone()).unwrap();
    let error = y.sum(..).unwrap().backward().unwrap_err().to_string();
    assert!(error.contains("reshape"), "{error}");
    // The thread's mode is restored.
    x.exp().unwrap().sum(..).unwrap().backward().unwrap();
    assert!(x.grad().is_some());
}
