//! Equal elements, and powers of which nothing depends on one operand.

use super::*;
use crate::BackwardOptions;
use crate::autograd::grad_with;

/// Rounding leads the mean of these elements away from them, in one dtype or the other.
const ELEMENTS: [f64; 4] = [0.1, 12345.678, -1.0 / 3.0, 1e30];

#[test]
fn equal_elements_do_not_deviate_and_have_no_gradient() {
    for dtype in [DType::F32, DType::F64] {
        for (element, count) in ELEMENTS.iter().flat_map(|&c| (2..40).map(move |n| (c, n))) {
            let x = Tensor::full([count], element, dtype).unwrap();
            let x = x.with_grad().unwrap();
            let (var, std) = (x.var(.., 1.0).unwrap(), x.std(.., 1.0).unwrap());
            let both = [&var, &std].map(|y| y.to_dtype(DType::F64).unwrap().item::<f64>().unwrap());
            assert_eq!(both, [0.0, 0.0], "{count} times {element} in {dtype}");
            std.add(&var).unwrap().backward().unwrap();
            let gradient = x.grad().unwrap().abs().unwrap().max(..).unwrap();
            let gradient = gradient.to_dtype(DType::F64).unwrap();
            assert_eq!(
                gradient.item::<f64>().unwrap(),
                0.0,
                "{count} times {element}"
            );
        }
    }
}

/// As in PyTorch: a mean that is moved back to the elements would be another.
#[test]
fn the_deviation_from_a_sum_that_overflows_is_infinite() {
    let x = Tensor::from([3e38_f32, 3e38, 1e38]);
    for y in [x.std(.., 1.0), x.var(.., 1.0)] {
        assert_eq!(y.unwrap().item::<f32>().unwrap(), f32::INFINITY);
    }
}

/// PyTorch's gradients are 0 where the power is constant, even for a gradient that is not a number.
#[test]
fn constant_powers_have_no_gradient() {
    let x = Tensor::from([-2.0_f32, 0.0]).with_grad().unwrap();
    let exponent = Tensor::from([0.0_f32, 2.0]).with_grad().unwrap();
    let y = x.pow(&exponent).unwrap();
    let nan = Tensor::full_like(&y.detach(), f64::NAN).unwrap();
    let found = grad_with(&[&y], &[&nan], &[&x, &exponent], BackwardOptions::new()).unwrap();
    let found: Vec<Vec<f32>> = found
        .into_iter()
        .map(|x| x.unwrap().to_vec().unwrap())
        .collect();
    assert_eq!((found[0][0], found[1][1]), (0.0, 0.0), "{found:?}");
}

/// A running product of one element is the element: its second derivative is exactly 0.
#[test]
fn a_running_product_of_one_element_is_linear() {
    let x = Tensor::from([3e-4_f32, 0.7, 1e5])
        .unsqueeze(1)
        .unwrap()
        .with_grad()
        .unwrap();
    let y = x.cumprod(1).unwrap();
    let start = Tensor::full_like(&y.detach(), 0.3).unwrap();
    let options = BackwardOptions::new().create_graph(true);
    let gradient = grad_with(&[&y], &[&start], &[&x], options)
        .unwrap()
        .remove(0)
        .unwrap();
    assert!(gradient.equal(&start).unwrap());
    assert!(!gradient.requires_grad());
}
