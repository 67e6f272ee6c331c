//! Lines of any length, along which softmax and normalization are computed: the results and gradients are those of the CPU.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use std::slice::from_ref;

use module_nn::AttentionOptions;
use module_nn::prelude::*;

/// Around the numbers of elements at which kernels change.
const SIZES: [usize; 21] = [
    1, 2, 8, 9, 10, 16, 31, 32, 33, 127, 128, 129, 255, 256, 257, 768, 1000, 1001, 4096, 8192, 8193,
];

/// The dtypes, and how far results may be from those of the CPU.
const DTYPES: [(DType, f64); 3] = [(DType::F32, 1e-5), (DType::F16, 2e-3), (DType::BF16, 2e-2)];

/// A function of a tensor.
type Function = fn(&Tensor) -> Result<Tensor>;

const SOFTMAX: [(&str, Function); 2] = [
    ("softmax", |x| x.softmax(-1)),
    ("log_softmax", |x| x.log_softmax(-1)),
];

/// Asserts that two tensors differ by rounding only, and have NaN and infinities at the same places.
fn check_near(name: &str, got: &Tensor, exact: &Tensor, tolerance: f64) -> Result<()> {
    let all = |x: &Tensor| {
        x.to_device(&Device::cpu())?
            .to_dtype(DType::F64)?
            .flatten(0, -1)?
            .to_vec::<f64>()
    };
    assert_eq!(got.shape(), exact.shape(), "{name}");
    let (got, exact) = (all(got)?, all(exact)?);
    let finite = exact.iter().filter(|x| x.is_finite());
    let largest = finite.fold(1.0, |most: f64, x| most.max(x.abs()));
    for (i, (got, exact)) in got.iter().zip(&exact).enumerate() {
        let is_near = match exact.is_finite() {
            true => (got - exact).abs() <= tolerance * largest,
            false => got == exact || got.is_nan() && exact.is_nan(),
        };
        assert!(is_near, "{name}, element {i}: {got} for {exact}");
    }
    Ok(())
}

/// Compares the value and the gradients of a function of several tensors on the device with those of the CPU, which are computed in
/// `F64` for elements of 32 bits.
fn check(
    device: &Device,
    name: &str,
    inputs: &[Tensor],
    tolerance: f64,
    f: impl Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<()> {
    let run = |inputs: Vec<Tensor>| {
        let leaves = inputs.into_iter().map(|x| x.detach().with_grad());
        let leaves = leaves.collect::<Result<Vec<_>>>()?;
        let out = f(&leaves)?;
        // Other gradients in each element, exact in all dtypes.
        let weights = (0..out.numel()).map(|i| (i % 7) as f32 - 2.5);
        let weights = Tensor::from(weights.collect::<Vec<_>>()).reshape(out.shape().clone())?;
        let weights = weights.to_dtype(out.dtype())?.to_device(&out.device())?;
        (&out * weights)?.sum(..)?.backward()?;
        let mut all = vec![out.detach()];
        all.extend(leaves.iter().map(|leaf| leaf.grad().expect("a gradient")));
        Ok::<_, Error>(all)
    };
    // Gradients of elements of 16 bits depend on results that are rounded to 16 bits.
    let exact = |x: &Tensor| match x.dtype() {
        DType::F32 => x.to_dtype(DType::F64),
        _ => Ok(x.clone()),
    };
    let wide = inputs.iter().map(exact);
    let exact = run(wide.collect::<Result<Vec<_>>>()?)?;
    let moved = inputs.iter().map(|x| x.to_device(device));
    let got = run(moved.collect::<Result<Vec<_>>>()?)?;
    for (i, (got, exact)) in got.iter().zip(&exact).enumerate() {
        check_near(&format!("{name}, {i}"), got, exact, tolerance)?;
    }
    Ok(())
}

/// Calls `f` with matrices of all sizes and dtypes, and what to call them.
fn for_all(f: impl Fn(&str, Tensor, f64) -> Result<()>) -> Result<()> {
    for size in SIZES {
        let counts = if size < 300 { vec![1, 17] } else { vec![2] };
        for rows in counts {
            let x = Tensor::randn([rows, size], DType::F32)?;
            for (dtype, tolerance) in DTYPES {
                let name = format!("{rows} x {size} in {dtype:?}");
                f(&name, x.to_dtype(dtype)?, tolerance)?;
            }
        }
    }
    Ok(())
}

/// The launches of a call.
fn launches(device: &Device, call: impl Fn() -> Result<Tensor>) -> Result<u64> {
    let before = common::gpu(device).stats().launches;
    call()?;
    Ok(common::gpu(device).stats().launches - before)
}

#[test]
fn lines_are_computed_in_one_launch() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    let x = Tensor::randn([2, 3, 40], DType::F32)?.to_device(&device)?;
    for (name, f) in SOFTMAX {
        assert_eq!(launches(&device, || f(&x))?, 1, "{name}");
    }
    let part = x.narrow(2, 1..3)?;
    assert_eq!(launches(&device, || part.softmax(-1))?, 1, "a view");
    let layer = || x.layer_norm([40], None, None, 1e-5);
    assert_eq!(launches(&device, layer)?, 1, "layer_norm");
    let rms = || x.rms_norm([40], None, None);
    assert_eq!(launches(&device, rms)?, 1, "rms_norm");
    let group = || x.group_norm(3, None, None, 1e-5);
    assert_eq!(launches(&device, group)?, 1, "group_norm");
    Ok(())
}

