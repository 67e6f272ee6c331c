//! What hooks on tensors, kept gradients and guards do beside what PyTorch recorded.

use super::*;
use crate::{EnableGradGuard, NoGradGuard, enable_grad, is_grad_enabled};

#[test]
fn a_hook_that_fails_is_named_and_changes_no_leaf() {
    let (x, w) = (leaf(&[2.0]), leaf(&[3.0]));
    let h = x.mul(2.0).unwrap();
    h.retain_grad().unwrap();
    let y = total(&h.mul(&w).unwrap().add(w.mul(5.0).unwrap()).unwrap());
    let hook = h
        .register_hook(|_| Err(Error::custom("on purpose")))
        .unwrap();
    let line = line!() - 2;
    let one = y.detach().ones_like().unwrap();
    let error = y.backward_with(&one, retain()).unwrap_err();
    let file = file!();
    assert_eq!(
        error.to_string(),
        format!(
            "backward: the hook registered at {file}:{line}:10 on the gradient of `mul`: on purpose"
        )
    );
    assert!(x.grad().is_none() && w.grad().is_none() && h.grad().is_none());
    assert!(grad(&[&y], &[&x], retain()).is_err());
    // One that is not on the way is not asked.
    grad(&[&y], &[&w], retain()).unwrap();
    hook.remove();
    y.backward().unwrap();
    assert_eq!((grad_of(&x), grad_of(&w)), (vec![6.0], vec![9.0]));
}

#[test]
fn a_hook_gives_a_gradient_that_fits() {
    type Hook = fn(&Tensor) -> Result<Option<Tensor>>;
    let failure = |hook: Hook| {
        let x = leaf(&[1.0, 2.0]);
        let _hook = x.register_hook(hook).unwrap();
        let error = total(&x).backward().unwrap_err();
        assert!(x.grad().is_none());
        let ErrorKind::Autograd(AutogradError::Hook { of, source, .. }) = error.into_kind() else {
            panic!("another error");
        };
        assert_eq!(of, "leaf");
        *source
    };
    assert!(matches!(
        failure(|grad| grad.narrow(0, 0..1).map(Some)).kind(),
        ErrorKind::Shape(ShapeError::Mismatch { .. })
    ));
    assert!(matches!(
        failure(|grad| grad.to_dtype(DType::F32).map(Some)).kind(),
        ErrorKind::DType(DTypeError::Mismatch { .. })
    ));
}

#[test]
fn untracked_tensors_have_no_gradient_to_watch() {
    let x = Tensor::from([1.0_f64]);
    for error in [
        x.register_hook(|_| Ok(None)).unwrap_err(),
        x.retain_grad().unwrap_err(),
    ] {
        assert!(matches!(
            error.kind(),
            ErrorKind::Autograd(AutogradError::Untracked { .. })
        ));
    }
    leaf(&[1.0]).retain_grad().unwrap();
}

#[test]
fn a_handle_keeps_no_graph_and_a_hook_lives_with_its_tensor() {
    let owned = Arc::new(());
    let h = leaf(&[1.0]).mul(2.0).unwrap();
    let node = Arc::downgrade(&h.edge.as_ref().unwrap().node);
    let held = owned.clone();
    let hook = h
        .register_hook(move |_| {
            let _ = &held;
            Ok(None)
        })
        .unwrap();
    drop(h);
    assert!(node.upgrade().is_none());
    assert_eq!(Arc::strong_count(&owned), 1);
    drop(hook);
}

#[test]
fn a_long_chain_by_way_of_hooks_is_dropped_without_recursion() {
    on_a_small_stack(|| {
        let x = leaf(&[1.0]);
        let mut y = x.clone();
        for _ in 0..LONG / 10 {
            // The next tensor depends on the one before by its hook only.
            let before = y;
            y = x.mul(2.0).unwrap();
            y.register_hook(move |_| Ok(Some(before.detach())))
                .unwrap()
                .keep();
        }
        drop(y);
    });
}

#[test]
fn the_youngest_guard_alive_decides() {
    assert!(is_grad_enabled());
    let off = NoGradGuard::new();
    assert!(!is_grad_enabled());
    let on = EnableGradGuard::new();
    assert!(is_grad_enabled());
    drop(off);
    assert!(is_grad_enabled());
    drop(on);
    assert!(is_grad_enabled());

    let (on, off) = (EnableGradGuard::new(), NoGradGuard::new());
    drop(on);
    assert!(!is_grad_enabled());
    enable_grad(|| {
        assert!(is_grad_enabled());
        drop(off);
        assert!(is_grad_enabled());
        no_grad(|| assert!(!is_grad_enabled()));
    });
    assert!(is_grad_enabled());

    // A guard that is made inside a closure and leaves it still counts.
    let off = enable_grad(NoGradGuard::new);
    assert!(!is_grad_enabled());
    // Another thread has its own mode.
    assert!(std::thread::spawn(is_grad_enabled).join().unwrap());
    drop(off);
    assert!(is_grad_enabled());
}

#[test]
fn a_panic_drops_guards() {
    let _ = std::panic::catch_unwind(|| {
        let _off = NoGradGuard::new();
        let _on = EnableGradGuard::new();
        let _off = NoGradGuard::new();
        panic!("on purpose");
    });
    assert!(is_grad_enabled());
}
