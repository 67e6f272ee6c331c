//! Gradients that a recomputed function computes itself, and hooks that it registers.

use std::sync::Mutex;

use module_nn::GradHookHandle;

use super::*;

/// The gradients of the sum of `y`.
fn gradients<const N: usize>(y: &Tensor, at: [&Tensor; N], keep: bool) -> Result<[Tensor; N]> {
    let options = BackwardOptions::new().create_graph(keep);
    let found = autograd::grad_with(&[y], &[&y.ones_like()?], &at, options)?;
    let zeros = |(found, at): (Option<Tensor>, &&Tensor)| found.map_or(at.zeros_like(), Ok);
    let found: Result<Vec<Tensor>> = found.into_iter().zip(&at).map(zeros).collect();
    Ok(found?.try_into().expect("one for each"))
}

/// `sum f(x) + |df/dx|²`, with the gradient computed inside.
fn penalized(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let y = x.mul(w)?.exp()?.mul(&x.sin()?)?;
    let [slope] = gradients(&y, [x], true)?;
    y.sum(..)?.add(&slope.square()?.sum(..)?)
}

/// `sum x·f'(x)`, with the gradient at a leaf of its own, whose graph is freed.
fn of_own_leaf(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let own = x.detach().with_grad()?;
    let y = own.exp()?.mul(&own.sin()?)?.mul(&w.exp()?)?;
    let [slope] = gradients(&y, [&own], false)?;
    x.mul(&slope)?.mul(w)?.sum(..)
}

/// The same, with the gradient that `backward` leaves.
fn of_own_backward(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let own = x.detach().with_grad()?;
    own.exp()?.mul(&own.sin()?)?.sum(..)?.backward()?;
    x.mul(own.grad().expect("a gradient"))?.mul(w)?.sum(..)
}

/// Twice, on a graph of which the second uses what the first left.
fn repeatedly(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let first = penalized(x, w)?;
    first.add(&penalized(&x.mul(&first)?.tanh()?, w)?)
}

/// In the last of two nested checkpoints.
fn nested(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let inside = w.clone();
    let y = checkpoint(move |x: Tensor| x.mul(&inside)?.tanh(), x.clone())?;
    let inside = w.clone();
    checkpoint(move |x: Tensor| penalized(&x, &inside), y)
}

/// Of a checkpoint's result.
fn through_a_checkpoint(x: &Tensor, w: &Tensor) -> Result<Tensor> {
    let inside = w.clone();
    let y = checkpoint(move |x: Tensor| penalized(&x, &inside), x.clone())?;
    let [slope] = gradients(&y, [x], true)?;
    slope.mul(w)?.sum(..)
}

type Function = fn(&Tensor, &Tensor) -> Result<Tensor>;

#[test]
fn a_function_may_compute_gradients() {
    let functions: [(&str, Function); 6] = [
        ("a penalty", penalized),
        ("a leaf of its own", of_own_leaf),
        ("a leaf of its own, with backward", of_own_backward),
        ("two penalties", repeatedly),
        ("nested", nested),
        ("through a checkpoint", through_a_checkpoint),
    ];
    for (name, function) in functions {
        let both = [false, true].map(|recomputed| {
            let (x, w) = (leaf(5, &[3, 4]), leaf(6, &[4]));
            let y = match recomputed {
                false => function(&x, &w).unwrap(),
                true => {
                    let w = w.clone();
                    checkpoint(move |x: Tensor| function(&x, &w), x.clone()).unwrap()
                }
            };
            let first = gradients(&y, [&x, &w], true).unwrap();
            let of_x = first[0].square().unwrap();
            let second = gradients(&of_x, [&x, &w], false).unwrap();
            [vec![y], first.to_vec(), second.to_vec()].concat()
        });
        let [plain, recomputed] = both;
        assert_eq!(plain.len(), recomputed.len());
        for (i, (a, b)) in plain.iter().zip(&recomputed).enumerate() {
            assert_equal(
                &Some(b.clone()),
                &Some(a.clone()),
                &format!("{name}: result {i}"),
            );
        }
    }
}

#[test]
fn a_function_that_computes_gradients_moves_buffers_once() {
    let run = |recomputed: bool| {
        let norms = [(); 2].map(|()| Arc::new(BatchNorm1d::new(4).unwrap()));
        let used = norms.clone();
        let function = move |x: Tensor| {
            let y = used[0].call(x.clone())?.exp()?;
            let [slope] = gradients(&y, [&x], true)?;
            // A buffer that changes only behind the gradient, and random numbers.
            let random = Tensor::rand(slope.shape(), slope.dtype())?;
            used[1].call(slope)?.mul(&random)?.add(&y)?.sum(..)
        };
        let x = leaf(3, &[5, 4]).detach().to_dtype(DType::F32).unwrap();
        let x = x.with_grad().unwrap();
        let y = fork_rng(4, || match recomputed {
            false => function(x.clone()),
            true => checkpoint(function, x.clone()),
        });
        y.unwrap().backward().unwrap();
        let means = norms
            .each_ref()
            .map(|norm| norm.buffers().next().unwrap().tensor());
        (x.grad(), means)
    };
    let ((plain, means), (recomputed, again)) = (run(false), run(true));
    assert_equal(&recomputed, &plain, "the gradient");
    for (mean, again) in means.into_iter().zip(again) {
        assert_equal(&Some(again), &Some(mean), "a running mean");
    }
}

