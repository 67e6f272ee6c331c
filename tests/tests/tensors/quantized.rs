//! Weights quantized in the formats of PyTorch and bitsandbytes, products with them, their gradients, and their parts in
//! files.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod networks;

use module_core::backend::{Int4Storage, Int8Storage, Nf4Storage};
use module_core::{BackwardOptions, BlockFormat, Tolerance};
use module_mirror::mirror;
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, dequantize, quantize};
use module_tests::golden;
use module_tests::quantized::{
    EVERY, GROUP, NESTED, PLAIN, assert_near, check_not_finite, check_products, randn,
};

fn file() -> StateDict {
    golden::load("quantize.safetensors").1
}

fn numbers(state: &StateDict, key: &str) -> Vec<f32> {
    let values = state.get(key).expect(key).to_dtype(DType::F32).unwrap();
    values.to_vec().unwrap()
}

#[test]
fn integers_of_8_bits_are_those_of_pytorch() {
    let state = file();
    for name in ["plain", "edges"] {
        let weight = state.get(&format!("{name}.weight")).unwrap();
        for (kind, scheme) in [
            ("int8", Scheme::Int8),
            ("int8", Scheme::Int8Dynamic),
            ("grouped", Scheme::Int8Grouped { group_size: GROUP }),
        ] {
            let packed = scheme.pack(weight).unwrap();
            let parts = packed
                .storage()
                .downcast_ref::<Int8Storage>()
                .unwrap()
                .parts();
            let codes: Vec<f32> = parts.codes.iter().map(|&code| code.into()).collect();
            assert_eq!(codes, numbers(&state, &format!("{kind}.{name}.codes")));
            assert_eq!(
                parts.scales,
                numbers(&state, &format!("{kind}.{name}.scales"))
            );
            let values = packed.unpack().unwrap().to_vec::<f32>().unwrap();
            assert_eq!(values, numbers(&state, &format!("{kind}.{name}.values")));
        }
    }
}

#[test]
fn integers_of_4_bits_are_those_of_pytorch() {
    let state = file();
    for name in ["plain", "edges"] {
        let weight = state.get(&format!("{name}.weight")).unwrap();
        let packed = Scheme::Int4 { group_size: GROUP }.pack(weight).unwrap();
        let parts = packed
            .storage()
            .downcast_ref::<Int4Storage>()
            .unwrap()
            .parts();
        let zero_points: Vec<f32> = parts.zero_points.iter().map(|&zero| zero.into()).collect();
        assert_eq!(
            parts.scales,
            numbers(&state, &format!("int4.{name}.scales"))
        );
        assert_eq!(
            zero_points,
            numbers(&state, &format!("int4.{name}.zero_points"))
        );
        let values = packed.unpack().unwrap().to_vec::<f32>().unwrap();
        assert_eq!(values, numbers(&state, &format!("int4.{name}.values")));
        assert_eq!(
            packed.nbytes(),
            weight.numel() / 2 + weight.numel() / GROUP * 5
        );
    }
}

#[test]
fn normal_floats_are_those_of_bitsandbytes() {
    let state = file();
    for (name, scheme) in [("nested", NESTED), ("half", NESTED), ("odd", PLAIN)] {
        let source = state.get(&format!("{name}.source")).unwrap();
        let packed = scheme.pack(source).unwrap();
        let parts = packed
            .storage()
            .downcast_ref::<Nf4Storage>()
            .unwrap()
            .parts();
        assert!(!parts.codes.is_empty());
        // Byte for byte what bitsandbytes stores, except for the text of the description.
        let split = StateDict::from_iter([(format!("{name}.weight"), packed.clone())]);
        let split = split.split_packed().unwrap();
        let recorded = state
            .keys()
            .filter(|key| key.starts_with(&format!("{name}.weight")));
        let mut count = 0;
        for key in recorded {
            count += 1;
            let (ours, theirs) = (split.get(key).expect(key), state.get(key).unwrap());
            // The subtracted mean is a sum in an order that the machine chooses, divided by the count.
            if key.ends_with("nested_absmax") {
                let near = Tolerance::new().rtol(1e-6).atol(1e-7);
                assert!(ours.allclose(theirs, near).unwrap(), "{key}");
                continue;
            }
            if !key.contains("quant_state") {
                assert_eq!(
                    (ours.dtype(), ours.shape()),
                    (theirs.dtype(), theirs.shape()),
                    "{key}"
                );
                assert!(ours.equal(theirs).unwrap(), "{key}");
                continue;
            }
            let json = |text: &Tensor| -> serde_json::Value {
                serde_json::from_slice(&text.to_vec::<u8>().unwrap()).unwrap()
            };
            let (mut ours, mut theirs) = (json(ours), json(theirs));
            let offsets = [&mut ours, &mut theirs].map(|json| json["nested_offset"].take());
            let [a, b] = offsets.map(|offset| offset.as_f64().unwrap_or_default());
            assert!((a - b).abs() <= 1e-6 * b.abs(), "{a} {b}");
            assert_eq!(ours, theirs, "{key}");
        }
        assert_eq!(count, split.len());
        let unpacked = packed.unpack().unwrap();
        assert_eq!(unpacked.dtype(), source.dtype());
        let near = match (unpacked.dtype(), scheme) {
            (DType::BF16, _) => Tolerance::new().rtol(1.0 / 256.0),
            (_, NESTED) => Tolerance::new().rtol(2e-6),
            _ => Tolerance::new().rtol(0.0).atol(0.0),
        };
        let values = state.get(&format!("{name}.values")).unwrap();
        assert!(unpacked.allclose(values, near).unwrap(), "{name}");
        // What bitsandbytes wrote is read.
        let joined = state.join_packed().unwrap();
        let theirs = joined.get(&format!("{name}.weight")).unwrap();
        assert!(theirs.is_packed() && theirs.unpack().unwrap().equal(values).unwrap());
    }
}

