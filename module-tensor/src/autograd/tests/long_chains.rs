//! Graphs of many operations need no stack.

use super::*;

#[test]
fn a_long_chain_is_built_run_and_dropped_without_recursion() {
    on_a_small_stack(|| {
        let x = Tensor::from(1.0_f32).with_grad().unwrap();
        let mut y = x.clone();
        for _ in 0..LONG {
            y = y.add(1.0).unwrap();
        }
        y.backward().unwrap();
        assert_eq!(x.grad().unwrap().item::<f32>().unwrap(), 1.0);
    });
}

#[test]
fn a_long_chain_of_saved_values_is_dropped_without_recursion() {
    on_a_small_stack(|| {
        let x = Tensor::from(0.0_f32).with_grad().unwrap();
        let chain = || {
            let mut y = x.clone();
            for _ in 0..LONG / 2 {
                y = y.mul(&x).unwrap().exp().unwrap();
            }
            y
        };
        let y = chain();
        y.backward_with(&y.detach().ones_like().unwrap(), retain())
            .unwrap();
        assert_eq!(x.grad().unwrap().item::<f32>().unwrap(), 1.0);
        // With the saved values in place, after a pass that freed them, and without any pass.
        drop(y);
        chain().backward().unwrap();
        drop(chain());
    });
}

#[test]
fn a_long_recorded_backward_pass_is_dropped_without_recursion() {
    on_a_small_stack(|| {
        let x = Tensor::from(1.0_f32).with_grad().unwrap();
        let mut y = x.clone();
        for _ in 0..LONG / 10 {
            y = y.mul(&x).unwrap();
        }
        let slope = grad(&[&y], &[&x], create()).unwrap().remove(0).unwrap();
        drop(y);
        let curvature = grad(&[&slope], &[&x], create()).unwrap();
        drop((slope, curvature));
    });
}
