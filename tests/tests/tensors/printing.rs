//! Tensors print as PyTorch prints them.
#![allow(clippy::unwrap_used)]

use module_core::{DType, Tensor};
use module_tests::golden;

#[test]
fn tensors_print_as_in_pytorch() {
    let (cases, tensors) = golden::load("printing.safetensors");
    let cases = cases.as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let mut x = tensors.get(case["key"].as_str().unwrap()).unwrap().clone();
        if case["requires_grad"] == true {
            x = x.with_grad().unwrap();
        }
        let expected = case["text"].as_str().unwrap();
        if x.to_string() != expected {
            failures.push(format!("{x}\ninstead of\n{expected}"));
        }
        // The memory layout does not show.
        if x.rank() > 1 {
            let turned = x.transpose(0, -1).unwrap().contiguous().unwrap();
            let again = turned.transpose(0, -1).unwrap().detach();
            assert_eq!(again.to_string(), x.detach().to_string());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert_eq!(cases.len(), 335, "cases went missing or are new");
}

/// PyTorch names a class there, `<MulBackward0>`; this library names the operation, as in errors.
#[test]
fn a_result_names_its_operation() {
    let x = Tensor::from([1.5_f32, 2.0]).with_grad().unwrap();
    let y = x.mul(&x).unwrap();
    assert_eq!(y.to_string(), "tensor([2.2500, 4.0000], grad_fn=<mul>)");
    assert_eq!(format!("{y:?}"), y.to_string());
}

#[test]
fn what_is_not_printed_is_not_fetched() {
    let x = Tensor::from(0.5_f32)
        .expand([1 << 20, 1 << 20, 1 << 20])
        .unwrap();
    let text = x.to_string();
    assert_eq!(text.matches("0.5000").count(), 6 * 6 * 6);
    assert_eq!(text.matches("...").count(), 6 * 6 + 6 + 1);
    let none = Tensor::zeros([1 << 40, 0], DType::F32).unwrap();
    assert_eq!(none.to_string(), "tensor([], size=(1099511627776, 0))");
}