#[test]
fn a_hook_that_a_function_registers_runs_once() {
    // What becomes of the handle, and how many times the hook of each tensor then scales its gradient.
    type Slot = Arc<Mutex<Vec<GradHookHandle>>>;
    type Put = fn(&Slot, GradHookHandle);
    let kinds: [(&str, Put); 4] = [
        ("kept", |_, handle| handle.keep()),
        ("in a list", |slot, handle| {
            slot.lock().unwrap().push(handle)
        }),
        ("in a slot", |slot, handle| {
            *slot.lock().unwrap() = vec![handle]
        }),
        ("the first in a slot", |slot, handle| {
            let mut slot = slot.lock().unwrap();
            match slot.len() {
                0 => slot.push(handle),
                _ => drop(handle),
            }
        }),
    ];
    for (name, put) in kinds {
        for hooked in 0..3 {
            let x = leaf(1, &[4]);
            let w = leaf(2, &[4]);
            let (slot, inside) = (Slot::default(), w.clone());
            let calls = Arc::new(AtomicUsize::new(0));
            let (counted, places) = (calls.clone(), slot.clone());
            let function = move |x: Tensor| {
                let y = x.mul(&inside)?.sin()?;
                let counted = counted.clone();
                let hook = [&x, &y, &inside][hooked].register_hook(move |grad| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    grad.mul(2.0).map(Some)
                })?;
                put(&places, hook);
                y.exp()?.sum(..)
            };
            let y = checkpoint(function, x.clone()).unwrap();
            for pass in 1..3 {
                let options = BackwardOptions::new().retain_graph(true);
                y.backward_with(&y.ones_like().unwrap(), options).unwrap();
                assert_eq!(calls.load(Ordering::Relaxed), pass, "{name}, {hooked}");
            }
            let plain = [leaf(1, &[4]), leaf(2, &[4])];
            let [a, b] = &plain;
            a.mul(b)
                .unwrap()
                .sin()
                .unwrap()
                .exp()
                .unwrap()
                .sum(..)
                .unwrap()
                .backward()
                .unwrap();
            let factors = [[2.0, 1.0], [2.0, 2.0], [1.0, 2.0]][hooked];
            for ((actual, plain), factor) in [x, w].iter().zip(&plain).zip(factors) {
                let expected = plain.grad().unwrap().mul(2.0 * factor).unwrap();
                assert_equal(&actual.grad(), &Some(expected), name);
            }
        }
    }
}

#[test]
fn every_hook_of_a_tensor_is_known_again() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (x, counted) = (leaf(1, &[4]), calls.clone());
    let function = move |x: Tensor| {
        for number in 0..3 {
            let counted = counted.clone();
            let hook = x.register_hook(move |_| {
                counted.lock().unwrap().push(number);
                Ok(None)
            })?;
            // The second is removed in each run.
            if number != 1 {
                hook.keep();
            }
        }
        x.exp()?.sum(..)
    };
    let y = checkpoint(function.clone(), x.clone()).unwrap();
    let other = checkpoint(function, x.clone()).unwrap();
    y.add(&other).unwrap().backward().unwrap();
    assert_eq!(*calls.lock().unwrap(), [0, 2, 0, 2]);
}

#[test]
fn a_post_accumulate_hook_that_a_function_registers_runs_once() {
    let (x, w) = (leaf(1, &[4]), leaf(2, &[4]));
    let (calls, hooks) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(Mutex::new(Vec::new())),
    );
    let (counted, inside, kept) = (calls.clone(), w.clone(), hooks.clone());
    let function = move |x: Tensor| {
        let counted = counted.clone();
        let hook = inside.register_post_accumulate_grad_hook(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })?;
        kept.lock().unwrap().push(hook);
        x.mul(&inside)?.exp()?.sum(..)
    };
    let y = checkpoint(function, x).unwrap();
    y.backward().unwrap();
    assert_eq!(
        (calls.load(Ordering::Relaxed), hooks.lock().unwrap().len()),
        (1, 2)
    );
}

#[test]
fn nothing_is_left_of_a_graph_that_is_dropped() {
    let (x, w) = (leaf(1, &[4]), leaf(2, &[4]));
    let captured = Arc::new(());
    for repeated in [false, true] {
        for output in 0..3 {
            let (inside, alive) = (w.clone(), captured.clone());
            let function = move |x: Tensor| {
                let _alive = &alive;
                let y = x.mul(&inside)?.sin()?;
                let _unused = y.exp()?.exp()?;
                Ok([y.exp()?.sin()?, y.sin()?.exp()?, penalized(&y, &inside)?].to_vec())
            };
            let y = checkpoint(function, x.clone()).unwrap();
            let options = BackwardOptions::new().retain_graph(repeated);
            let ones = y[output].ones_like().unwrap();
            y[output].backward_with(&ones, options).unwrap();
            if repeated {
                y[output].backward_with(&ones, options).unwrap();
            }
            drop(y);
            assert_eq!(Arc::strong_count(&captured), 1, "{repeated}, {output}");
        }
    }
}

#[test]
fn a_recomputation_that_needs_itself_is_an_error() {
    let last = Arc::new(Mutex::new(None::<Tensor>));
    let inside = last.clone();
    let function = move |x: Tensor| {
        let before = inside.lock().unwrap().take();
        if let Some(before) = before {
            gradients(&before, [&x], false)?;
        }
        let y = x.exp()?.sin()?.sum(..)?;
        *inside.lock().unwrap() = Some(y.clone());
        Ok(y)
    };
    let x = leaf(1, &[4]);
    let y = checkpoint(function, x.clone()).unwrap();
    let options = BackwardOptions::new().retain_graph(true);
    let error = y.backward_with(&y.ones_like().unwrap(), options);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("needs this recomputation itself"), "{error}");
    assert!(x.grad().is_none());
}
