//! Losses: gradients, and what they are where logarithms are infinite.

use super::*;

pub(super) fn check_all() {
    let inside = |x: &Tensor| x.mul(0.2)?.add(0.5);
    for shape in [&[2_usize, 3][..], &[], &[0]] {
        check("binary_cross_entropy", &[shape, shape], |x| {
            inside(&x[0])?.binary_cross_entropy(&inside(&x[1])?)
        });
    }
}

#[test]
fn probabilities_of_0_and_1_have_finite_losses_and_slopes() {
    let x = Tensor::from([0.0_f64, 1.0, 0.0, 1.0]).with_grad().unwrap();
    let y = Tensor::from([0.0_f64, 1.0, 1.0, 0.0]).with_grad().unwrap();
    let losses = x.binary_cross_entropy(&y).unwrap();
    assert_eq!(losses.to_vec::<f64>().unwrap(), [0.0, 0.0, 100.0, 100.0]);
    losses.sum(.., false).unwrap().backward().unwrap();
    // PyTorch's, which divides by 1e-12 in F32.
    let steep = 1.0 / f64::from(1e-12_f32);
    let slopes = x.grad().unwrap().to_vec::<f64>().unwrap();
    assert_eq!(slopes, [0.0, 0.0, -steep, steep]);
    let slopes = y.grad().unwrap().to_vec::<f64>().unwrap();
    assert_eq!(slopes, [100.0, -100.0, 100.0, -100.0]);
}

#[test]
fn a_probability_outside_is_quoted() {
    for wrong in [-0.25_f32, 1.5, f32::NAN] {
        let x = Tensor::from([0.5_f32, wrong]);
        let error = x.binary_cross_entropy(&x).unwrap_err().to_string();
        assert!(error.contains(&format!("input = {wrong}")), "{error}");
    }
}
