mod anomaly;
mod asked;
mod dropped;
mod hooks;
mod long_chains;
mod outputs;
mod panics;
mod post_accumulate;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use super::*;
use crate::tensor::{Node, Tensor};
use crate::{
    AutogradError, Backward, DType, DTypeError, Error, ErrorKind, Function, Gradients, NoGradient,
    Result, ShapeError, no_grad,
};

fn leaf(values: &[f64]) -> Tensor {
    Tensor::from_vec(values.to_vec(), values.len())
        .unwrap()
        .with_grad()
        .unwrap()
}

fn total(x: &Tensor) -> Tensor {
    x.sum(..).unwrap()
}

fn grad_of(x: &Tensor) -> Vec<f64> {
    x.grad().unwrap().to_vec().unwrap()
}

fn retain() -> BackwardOptions {
    BackwardOptions::new().retain_graph(true)
}

fn create() -> BackwardOptions {
    BackwardOptions::new().create_graph(true)
}

/// Runs `f` where deep recursion has no room.
fn on_a_small_stack(f: impl FnOnce() + Send + 'static) {
    let builder = std::thread::Builder::new().stack_size(256 * 1024);
    builder.spawn(f).unwrap().join().unwrap();
}

// Miri, which looks at every step, has time for fewer.
const LONG: usize = if cfg!(miri) { 200 } else { 500_000 };

#[test]
fn gradients_accumulate_until_they_are_dropped() {
    let x = leaf(&[1.0, 2.0]);
    total(&x.mul(&x).unwrap()).backward().unwrap();
    assert_eq!(grad_of(&x), [2.0, 4.0]);
    total(&x.mul(3.0).unwrap()).backward().unwrap();
    assert_eq!(grad_of(&x), [5.0, 7.0]);
    x.zero_grad();
    assert!(x.grad().is_none());
}

#[test]
fn a_value_that_is_used_twice_gets_both_gradients_before_it_passes_them_on() {
    let x = leaf(&[3.0]);
    let a = x.mul(&x).unwrap();
    let (b, c) = (a.mul(2.0).unwrap(), a.mul(&a).unwrap());
    // y = 2x² + x⁴, by way of two branches of different length that meet.
    total(&b.add(c.neg().unwrap().neg().unwrap()).unwrap())
        .backward()
        .unwrap();
    assert_eq!(grad_of(&x), [4.0 * 3.0 + 4.0 * 27.0]);
    let x = leaf(&[2.0]);
    let y = x.add(&x).unwrap().add(&x).unwrap();
    total(&y).backward().unwrap();
    assert_eq!(grad_of(&x), [3.0]);
}

#[test]
fn a_second_backward_needs_the_saved_values() {
    let x = leaf(&[2.0]);
    let y = total(&x.exp().unwrap());
    y.backward().unwrap();
    let error = y.backward().unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Autograd(AutogradError::GraphFreed { op: "sum" })
    ));
    assert_eq!(grad_of(&x), [2.0_f64.exp()]);

    // A part that another output has used is named.
    let x = leaf(&[2.0]);
    let shared = x.exp().unwrap();
    total(&shared).backward().unwrap();
    let error = total(&shared.mul(2.0).unwrap()).backward().unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Autograd(AutogradError::GraphFreed { op: "exp" })
    ));
    assert_eq!(
        error.to_string(),
        "backward: the saved values of `exp` were freed by an earlier backward; keep them with \
         `retain_graph`"
    );

    let x = leaf(&[2.0]);
    let y = total(&x.mul(&x).unwrap());
    let one = y.detach().ones_like().unwrap();
    y.backward_with(&one, retain()).unwrap();
    y.backward_with(&one, retain()).unwrap();
    y.backward().unwrap();
    assert_eq!(grad_of(&x), [12.0]);
    assert!(y.backward().is_err());
}

#[test]
fn an_operation_without_a_gradient_is_an_error_and_changes_no_leaf() {
    let (x, w) = (leaf(&[2.0, 3.0]), leaf(&[1.0, 1.0]));
    total(&w.mul(2.0).unwrap()).backward().unwrap();
    let cut = x.detach().record([&x], |_| NoGradient("round"));
    // The branch of `w` is younger, so that its gradient is there before the pass fails.
    let y = total(&cut.mul(1.0).unwrap().add(w.mul(5.0).unwrap()).unwrap());
    let error = y.backward().unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Autograd(AutogradError::NoGradient { op: "round" })
    ));
    assert!(x.grad().is_none());
    assert_eq!(grad_of(&w), [2.0, 2.0]);
}

