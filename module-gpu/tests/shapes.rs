//! Shapes that kernels divide among workgroups in different ways: the results are those of the CPU, computed in `F64`.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use module_nn::prelude::*;
use module_nn::{ConvOptions, no_grad};

/// Asserts that a function of two tensors has the same value on the device as in `F64` on the CPU, except for rounding.
fn check(
    device: &Device,
    name: &str,
    [a, b]: [&Tensor; 2],
    f: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<()> {
    let [errors, exact] = common::errors_of(device, name, [a, b], f)?;
    let largest = exact.abs()?.amax(..)?.item::<f64>()?.max(1.0);
    let error = errors.amax(..)?.item::<f64>()?;
    assert!(error <= 1e-5 * largest, "{name}: {error} of {largest}");
    Ok(())
}

fn normal(shape: &[usize]) -> Result<Tensor> {
    Tensor::randn(shape, DType::F32)
}

#[test]
fn products_of_any_shape_are_right() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    manual_seed(0);
    // The batch, rows, columns and terms: around the sides of tiles, few and many tiles, and sums that are computed in parts.
    let sizes = [
        [1, 5, 5, 5],
        [3, 16, 17, 9],
        [1, 17, 16, 40],
        [2, 31, 33, 15],
        [1, 64, 65, 17],
        [1, 7, 300, 1500],
        [1, 300, 7, 33],
        [1, 63, 129, 700],
        [40, 200, 260, 21],
        [70, 40, 300, 12],
        [70, 300, 40, 12],
        [1, 3, 90_000, 6],
        [1, 90_000, 3, 6],
        [1, 1, 300, 90],
    ];
    common::check_products(&sizes, normal, |name, factors, product| {
        check(&device, name, factors, product)
    })
}

#[test]
fn convolutions_of_any_shape_are_right() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    manual_seed(1);
    // Images, channels, sides, output channels, the side of the kernel, the stride, the dilation, and groups.
    for [images, ins, size, outs, kernel, stride, dilation, groups] in [
        [2, 3, 33, 20, 7, 2, 1, 1],
        [1, 5, 9, 130, 3, 1, 1, 1],
        [40, 4, 60, 129, 3, 2, 1, 1],
        [20, 40, 7, 40, 1, 1, 1, 1],
        [3, 40, 9, 20, 1, 1, 1, 5],
        [3, 40, 9, 20, 1, 2, 1, 5],
        [2, 4, 20, 6, 4, 3, 2, 2],
        [2, 4, 21, 6, 3, 2, 3, 1],
        [1, 3, 70, 6, 17, 3, 2, 1],
    ] {
        let options = ConvOptions::<2>::new()
            .stride([stride, stride])
            .padding([kernel / 2, kernel / 2])
            .dilation([dilation, dilation])
            .groups(groups);
        let x = normal(&[images, ins, size, size])?;
        let weight = normal(&[outs, ins / groups, kernel, kernel])?;
        let name = format!(
            "{images} images of {ins} channels of {size}, to {outs} by {kernel} in steps of {stride}, dilation {dilation}, {groups} groups"
        );
        check(&device, &name, [&x, &weight], |x, weight| {
            x.conv2d(weight, options)
        })?;
        for of_weight in [false, true] {
            check(
                &device,
                &format!("gradient of {name}"),
                [&x, &weight],
                |x, weight| {
                    let of_x = if of_weight {
                        x.clone()
                    } else {
                        x.detach().with_grad()?
                    };
                    let of_w = if of_weight {
                        weight.detach().with_grad()?
                    } else {
                        weight.clone()
                    };
                    of_x.conv2d(&of_w, options)?.square()?.sum(..)?.backward()?;
                    let leaf = if of_weight { of_w } else { of_x };
                    Ok(leaf.grad().expect("a gradient"))
                },
            )?;
        }
    }
    Ok(())
}

#[test]
fn sums_of_any_shape_are_right() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    manual_seed(2);
    let shapes: [&[usize]; 7] = [
        &[3, 40],
        &[200, 70],
        &[5000, 64],
        &[20, 9000],
        &[2, 70_000],
        &[70, 33, 300],
        &[300_000],
    ];
    no_grad(|| {
        for shape in shapes {
            let x = normal(shape)?;
            for dim in 0..shape.len() as isize {
                check(&device, &format!("{shape:?}, {dim}"), [&x, &x], |x, _| {
                    x.sum(dim)
                })?;
                check(
                    &device,
                    &format!("softmax of {shape:?}, {dim}"),
                    [&x, &x],
                    |x, _| x.softmax(dim),
                )?;
            }
        }
        Ok(())
    })
}

#[test]
fn quotients_and_comparisons_are_those_of_the_cpu() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    manual_seed(3);
    let [a, b] = [0, 1].map(|_| normal(&[1 << 16]));
    let (a, b) = (a?, (b? * 1e3)?);
    let quotients = |device: &Device| {
        let (a, b) = (a.to_device(device)?, b.to_device(device)?);
        let all = [
            (&a / &b)?,
            (&b / &a)?,
            (1.0 / &a)?,
            (&b / 0.3)?,
            b.floor_divide(0.7)?,
        ];
        all.iter()
            .map(|x| x.to_vec::<f32>())
            .collect::<Result<Vec<_>>>()
    };
    let all = quotients(&device)?
        .into_iter()
        .zip(quotients(&Device::cpu())?);
    for (i, (got, expected)) in all.enumerate() {
        let apart = |(a, b): (&f32, &f32)| a.to_bits().abs_diff(b.to_bits());
        let apart: Vec<u32> = got.iter().zip(&expected).map(apart).collect();
        let (count, most) = (apart.iter().filter(|&&d| d > 0).count(), apart.iter().max());
        assert!(
            count == 0,
            "{i}: {count} quotients differ, by up to {most:?} units in the last place"
        );
    }
    // A processor may take subnormal numbers for 0.
    let small = Tensor::from([
        1e-40_f32,
        -1e-40,
        0.0,
        -0.0,
        f32::NAN,
        1e-30,
        -f32::INFINITY,
    ]);
    let compared = |device: &Device| {
        let x = small.to_device(device)?;
        let y = x.unsqueeze(1)?;
        let all = [
            x.lt(&y)?,
            x.le(&y)?,
            x.eq(&y)?,
            x.ne(&y)?,
            x.gt(0.0)?,
            x.ge(0.0)?,
        ];
        all.iter()
            .map(|x| x.to_vec::<bool>())
            .collect::<Result<Vec<_>>>()
    };
    assert_eq!(compared(&device)?, compared(&Device::cpu())?);
    let signs = small.to_device(&device)?.relu()?.to_vec::<f32>()?;
    assert!(signs[3].is_sign_negative(), "the sign of zero");
    Ok(())
}

#[test]
fn quotients_of_special_numbers_are_those_of_the_cpu() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let special = [
        0.0_f32,
        -0.0,
        1.0,
        -2.0,
        1e30,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let x = Tensor::from(special);
    let quotients = |device: &Device| {
        let x = x.to_device(device)?;
        (&x.unsqueeze(1)? / &x)?.to_vec::<f32>()
    };
    let all = quotients(&device)?
        .into_iter()
        .zip(quotients(&Device::cpu())?);
    for (i, (got, expected)) in all.enumerate() {
        let (a, b) = (special[i / special.len()], special[i % special.len()]);
        let is_same = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
        assert!(is_same, "{a} / {b} is {got} instead of {expected}");
    }
    Ok(())
}
