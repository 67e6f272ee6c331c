//! What a recomputed call finds: buffers, hooks, mixed precision and overridden values.

use super::*;

/// A layer that multiplies by its number of calls.
#[derive(Module)]
struct Counter {
    calls: Buffer,
}

impl Forward for Counter {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.calls.set(self.calls.tensor().add(1.0)?)?;
        x.mul(self.calls.tensor())?.exp()
    }
}

#[test]
fn buffers_start_from_the_same_values_and_move_once() {
    let counter = Arc::new(Counter {
        calls: Buffer::new(Tensor::from(0.0_f64)),
    });
    let x = leaf(1, &[3]);
    let inside = counter.clone();
    let y = checkpoint(move |x: Tensor| inside.call(x), x.clone()).unwrap();
    // A call before the backward pass, which is not undone.
    let _ = no_grad(|| counter.call(x.detach())).unwrap();
    y.sum(..).unwrap().backward().unwrap();
    assert_eq!(counter.calls.tensor().item::<f64>().unwrap(), 2.0);
    // Of exp(1·x), not of exp(2·x) or exp(3·x).
    assert_equal(&x.grad(), &Some(y.detach()), "the gradient");
}

#[test]
fn forward_hooks_run_again_and_backward_hooks_once() {
    let layer = Arc::new(fork_rng(1, || Linear::new(3, 3)).unwrap());
    let (forward, backward) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for dropped_before in [false, true] {
        let counted = (forward.clone(), backward.clone());
        let hooks = (
            layer.register_forward_hook(move |_| {
                counted.0.fetch_add(1, Ordering::Relaxed);
            }),
            layer.register_full_backward_hook(move |_| {
                counted.1.fetch_add(1, Ordering::Relaxed);
            }),
        );
        let inside = layer.clone();
        let x = leaf(2, &[2, 3])
            .detach()
            .to_dtype(DType::F32)
            .unwrap()
            .with_grad()
            .unwrap();
        let y = checkpoint(move |x: Tensor| inside.call(x)?.exp(), x.clone()).unwrap();
        if dropped_before {
            drop(hooks);
            y.sum(..).unwrap().backward().unwrap();
        } else {
            y.sum(..).unwrap().backward().unwrap();
            drop(hooks);
        }
        assert!(x.grad().is_some());
    }
    assert_eq!(
        (
            forward.load(Ordering::Relaxed),
            backward.load(Ordering::Relaxed)
        ),
        (2 + 1, 1 + 1)
    );
}

#[test]
fn a_sequential_in_segments_has_the_same_keys() {
    let (plain, net) = (
        network().unwrap(),
        CheckpointedSequential::new(network().unwrap(), 3).unwrap(),
    );
    let keys = |net: &dyn Module| {
        net.state_dict()
            .unwrap()
            .keys()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&net), keys(&plain));
    let _ = net.load_state_dict(&plain.state_dict().unwrap()).unwrap();
    let error = net
        .call(Tensor::ones([2, 5], DType::F32).unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("0 (Linear): "), "{error}");
    for segments in [0, 9] {
        let error = CheckpointedSequential::new(network().unwrap(), segments)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("must be from 1 to the 8 layer(s)"),
            "{error}"
        );
    }
}

fn single(seed: u64, shape: &[usize]) -> Tensor {
    let x = leaf(seed, shape).detach().to_dtype(DType::F32).unwrap();
    x.with_grad().unwrap()
}

/// The scopes of the first run are entered again, whatever scope the backward pass runs in.
#[test]
fn the_dtype_of_mixed_precision_is_that_of_the_first_run() {
    let net = Arc::new(fork_rng(3, network).unwrap());
    let gradients = |recomputed: bool| {
        net.eval();
        net.zero_grad();
        let x = single(5, &[4, 6]);
        let own = net.clone();
        let out = autocast(DType::BF16, || match recomputed {
            true => checkpoint(move |x: Tensor| own.call(x), x.clone()),
            false => own.call(x.clone()),
        });
        let out = out.unwrap();
        assert_eq!(out.dtype(), DType::BF16);
        out.to_dtype(DType::F32)
            .unwrap()
            .sum(..)
            .unwrap()
            .backward()
            .unwrap();
        let parameters = net.named_parameters().map(|(_, p)| p.grad());
        parameters.chain([x.grad()]).collect::<Vec<_>>()
    };
    for (a, b) in gradients(true).iter().zip(&gradients(false)) {
        assert!(a.is_some());
        assert_equal(a, b, "mixed precision");
    }
}

#[test]
fn values_of_a_functional_call_are_those_of_the_first_run() {
    let layer = Arc::new(fork_rng(3, || Linear::new(6, 2)).unwrap());
    let gradients = |recomputed: bool| {
        layer.zero_grad();
        let (x, weight) = (single(5, &[4, 6]), single(6, &[2, 6]));
        let own = layer.clone();
        let run = move |x: Tensor| own.call(x)?.tanh();
        let out =
            FunctionalCall::new(&*layer).run([("weight", weight.clone())], || match recomputed {
                true => checkpoint(run, x.clone()),
                false => run(x.clone()),
            });
        out.unwrap()
            .square()
            .unwrap()
            .sum(..)
            .unwrap()
            .backward()
            .unwrap();
        assert!(layer.weight().grad().is_none());
        [x.grad(), weight.grad()]
    };
    for (a, b) in gradients(true).iter().zip(&gradients(false)) {
        assert!(a.is_some());
        assert_equal(a, b, "functional call");
    }
}