/// A gradient that does not fit its input.
struct Wrong(fn(&Tensor) -> Result<Gradients>);

impl Function for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        self.0(ctx.grad())
    }
}

#[test]
fn gradients_that_do_not_fit_are_errors() {
    let failure = |f: fn(&Tensor) -> Result<Gradients>| -> Error {
        let x = leaf(&[1.0, 2.0]);
        let y = x.detach().record([&x], |_| Wrong(f));
        let error = total(&y).backward().unwrap_err();
        assert!(x.grad().is_none());
        error
    };
    assert!(matches!(
        failure(|_| Ok(Gradients::new())).kind(),
        ErrorKind::Autograd(AutogradError::GradientCount {
            op: "wrong",
            expected: 1,
            got: 0
        })
    ));
    assert_eq!(
        failure(|grad| Ok([Some(grad.narrow(0, 0..1)?)].into_iter().collect())).to_string(),
        "wrong: [2] and [1] do not fit: the gradient must have the shape of the input"
    );
    assert!(matches!(
        failure(|grad| Ok([Some(grad.to_dtype(DType::F32)?)].into_iter().collect())).kind(),
        ErrorKind::DType(DTypeError::Mismatch { op: "wrong", .. })
    ));

    let x = leaf(&[1.0, 2.0]);
    let y = x.mul(2.0).unwrap();
    let with = |grad: &Tensor| y.backward_with(grad, retain()).unwrap_err();
    assert!(matches!(
        with(&Tensor::from([1.0_f64])).kind(),
        ErrorKind::Shape(ShapeError::Mismatch { op: "backward", .. })
    ));
    assert!(matches!(
        with(&Tensor::from([1.0_f32, 1.0])).kind(),
        ErrorKind::DType(DTypeError::Mismatch { op: "backward", .. })
    ));
    assert!(matches!(
        y.backward().unwrap_err().kind(),
        ErrorKind::Autograd(AutogradError::NonScalar { .. })
    ));
    assert!(matches!(
        total(&x.detach()).backward().unwrap_err().kind(),
        ErrorKind::Autograd(AutogradError::BackwardUntracked)
    ));
    assert!(x.grad().is_none());
}

#[test]
fn nothing_is_recorded_without_gradients_or_beyond_a_detached_tensor() {
    let x = leaf(&[2.0]);
    assert!(!no_grad(|| x.mul(&x)).unwrap().requires_grad());
    assert!(
        no_grad(|| crate::enable_grad(|| x.mul(&x)))
            .unwrap()
            .requires_grad()
    );
    // A panic restores the mode.
    let _ = std::panic::catch_unwind(|| no_grad(|| panic!("on purpose")));
    assert!(crate::is_grad_enabled());
    let y = x.mul(&x).unwrap();
    total(&y.detach().mul(&x).unwrap()).backward().unwrap();
    assert_eq!(grad_of(&x), [4.0]);
    assert!(!x.gt(1.0).unwrap().requires_grad());
    for x in [Tensor::from([1_i64]), Tensor::from([true])] {
        let error = x.with_grad().unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::DType(DTypeError::Unsupported {
                op: "with_grad",
                ..
            })
        ));
    }
    // The pass itself records nothing either.
    assert!(!x.grad().unwrap().requires_grad());
}

#[test]
fn grad_leaves_the_leaves_alone() {
    let (x, w) = (leaf(&[2.0]), leaf(&[5.0]));
    let h = x.mul(&w).unwrap();
    let y = total(&h.mul(&h).unwrap());
    let grads = grad(&[&y], &[&h, &x, &y, &leaf(&[1.0])], retain()).unwrap();
    let value = |i: usize| grads[i].as_ref().map(|g| g.to_vec::<f64>().unwrap()[0]);
    assert_eq!(
        [value(0), value(1), value(2), value(3)],
        [Some(20.0), Some(100.0), Some(1.0), None]
    );
    assert!(x.grad().is_none() && w.grad().is_none());
    // The sum of two outputs, one of which is an input of the other.
    let both = grad(&[&y, &total(&h)], &[&w], retain()).unwrap();
    assert_eq!(
        both[0].as_ref().unwrap().to_vec::<f64>().unwrap(),
        [40.0 + 2.0]
    );
    assert!(grad(&[&y], &[&x.detach()], retain()).is_err());
    assert!(
        grad(
            &[&h.mul(Tensor::from([1.0_f64, 2.0])).unwrap()],
            &[&x],
            retain()
        )
        .is_err()
    );
    assert!(grad_with(&[&y], &[], &[&x], retain()).is_err());
}

