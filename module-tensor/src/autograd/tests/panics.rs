//! Functions of users that panic harm nothing but their own pass.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

/// Counts its drops, and panics when it runs or when it is dropped.
struct Panics {
    run: bool,
    drop: bool,
    dropped: &'static AtomicUsize,
}

impl Function for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        assert!(!self.run, "on purpose");
        Ok([Some(ctx.grad().clone())].into_iter().collect())
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
        assert!(!self.drop, "on purpose");
    }
}

#[test]
fn a_function_that_panics_as_it_is_dropped_keeps_no_other_from_it() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    let x = leaf(&[1.0]);
    let on = |x: &Tensor, drop: bool| {
        x.detach().record([x], |_| Panics {
            run: false,
            drop,
            dropped: &DROPPED,
        })
    };
    let chain = || on(&on(&on(&on(&x, false), true), true), false);
    let y = chain();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(y))).is_err());
    assert_eq!(DROPPED.load(Ordering::SeqCst), 4);
    // The queue of the thread goes on, in order and at once.
    drop(on(&x, false));
    assert_eq!(DROPPED.load(Ordering::SeqCst), 5);
    // On the way out of another panic the second is swallowed rather than end the process.
    let y = chain();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _y = y;
        panic!("the first");
    }));
    assert_eq!(
        panic.unwrap_err().downcast_ref::<&str>(),
        Some(&"the first")
    );
    assert_eq!(DROPPED.load(Ordering::SeqCst), 9);
    // In a pass, which frees functions as it goes.
    let y = chain();
    assert!(catch_unwind(AssertUnwindSafe(|| total(&y).backward())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(y))).is_err());
    assert_eq!(DROPPED.load(Ordering::SeqCst), 13);
    assert!(x.grad().is_none() && crate::is_grad_enabled());
    drop(on(&x, false));
    assert_eq!(DROPPED.load(Ordering::SeqCst), 14);
}

#[test]
fn a_function_that_panics_as_it_runs_poisons_nothing() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    let (x, w) = (leaf(&[1.0]), leaf(&[3.0]));
    let h = x.mul(&w).unwrap();
    let bad = h.detach().record([&h], |_| Panics {
        run: true,
        drop: false,
        dropped: &DROPPED,
    });
    let y = total(&bad.add(&h).unwrap());
    let one = y.detach().ones_like().unwrap();
    for options in [retain(), create()] {
        let pass = || y.backward_with(&one, options);
        assert!(catch_unwind(AssertUnwindSafe(pass)).is_err());
        assert!(x.grad().is_none() && w.grad().is_none());
        assert!(crate::is_grad_enabled());
    }
    // The same graph beside the function, from this thread and from others.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| total(&h.mul(1.0).unwrap()).backward_with(&one, retain()));
        }
    });
    assert_eq!(grad_of(&x), [12.0]);
    // A pass that frees lets go of the function too.
    assert!(catch_unwind(AssertUnwindSafe(|| y.backward())).is_err());
    assert_eq!(DROPPED.load(Ordering::SeqCst), 1);
    assert!(matches!(
        y.backward().unwrap_err().kind(),
        ErrorKind::Autograd(AutogradError::GraphFreed { .. })
    ));
    total(&x.mul(&w).unwrap()).backward().unwrap();
    assert_eq!(grad_of(&x), [15.0]);
}

#[test]
fn a_hook_that_panics_poisons_nothing() {
    let x = leaf(&[1.0]);
    let hook = x.register_hook(|_| panic!("on purpose")).unwrap();
    let y = total(&x);
    let one = y.detach().ones_like().unwrap();
    let pass = || y.backward_with(&one, retain());
    assert!(catch_unwind(AssertUnwindSafe(pass)).is_err());
    drop(hook);
    y.backward().unwrap();
    assert_eq!(grad_of(&x), [1.0]);
}
