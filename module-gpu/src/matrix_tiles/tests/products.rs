//! Products and convolutions of `F16` by the first adapter's tensor cores, or by their emulation where it has none.

use std::sync::OnceLock;

use module_nn::prelude::*;
use module_nn::{ConvOptions, no_grad};

use super::{common, emulation};

/// The device; `None` where there is no adapter.
fn device() -> Option<Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    *DEVICE.get_or_init(|| emulation::device().unwrap())
}

/// Asserts that a function of two tensors of `F16` has the same value on the device as in `F64` on the CPU, except for the rounding
/// of the result.
fn check(
    device: &Device,
    name: &str,
    [a, b]: [&Tensor; 2],
    f: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<()> {
    let [errors, exact] = common::errors_of(device, name, [a, b], f)?;
    // Half of a unit in the last place, and the sums of a part of the terms in `F32`.
    let allowed = ((exact.abs()? * 2.0_f64.powi(-11))? + 1e-4)?;
    let excess = (errors - allowed)?.amax(..)?.item::<f64>()?;
    assert!(excess <= 0.0, "{name}: {excess} too far");
    Ok(())
}

fn halves(shape: &[usize]) -> Result<Tensor> {
    Tensor::randn(shape, DType::F32)?.to_dtype(DType::F16)
}

#[test]
fn products_of_any_shape_are_right() -> Result<()> {
    let Some(device) = device() else {
        return Ok(());
    };
    manual_seed(0);
    // The batch, rows, columns and terms: around the sides of tiles, few and many tiles, odd rows, sums in parts; with and without
    // four elements that can be read at a time.
    let sizes = [
        [1, 16, 16, 16],
        [1, 17, 18, 33],
        [3, 64, 64, 64],
        [2, 65, 63, 31],
        [1, 128, 130, 700],
        [1, 129, 127, 3000],
        [33, 132, 136, 40],
        [33, 130, 134, 38],
    ];
    common::check_products(&sizes, halves, |name, factors, product| {
        check(&device, name, factors, product)
    })
}

#[test]
fn views_and_biases_are_right() -> Result<()> {
    let Some(device) = device() else {
        return Ok(());
    };
    manual_seed(1);
    let (a, b) = (halves(&[100, 70])?, halves(&[90, 60])?);
    // An odd offset, and rows farther apart than they are long.
    check(&device, "parts", [&a, &b], |a, b| {
        let left = a.narrow(1, 3..53)?.narrow(0, 1..100)?;
        left.matmul(&b.narrow(1, 5..55)?.transpose(0, 1)?)
    })?;
    // Rows at multiples of four elements, but not the first.
    let (c, d) = (halves(&[64, 72])?, halves(&[64, 64])?);
    check(&device, "an offset of two", [&c, &d], |c, d| {
        c.narrow(1, 2..66)?.matmul(d)
    })?;
    let bias = halves(&[90])?.to_device(&device)?;
    check(&device, "linear", [&a.narrow(1, 0..60)?, &b], |x, w| {
        let bias = bias.to_device(&x.device())?.to_dtype(x.dtype())?;
        x.linear(w, Some(&bias))
    })
}

#[test]
fn special_numbers_are_those_of_the_cpu() -> Result<()> {
    let Some(device) = device() else {
        return Ok(());
    };
    let special = [
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        6e-8,
        -6e-8,
        65504.0,
        0.0,
        -0.0,
    ];
    let identity = Tensor::eye(32, 32, DType::F16)?;
    let rows = Tensor::from(special)
        .reshape([8, 1])?
        .expand([8, 4])?
        .reshape([32, 1])?;
    let x = rows.to_dtype(DType::F16)?;
    // With one column, there is no tile; with 32 of them, the others are 0.
    let x = Tensor::cat(&[&x, &Tensor::zeros([32, 31], DType::F16)?], 1)?;
    let on_cpu = x.matmul(&identity)?.to_dtype(DType::F32)?.to_vec::<f32>()?;
    let product = x
        .to_device(&device)?
        .matmul(&identity.to_device(&device)?)?;
    let got = product.to_dtype(DType::F32)?.to_vec::<f32>()?;
    for (i, (got, expected)) in got.iter().zip(&on_cpu).enumerate() {
        assert!(
            got == expected || got.is_nan() && expected.is_nan(),
            "{i}: {got}, {expected}"
        );
    }
    Ok(())
}

#[test]
fn convolutions_and_their_gradients_are_right() -> Result<()> {
    let Some(device) = device() else {
        return Ok(());
    };
    manual_seed(2);
    let options = || ConvOptions::<2>::new().stride([2, 2]).padding([1, 1]);
    let (x, w) = (halves(&[3, 20, 33, 30])?, halves(&[40, 20, 3, 3])?);
    check(&device, "forward", [&x, &w], |x, w| {
        no_grad(|| x.conv2d(w, options()))
    })?;
    let gradients = |of_x: bool| {
        move |x: &Tensor, w: &Tensor| {
            let (x, w) = (x.with_grad()?, w.with_grad()?);
            let y = x.conv2d(&w, options())?;
            let signs = y.detach().sign()?;
            y.mul(&signs)?.sum(..)?.backward()?;
            Ok(if of_x { x.grad() } else { w.grad() }.unwrap())
        }
    };
    // Signs of outputs that round to 0 differ, so gradients are those of outputs that are not.
    let positive = |x: &Tensor| x.abs();
    let (x, w) = (positive(&x)?, positive(&w)?);
    check(&device, "gradient of the input", [&x, &w], gradients(true))?;
    check(
        &device,
        "gradient of the weight",
        [&x, &w],
        gradients(false),
    )
}

#[test]
fn results_are_the_same_again() -> Result<()> {
    let Some(device) = device() else {
        return Ok(());
    };
    let (a, b) = (
        halves(&[300, 900])?.to_device(&device)?,
        halves(&[900, 300])?.to_device(&device)?,
    );
    let product = || a.matmul(&b)?.to_dtype(DType::F32)?.to_vec::<f32>();
    assert_eq!(product()?, product()?);
    Ok(())
}