#[test]
fn softmax_of_lines_is_right() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    manual_seed(0);
    for_all(|name, x, tolerance| {
        for (function, f) in SOFTMAX {
            let name = format!("{function} of {name}");
            check(&device, &name, from_ref(&x), tolerance, |x| f(&x[0]))?;
        }
        Ok(())
    })
}

#[test]
fn softmax_of_infinite_and_invalid_numbers_is_that_of_the_cpu() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    let infinity = f32::INFINITY;
    for size in [1, 4, 33, 130, 600] {
        let mut all = Vec::new();
        for special in [-infinity, infinity, f32::NAN] {
            for place in [0, size / 2, size - 1] {
                let mut line: Vec<f32> = (0..size).map(|i| i as f32 % 5.0).collect();
                line[place] = special;
                all.push(line);
            }
            all.push(vec![special; size]);
        }
        let rows = all.len();
        let x = Tensor::from(all.concat()).reshape([rows, size])?;
        for (dtype, tolerance) in DTYPES {
            let x = x.to_dtype(dtype)?;
            for (function, f) in SOFTMAX {
                let name = format!("{function} of lines of {size} in {dtype:?}");
                let exact = f(&x.to_dtype(DType::F64)?)?;
                check_near(&name, &f(&x.to_device(&device)?)?, &exact, tolerance)?;
            }
        }
    }
    Ok(())
}

#[test]
fn softmax_of_views_is_right() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    manual_seed(1);
    let x = Tensor::randn([3, 5, 4, 40], DType::F32)?;
    // Lines that lie side by side, at distances, elsewhere, and one in another.
    let views: [(&str, Function); 4] = [
        ("part", |x| x.narrow(3, 3..37)?.softmax(-1)),
        ("permuted", |x| x.transpose(0, 2)?.softmax(-1)),
        ("across", |x| x.transpose(1, 3)?.softmax(-1)),
        ("last but one", |x| x.narrow(3, 1..2)?.softmax(2)),
    ];
    for (dtype, tolerance) in DTYPES {
        let x = x.to_dtype(dtype)?;
        for (name, f) in views {
            let name = format!("{name} in {dtype:?}");
            check(&device, &name, from_ref(&x), tolerance, |x| f(&x[0]))?;
        }
    }
    Ok(())
}

