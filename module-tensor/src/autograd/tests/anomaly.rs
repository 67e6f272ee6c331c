//! Where a gradient that is not finite first appears.

use super::*;

fn found(y: &Tensor) -> (&'static str, usize, Vec<usize>, usize, f64) {
    let error = detect_anomaly(|| y.backward()).unwrap_err();
    match error.into_kind() {
        ErrorKind::Autograd(AutogradError::NonFinite {
            op,
            input,
            shape,
            element,
            value,
        }) => (op, input, shape.to_vec(), element, value),
        kind => panic!("{kind}"),
    }
}

#[test]
fn the_operation_and_the_input_are_named_and_no_leaf_is_changed() {
    let (x, w) = (leaf(&[1.0, 0.0, 4.0]), leaf(&[1.0, 2.0, 3.0]));
    let y = || {
        let scaled = x.sqrt().unwrap().mul(&w).unwrap();
        total(&scaled.exp().unwrap().mul(2.0).unwrap())
    };
    // The slope of the root at 0.
    assert_eq!(found(&y()), ("sqrt", 0, vec![3], 1, f64::INFINITY));
    assert!(x.grad().is_none() && w.grad().is_none());
    // Without the mode, and after it, the pass goes through.
    y().backward().unwrap();
    assert_eq!(grad_of(&x)[1], f64::INFINITY);
    assert!(!is_anomaly_enabled());

    let x = leaf(&[0.0, 1.0]);
    let y = total(&Tensor::from([0.0_f64, 1.0]).mul(x.log().unwrap()).unwrap());
    let (op, _, _, element, value) = found(&y);
    assert!(op == "log" && element == 0 && value.is_nan());

    // The second input, by an infinite factor.
    let (a, b) = (leaf(&[f64::INFINITY]), leaf(&[2.0]));
    assert_eq!(
        found(&total(&a.mul(&b).unwrap())),
        ("mul", 1, vec![1], 0, f64::INFINITY)
    );

    // Two finite gradients whose sum is not.
    let x = leaf(&[1.0]);
    let y = x
        .mul(f64::MAX)
        .unwrap()
        .add(x.mul(f64::MAX).unwrap())
        .unwrap();
    let (op, .., value) = found(&total(&y));
    assert!(op == "mul" && value == f64::INFINITY);
}

#[test]
fn recorded_passes_and_passes_for_inputs_are_looked_at() {
    let x = leaf(&[0.0]);
    let y = total(&x.sqrt().unwrap());
    assert!(detect_anomaly(|| grad(&[&y], &[&x], retain())).is_err());
    assert!(grad(&[&y], &[&x], retain()).is_ok());
    // The slope of x^1.5 is finite at 0, its curvature is not.
    let y = total(&x.pow(1.5).unwrap());
    let curvature = detect_anomaly(|| {
        let slope = grad(&[&y], &[&x], create())?.remove(0).unwrap();
        grad(&[&slope], &[&x], create())
    });
    assert!(matches!(
        curvature.unwrap_err().kind(),
        ErrorKind::Autograd(AutogradError::NonFinite { op: "pow", .. })
    ));
}

#[test]
fn gradients_from_outside_are_not_blamed_on_an_operation() {
    let x = leaf(&[1.0, 2.0]);
    let y = x.mul(2.0).unwrap();
    let bad = Tensor::from([1.0, f64::NAN]);
    let error = detect_anomaly(|| y.backward_with(&bad, retain())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "backward: grad = NaN: element 1 of the gradient of shape [2] is not finite"
    );
    let _hook = y
        .register_hook(move |_| Ok(Some(Tensor::from([f64::NEG_INFINITY, 0.0]))))
        .unwrap();
    let error = detect_anomaly(|| total(&y).backward()).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Autograd(AutogradError::Hook { of: "mul", .. })
    ));
    assert!(x.grad().is_none());
}

#[test]
fn the_mode_belongs_to_its_thread_and_ends_with_a_panic() {
    detect_anomaly(|| {
        assert!(is_anomaly_enabled());
        assert!(!std::thread::spawn(is_anomaly_enabled).join().unwrap());
        detect_anomaly(|| ());
        assert!(is_anomaly_enabled());
    });
    let _ = std::panic::catch_unwind(|| detect_anomaly(|| panic!("on purpose")));
    assert!(!is_anomaly_enabled());
}