#[test]
fn dynamic_quantization_gives_the_outputs_of_pytorch() {
    let state = file();
    let get = |key: &str| state.get(key).unwrap();
    let weight = Scheme::Int8Dynamic.pack(get("plain.weight")).unwrap();
    let y = get("dynamic.x")
        .linear(&weight, Some(get("dynamic.bias")))
        .unwrap();
    let expected = get("dynamic.y");
    // Only the rounding of a sum; a step of a rounded input would be about 1e-2.
    let near = Tolerance::new().rtol(1e-6).atol(2e-6);
    let difference = y.sub(expected).unwrap().abs().unwrap().amax(..).unwrap();
    assert!(y.allclose(expected, near).unwrap(), "{difference}");
    for row in 0..5 {
        let x = get("dynamic.x").narrow(0, row..row + 1).unwrap();
        let alone = x.linear(&weight, Some(get("dynamic.bias"))).unwrap();
        assert!(alone.equal(&y.narrow(0, row..row + 1).unwrap()).unwrap());
    }
}

#[test]
fn dynamic_quantization_hides_no_value_that_is_not_finite() {
    check_not_finite(&Device::cpu());
}

#[test]
fn products_are_those_of_unpacked_weights() {
    for device in [Device::cpu(), mirror(&[]).unwrap()] {
        check_products(&device);
    }
}

#[test]
fn the_gradient_flows_to_the_input_and_to_the_bias() {
    for scheme in EVERY {
        let weight = scheme.pack(&randn(1, &[9, 64])).unwrap();
        let plain = weight.unpack().unwrap();
        for shape in [vec![64], vec![2, 64], vec![2, 3, 64]] {
            let (x, bias) = (
                randn(2, &shape).with_grad().unwrap(),
                randn(3, &[9]).with_grad().unwrap(),
            );
            let y = x.linear(&weight, Some(&bias)).unwrap();
            let grad = randn(4, y.shape());
            y.backward_with(&grad, BackwardOptions::default()).unwrap();
            let (a, b) = (
                x.detach().with_grad().unwrap(),
                bias.detach().with_grad().unwrap(),
            );
            let y = a.linear(&plain, Some(&b)).unwrap();
            y.backward_with(&grad, BackwardOptions::default()).unwrap();
            assert_near(
                &x.grad().unwrap(),
                &a.grad().unwrap(),
                &format!("{scheme:?}"),
            );
            assert_near(
                &bias.grad().unwrap(),
                &b.grad().unwrap(),
                &format!("{scheme:?}"),
            );
        }
    }
    let weight = NESTED.pack(&randn(1, &[5, 64])).unwrap();
    let x = randn(2, &[2, 64]).to_dtype(DType::F64).unwrap();
    let f = |x: &[Tensor]| x[0].linear(&weight, None);
    module_core::autograd::gradcheck(f, std::slice::from_ref(&x)).unwrap();
    let wrong = x
        .to_dtype(DType::I64)
        .unwrap()
        .linear(&weight, None)
        .unwrap_err();
    assert!(wrong.to_string().starts_with("linear: "), "{wrong}");
    assert!(x.narrow(1, 0..32).unwrap().linear(&weight, None).is_err());
    let lower = autocast(DType::BF16, || randn(2, &[2, 64]).linear(&weight, None)).unwrap();
    assert_eq!(lower.dtype(), DType::BF16);
}