#[test]
fn normalization_of_lines_is_right() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    manual_seed(2);
    for_all(|name, x, tolerance| {
        let size = x.shape()[1];
        let [weight, bias] = [0, 1].map(|_| Tensor::randn([size], DType::F32)?.to_dtype(x.dtype()));
        let inputs = [x, weight?, bias?];
        let name = |function: &str| format!("{function} of {name}");
        check(&device, &name("layer_norm"), &inputs, tolerance, |x| {
            x[0].layer_norm([size], Some(&x[1]), Some(&x[2]), 1e-5)
        })?;
        check(
            &device,
            &name("layer_norm without bias"),
            &inputs[..2],
            tolerance,
            |x| x[0].layer_norm([size], Some(&x[1]), None, 1e-5),
        )?;
        check(&device, &name("rms_norm"), &inputs[..2], tolerance, |x| {
            x[0].rms_norm([size], Some(&x[1]), Some(1e-5))
        })?;
        check(
            &device,
            &name("rms_norm alone"),
            &inputs[..1],
            tolerance,
            |x| x[0].rms_norm([size], None, Some(1e-5)),
        )
    })
}

#[test]
fn normalization_of_groups_is_right() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    manual_seed(3);
    for shape in [[2, 6, 1, 1], [2, 6, 3, 5], [3, 12, 4, 9], [1, 4, 64, 64]] {
        for (dtype, tolerance) in DTYPES {
            let x = Tensor::randn(shape, DType::F32)?.to_dtype(dtype)?;
            let [weight, bias] =
                [0, 1].map(|_| Tensor::randn([shape[1]], DType::F32)?.to_dtype(dtype));
            let inputs = [x, weight?, bias?];
            let name = format!("{shape:?} in {dtype:?}");
            check(&device, &name, &inputs, tolerance, |x| {
                x[0].group_norm(2, Some(&x[1]), Some(&x[2]), 1e-5)
            })?;
        }
    }
    Ok(())
}

#[test]
fn attention_of_few_and_many_keys_is_that_of_the_cpu() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    manual_seed(7);
    for keys in [1, 8, 33, 8192, 8193] {
        // The first query attends to nothing.
        let mask = (0..3 * keys).map(|i| i >= keys && i % 5 != 0);
        let mask = Tensor::from(mask.collect::<Vec<_>>()).reshape([3, keys])?;
        for (dtype, tolerance) in DTYPES {
            let normal = |shape: [usize; 4]| Tensor::randn(shape, DType::F32)?.to_dtype(dtype);
            let inputs = [
                normal([1, 4, 3, 8])?,
                normal([1, 2, keys, 8])?,
                normal([1, 2, keys, 4])?,
            ];
            let name = format!("{keys} keys in {dtype:?}");
            check(&device, &name, &inputs, tolerance, |x| {
                let mask = mask.to_device(&x[0].device())?;
                let options = AttentionOptions::new()
                    .attn_mask(Some(&mask))
                    .enable_gqa(true);
                x[0].scaled_dot_product_attention(&x[1], &x[2], options)
            })?;
        }
    }
    Ok(())
}

#[test]
fn attention_in_tiles_is_that_of_the_cpu() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    manual_seed(8);
    for (length, keys, width, causal) in [
        (40, 40, 32, true),
        (33, 61, 20, false),
        (64, 100, 64, false),
    ] {
        for (dtype, tolerance) in DTYPES {
            let normal = |shape: [usize; 4]| Tensor::randn(shape, DType::F32)?.to_dtype(dtype);
            let inputs = [
                normal([2, 4, length, width])?,
                normal([2, 2, keys, width])?,
                normal([2, 2, keys, width])?,
            ];
            let name = format!("{length} x {keys} in {dtype:?}");
            check(&device, &name, &inputs, tolerance, |x| {
                let options = AttentionOptions::new().is_causal(causal).enable_gqa(true);
                x[0].scaled_dot_product_attention(&x[1], &x[2], options)
            })?;
        }
    }
    Ok(())
}