#[test]
fn grad_runs_only_the_operations_in_between() {
    let (x, w) = (leaf(&[2.0]), leaf(&[3.0]));
    let cut = x.detach().record([&x], |_| NoGradient("round"));
    let y = total(&w.mul(&w).unwrap().add(&cut).unwrap());
    let grads = grad(&[&y], &[&w], BackwardOptions::default()).unwrap();
    assert_eq!(grads[0].as_ref().unwrap().to_vec::<f64>().unwrap(), [6.0]);
}

#[test]
fn derivatives_of_any_order() {
    let x = leaf(&[0.5]);
    let mut y = total(&x.mul(2.0).unwrap().exp().unwrap());
    for order in 1..=4 {
        y = total(grad(&[&y], &[&x], create()).unwrap()[0].as_ref().unwrap());
        let exact = f64::from(1 << order) * 1.0_f64.exp();
        assert!((y.item::<f64>().unwrap() - exact).abs() < 1e-12);
    }
    // By way of the gradient that a leaf keeps, too.
    let x = leaf(&[3.0]);
    let y = total(&x.pow(3.0).unwrap());
    y.backward_with(&y.detach().ones_like().unwrap(), create())
        .unwrap();
    let slope = x.grad().unwrap();
    x.zero_grad();
    total(&slope).backward().unwrap();
    assert_eq!(grad_of(&x), [18.0]);
}

#[test]
fn threads_add_up() {
    const THREADS: usize = 8;
    const STEPS: usize = if cfg!(miri) { 5 } else { 200 };
    // Sums of small multiples of a quarter are exact in any order.
    let (w, b) = (leaf(&[0.5, -0.25, 2.0]), leaf(&[1.0]));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (w, b) = (&w, &b);
            scope.spawn(move || {
                for step in 0..STEPS {
                    let x = ((thread * STEPS + step) % 7) as f64 * 0.25;
                    let y = w.mul(x).unwrap().add(b).unwrap();
                    total(&y).backward().unwrap();
                }
            });
        }
    });
    let sum: f64 = (0..THREADS * STEPS).map(|i| (i % 7) as f64 * 0.25).sum();
    assert_eq!(grad_of(&w), [sum; 3]);
    assert_eq!(grad_of(&b), [(3 * THREADS * STEPS) as f64]);
}

#[test]
fn one_graph_serves_many_threads() {
    const PASSES: i32 = if cfg!(miri) { 3 } else { 50 };
    let x = leaf(&[3.0]);
    let y = total(&x.mul(&x).unwrap());
    let one = y.detach().ones_like().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..PASSES).for_each(|_| y.backward_with(&one, retain()).unwrap()));
        }
    });
    assert_eq!(grad_of(&x), [f64::from(6 * 8 * PASSES)]);
}

#[test]
fn gradcheck_names_the_element_that_differs() {
    let x = Tensor::from([1.0_f64, 2.0]);
    let error = gradcheck(|x| x[1].mul(x[0].detach()), &[x.clone(), x.clone()]).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Autograd(AutogradError::GradCheck {
                input: 0,
                element: 0,
                ..
            })
        ),
        "{error}"
    );
    let narrow = x.to_dtype(DType::F32).unwrap();
    assert!(matches!(
        gradcheck(|x| x[0].exp(), &[narrow]).unwrap_err().kind(),
        ErrorKind::DType(DTypeError::Unsupported {
            op: "gradcheck",
            ..
        })
    ));
    assert!(gradcheck(|x| Ok(x[0].detach()), std::slice::from_ref(&x)).is_err());
    let empty = Tensor::zeros([0, 3], DType::F64).unwrap();
    gradcheck(|x| x[0].exp(), &[empty]).unwrap();
}
