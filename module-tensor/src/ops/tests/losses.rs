//! Losses: gradients, and what they are where logarithms are infinite.

use super::*;
use crate::{CtcLossOptions, Reduction};

pub(super) fn check_all() {
    let inside = |x: &Tensor| x.mul(0.2)?.add(0.5);
    for shape in [&[2_usize, 3][..], &[], &[0]] {
        check("binary_cross_entropy", &[shape, shape], |x| {
            inside(&x[0])?.binary_cross_entropy(&inside(&x[1])?)
        });
    }
    let (time, letters) = (Tensor::from([5_i64, 4]), Tensor::from([2_i64, 1]));
    let targets = Tensor::from([[1_i64, 1], [2, -7]]);
    for reduction in [Reduction::None, Reduction::Mean, Reduction::Sum] {
        let options = CtcLossOptions {
            reduction,
            ..CtcLossOptions::default()
        };
        // Not normalised: the gradient is that of the loss alone.
        check("ctc_loss", &[&[5, 2, 3]], |x| {
            x[0].ctc_loss(&targets, &time, &letters, options)
        });
    }
    check("ctc_loss without letters", &[&[3, 3]], |x| {
        let (none, time) = (Tensor::from([0_i64]), Tensor::from([3_i64]));
        let empty = Tensor::from_vec(Vec::<i64>::new(), 0)?;
        x[0].ctc_loss(&empty, &time, &none, CtcLossOptions::default())
    });
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

#[test]
fn a_target_that_no_path_spells_has_no_slope() {
    let x = numbers([2, 1, 3], 1).with_grad().unwrap();
    // The same letter twice needs a blank between.
    let loss = |zero_infinity| {
        let options = CtcLossOptions {
            zero_infinity,
            ..CtcLossOptions::default()
        };
        let targets = Tensor::from([[1_i64, 1]]);
        let lengths = Tensor::from([2_i64]);
        x.ctc_loss(&targets, &lengths, &lengths, options).unwrap()
    };
    assert_eq!(loss(true).item::<f64>().unwrap(), 0.0);
    assert_eq!(loss(false).item::<f64>().unwrap(), f64::INFINITY);
    loss(false).backward().unwrap();
    let slopes = x.grad().unwrap().to_vec::<f64>().unwrap();
    assert!(slopes.iter().all(|&slope| slope == 0.0), "{slopes:?}");
}
