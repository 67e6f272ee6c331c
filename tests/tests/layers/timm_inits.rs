//! timm's truncated normal initialization.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::init::{TimmTruncNormal, TimmTruncNormalTf};
use module_nn::prelude::*;
use module_nn::rng::Generator;
use module_tests::{golden, layers};

#[test]
fn truncated_draws_are_timms() {
    let (cases, tensors) = golden::load("timm_inits.safetensors");
    let (mut count, mut different) = (0, 0);
    for (n, case) in cases.as_array().unwrap().iter().enumerate() {
        let shape = case["shape"].as_array().unwrap().iter();
        let shape: Shape = shape.map(|n| n.as_u64().unwrap() as usize).collect();
        let of = |name: &str, otherwise| case["kwargs"][name].as_f64().unwrap_or(otherwise);
        let (mean, std, a, b) = (of("mean", 0.0), of("std", 1.0), of("a", -2.0), of("b", 2.0));
        let init: Box<dyn Init> = match case["init"].as_str().unwrap() {
            "trunc_normal_" => Box::new(TimmTruncNormal { mean, std, a, b }),
            _ => Box::new(TimmTruncNormalTf { mean, std, a, b }),
        };
        let dtype = layers::dtype(&case["dtype"]);
        let expected = tensors.get(&format!("{n}.out")).unwrap();
        let next = tensors.get(&format!("{n}.next")).unwrap();
        let generator = Generator::new(0);
        let out = init.init(&shape, dtype, &generator).unwrap();
        let after = Tensor::uniform([2], 0.0, 1.0, DType::F32, &generator).unwrap();
        assert!(after.equal(next).unwrap(), "{case}");
        let skipped = Generator::new(0);
        init.skip(&shape, dtype, &skipped).unwrap();
        let again = Generator::new(0);
        init.init(&shape, dtype, &again).unwrap();
        assert_eq!(skipped, again);
        assert_eq!((out.shape(), out.dtype()), (expected.shape(), dtype));
        // The last bit of `erfinv` depends on the library that PyTorch was built with.
        let double = |x: &Tensor| x.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
        let unit = match dtype {
            DType::F64 => f64::EPSILON,
            DType::F32 => f32::EPSILON.into(),
            DType::F16 => 2.0_f64.powi(-10),
            _ => 2.0_f64.powi(-7),
        };
        for (x, y) in double(&out).into_iter().zip(double(expected)) {
            // The last term may be larger than the result.
            let scale = (y - mean).abs().max(mean.abs()).max(y.abs());
            assert!(
                (x - y).abs() <= 4.0 * unit * scale,
                "{x} instead of {y}: {case}"
            );
            if dtype != DType::F64 {
                count += 1;
                different += usize::from(x != y);
            }
        }
    }
    assert!(different * 1000 <= count, "{different} of {count} differ");
    println!("{different} of {count} differ in the last bit");
}
