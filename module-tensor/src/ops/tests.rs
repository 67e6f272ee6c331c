mod activation;
mod by_index;
mod complete;
mod constants;
mod convolutions;
mod data;
mod depthwise;
mod functions;
mod gradients;
mod more;
mod names;
mod precision;
mod rank;
mod refused;
mod stored;
mod windows;
mod winograd;

use std::collections::BTreeSet;

use super::*;
use crate::autograd::{grad_with, gradcheck, gradgradcheck, slopes};
use crate::tensor::NodeKind;
use crate::{BackwardOptions, Conv2dOptions, Device, Padding, Pool2dOptions, Shape};
use crate::{fork_rng, tensor::Node};

mod normalization;
mod recurrent;

/// Distinct numbers between -2 and 2 that stay away from 0, where some functions have a kink.
fn numbers(shape: impl Into<Shape>, seed: usize) -> Tensor {
    let shape = shape.into();
    let value = |i: usize| {
        let v = ((i + 31 * seed) as f64 * 0.618_033_988_749_895).fract() * 3.8 - 1.9;
        v + 0.1 * v.signum()
    };
    Tensor::from_vec((0..shape.numel()).map(value).collect(), shape).unwrap()
}

/// The same numbers in every memory layout that the shape allows.
fn layouts(x: &Tensor) -> Vec<(&'static str, Tensor)> {
    let mut all = vec![("contiguous", x.clone())];
    let rank = x.rank() as isize;
    if rank > 0 {
        let longer = Tensor::cat(&[x, x, x], 0).unwrap();
        let size = x.shape()[0];
        all.push(("narrowed", longer.narrow(0, size..2 * size).unwrap()));
        let pairs = Tensor::stack(&[x, &x.neg().unwrap()], rank).unwrap();
        let strided = pairs.narrow(rank, 0..1).unwrap().squeeze([rank]).unwrap();
        all.push(("strided", strided));
        if size > 0 {
            let row = x.narrow(0, 0..1).unwrap();
            all.push(("expanded", row.expand(x.shape()).unwrap()));
        }
    }
    if rank > 1 {
        let turned = x.transpose(0, -1).unwrap().contiguous().unwrap();
        all.push(("transposed", turned.transpose(0, -1).unwrap()));
    }
    all
}

thread_local! {
    /// The operations whose gradients ran.
    static SEEN: std::cell::RefCell<BTreeSet<&'static str>> = const { std::cell::RefCell::new(BTreeSet::new()) };
}

fn note(node: &Node) {
    if let NodeKind::Op(op) = &node.kind {
        SEEN.with_borrow_mut(|seen| seen.insert(op.name));
        op.inputs
            .iter()
            .flatten()
            .for_each(|input| note(&input.node));
    }
}

/// First and second derivatives of `f` at `inputs`.
#[track_caller]
fn check_at(label: &str, inputs: &[Tensor], f: &dyn Fn(&[Tensor]) -> Result<Tensor>) {
    let leaves: Vec<Tensor> = inputs.iter().map(|x| x.with_grad().unwrap()).collect();
    note(&f(&leaves).unwrap().edge.as_ref().unwrap().node);
    // Kernels that compute gradients are differentiated once more.
    slopes(f, &leaves)
        .unwrap()
        .edge
        .iter()
        .for_each(|edge| note(&edge.node));
    if let Err(error) = gradcheck(f, inputs) {
        panic!("{label}: {error}");
    }
    if let Err(error) = gradgradcheck(f, inputs) {
        panic!("{label}, second order: {error}");
    }
}

/// Checks `f` at tensors of these shapes in all memory layouts.
#[track_caller]
fn check(label: &str, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Result<Tensor>) {
    let inputs = shapes.iter().enumerate();
    let inputs: Vec<Tensor> = inputs.map(|(i, &shape)| numbers(shape, i)).collect();
    check_layouts(label, &inputs, &[], &f);
}

