//! Errors name the function that was called, not one that it uses internally.

use super::*;
use crate::UnfoldOptions;

#[track_caller]
fn refused(result: Result<Tensor>, expected: &str) {
    let error = result.err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some(expected));
}

#[test]
fn what_makes_tensors_is_named_in_its_errors() {
    let shape = || vec![1_usize; 65];
    let rank =
        |op: &str| format!("{op}: 65 dimensions are more than the 64 that a tensor may have");
    let f32 = DType::F32;
    refused(Tensor::zeros(shape(), f32), &rank("zeros"));
    refused(Tensor::ones(shape(), f32), &rank("ones"));
    refused(Tensor::full(shape(), 2.0, f32), &rank("full"));
    refused(Tensor::from_vec(vec![1.0_f32], shape()), &rank("from_vec"));
    let data = crate::backend::HostData::F32(vec![1.0]);
    refused(Tensor::from_host(data, shape()), &rank("from_host"));
    let x = Tensor::from([1_u8, 2]);
    refused(
        x.full_like(300),
        "full_like: value = 300: does not fit uint8; choose a wider dtype",
    );
}

#[test]
fn draws_are_named_in_their_errors() {
    let shape = || vec![1_usize; 65];
    let rank =
        |op: &str| format!("{op}: 65 dimensions are more than the 64 that a tensor may have");
    refused(Tensor::rand(shape(), DType::F32), &rank("rand"));
    refused(Tensor::randn(shape(), DType::F32), &rank("randn"));
    refused(Tensor::randint(0, 2, shape(), DType::F32), &rank("randint"));
    let needs = "not available for int64; it needs a floating-point dtype";
    refused(Tensor::rand([2], DType::I64), &format!("rand: {needs}"));
    refused(Tensor::randn([2], DType::I64), &format!("randn: {needs}"));
}

#[test]
fn where_is_named_in_its_errors() {
    let flags = Tensor::from([true, false]);
    refused(
        flags.where_(1e300, 1.0),
        "where: value = 1e300: does not fit float32; choose a wider dtype",
    );
    refused(
        flags.where_(1.0, 1e300),
        "where: value = 1e300: does not fit float32; choose a wider dtype",
    );
}

#[test]
fn a_threshold_of_truth_values_is_refused_by_its_name() {
    refused(
        Tensor::from([true, false]).threshold(false, true),
        "threshold: not available for bool; it needs a tensor of numbers",
    );
}

#[test]
fn col2im_is_named_in_its_errors() {
    let options = UnfoldOptions::new([2, 2]);
    refused(
        Tensor::from([[1_i64; 2]; 4]).col2im([2, 3], options),
        "col2im: not available for int64; it needs a floating-point tensor; cast with `to_dtype`",
    );
}