#[track_caller]
fn check_layouts(
    label: &str,
    inputs: &[Tensor],
    without: &[&str],
    f: &dyn Fn(&[Tensor]) -> Result<Tensor>,
) {
    check_at(label, inputs, f);
    for (i, x) in inputs.iter().enumerate() {
        for (layout, x) in layouts(x) {
            if !without.contains(&layout) {
                let mut inputs = inputs.to_vec();
                inputs[i] = x;
                check_at(&format!("{label}, input {i} {layout}"), &inputs, f);
            }
        }
    }
}

/// Unary functions: every layout, no elements, no dimensions.
fn check_unary(label: &str, f: impl Fn(&Tensor) -> Result<Tensor>) {
    for shape in [&[3, 4][..], &[0, 4], &[2, 0], &[]] {
        check(label, &[shape], |x| f(&x[0]));
    }
}

fn positive(f: impl Fn(&Tensor) -> Result<Tensor>) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x| f(&x.mul(x)?.add(0.5)?)
}

/// A matrix of three rows and two columns as integers of 8 bits.
fn packed_matrix() -> Tensor {
    use crate::backend::{Int8Parts, Int8Storage, Storage};
    let values = [0.5, -1.0, 2.0, 0.25, -0.75, 1.5];
    let parts = Int8Parts::quantize(&values, 2, false, DType::F32).unwrap();
    let storage = Storage::new(Int8Storage::new(parts).unwrap());
    Tensor::from_storage(storage, crate::Layout::contiguous([3, 2].into()))
}

#[test]
fn casts_pass_the_gradient_between_floating_point_types_and_stop_at_others() {
    let x = Tensor::from([1.5_f64, -2.5]).with_grad().unwrap();
    let y = x
        .to_dtype(DType::F32)
        .unwrap()
        .to_dtype(DType::BF16)
        .unwrap();
    y.sum(..).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), [1.0, 1.0]);
    assert!(!x.to_dtype(DType::I64).unwrap().requires_grad());
    let y = x.to_device(&Device::cpu()).unwrap();
    assert!(y.shares_memory_with(&x));
    assert!(y.requires_grad());
}

#[test]
fn integers_wrap_around() {
    let x = Tensor::from([[200_u8, 100], [255, 3]]);
    assert_eq!(
        x.matmul(&x).unwrap().to_vec::<u8>().unwrap(),
        [220, 76, 53, 165]
    );
    let x = Tensor::from([[i64::MAX, i64::MAX], [2, 3]]);
    assert_eq!(x.sum(..).unwrap().item::<i64>().unwrap(), 3);
    assert_eq!(
        x.sum(0).unwrap().to_vec::<i64>().unwrap(),
        [i64::MIN + 1, i64::MIN + 2]
    );
    let x = Tensor::from([i32::MIN, 7]);
    assert_eq!(x.abs().unwrap().to_vec::<i32>().unwrap(), [i32::MIN, 7]);
    assert_eq!(x.neg().unwrap().to_vec::<i32>().unwrap(), [i32::MIN, -7]);
}

#[test]
fn half_precision_is_rounded_once() {
    let x = Tensor::full([1000], 100.0, DType::F16).unwrap();
    // The sum is beyond half precision, the mean is not.
    let number = |x: Tensor| x.to_dtype(DType::F64).unwrap().item::<f64>().unwrap();
    assert_eq!(number(x.mean(..).unwrap()), 100.0);
    assert_eq!(number(x.var(.., 1.0).unwrap()), 0.0);
    assert_eq!(number(x.sum(..).unwrap()), f64::INFINITY);
    // 2⁵⁴ + 2³⁰ + 1 is just above the middle of two neighbors in f32.
    let x = Tensor::from([(1_i64 << 54) + (1 << 30) + 1]);
    let y = x.to_dtype(DType::F32).unwrap().item::<f32>().unwrap();
    assert_eq!(y, ((1_i64 << 54) + (1 << 31)) as f32);
}

#[test]
fn a_view_without_elements_is_read_like_any() {
    let x = numbers([3, 2], 0).narrow(0, 3..3).unwrap();
    let x = x.transpose(0, 1).unwrap().narrow(0, 1..2).unwrap();
    assert_eq!(x.shape().to_string(), "[1, 0]");
    assert!(x.exp().unwrap().to_vec::<f64>().unwrap().is_empty());
    assert_eq!(x.sum(1).unwrap().to_vec::<f64>().unwrap(), [0.0]);
    assert_eq!(
        x.add(numbers([2, 1], 0)).unwrap().shape().to_string(),
        "[2, 0]"
    );
}

#[test]
fn what_could_not_be_answered_is_refused() {
    let x = numbers([2, 3], 0);
    let message = |result: Result<Tensor>| result.unwrap_err().to_string();
    assert_eq!(
        message(x.sum_to(&[3, 2].into())),
        "sum_to: shapes [3, 2] and [2, 3] cannot be broadcast together"
    );
    assert_eq!(
        message(x.sum_to(&[4, 2, 3].into())),
        "sum_to: [2, 3] and [4, 2, 3] do not fit: the second must broadcast to the first"
    );
    // A dimension that is too large must not wrap around to a negative one.
    assert!(x.sum([usize::MAX]).is_err());
    let pool = Pool2dOptions::new([2, 1]).padding([1, 0]).dilation([10, 1]);
    let x = numbers([1, 9, 9], 0);
    assert_eq!(
        message(x.max_pool2d(pool)),
        "max_pool2d: dilation = [10, 1]: leaves a window without elements of an input of size 9"
    );
    assert!(numbers([0], 0).dropout(1.5).is_err());
}

#[test]
fn a_window_far_larger_than_its_input_is_cheap() {
    let size = 1 << 60;
    let pool = Pool2dOptions::new([size; 2]).padding([size / 2; 2]);
    let y = numbers([1, 3, 4], 0).max_pool2d(pool).unwrap();
    assert_eq!(y.numel(), 1);
}

#[test]
fn the_error_function_is_true_to_the_last_place() {
    // Computed with forty digits.
    let known = [
        (1e-10, 1.128_379_167_095_512_6e-10),
        (0.1, 0.112_462_916_018_284_9),
        (0.5, 0.520_499_877_813_046_5),
        (0.84375, 0.767_225_661_232_341_6),
        (1.0, 0.842_700_792_949_714_9),
        (1.25, 0.922_900_128_256_458_2),
        (2.0, 0.995_322_265_018_952_7),
        (3.5, 0.999_999_256_901_627_7),
        (5.0, 0.999_999_999_998_462_5),
    ];
    for (at, value) in known {
        for sign in [1.0, -1.0] {
            let x = Tensor::from(sign * at);
            let y = x.erf().unwrap().item::<f64>().unwrap();
            assert!(
                (y / (sign * value) - 1.0).abs() <= 2.0 * f64::EPSILON,
                "{at}: {y}"
            );
            let x = x.to_dtype(DType::F32).unwrap();
            let y = x.erf().unwrap().item::<f32>().unwrap();
            let close = (y / (sign * value) as f32 - 1.0).abs() <= 2.0 * f32::EPSILON;
            assert!(close, "{at} in f32: {y}");
        }
    }
}

#[test]
fn running_sums_do_not_gather_rounding_errors() {
    // Each sum is rounded once, however long the row is.
    let x = Tensor::full([1 << 20], 0.1, DType::F32).unwrap();
    let last = x
        .cumsum(0)
        .unwrap()
        .narrow(0, (1 << 20) - 1..1 << 20)
        .unwrap();
    let exact = f64::from(0.1_f32) * f64::from(1 << 20);
    assert_eq!(
        last.squeeze(0).unwrap().item::<f32>().unwrap(),
        exact as f32
    );
}
