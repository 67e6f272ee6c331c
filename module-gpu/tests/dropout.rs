//! Dropout with masks that kernels compute: Philox2x32-10, compared with its published numbers.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use module_nn::Layout;
use module_nn::prelude::*;
use module_nn::rng::{Distribution, default_generator};

/// Philox2x32 with ten rounds.
fn philox(mut counter: [u32; 2], mut key: u32) -> [u32; 2] {
    for _ in 0..10 {
        let product = 0xd256_d193_u64 * u64::from(counter[0]);
        counter = [(product >> 32) as u32 ^ key ^ counter[1], product as u32];
        key = key.wrapping_add(0x9e37_79b9);
    }
    counter
}

/// The known answers of Random123, the authors' implementation.
#[test]
fn the_expected_numbers_are_those_of_the_authors() {
    let ones = u32::MAX;
    assert_eq!(philox([0, 0], 0), [0xff1d_ae59, 0x6cd1_0df2]);
    assert_eq!(philox([ones, ones], ones), [0x2c3f_628b, 0xab4f_d7ad]);
    let pi = philox([0x243f_6a88, 0x85a3_08d3], 0x1319_8a2e);
    assert_eq!(pi, [0xdd7c_e038, 0xf62a_4c12]);
}

/// The key that dropout draws next.
fn next_key() -> Result<u64> {
    let (low, high) = (i64::MIN, 0);
    let distribution = Distribution::Integers { low, high };
    let drawn = default_generator().draw(distribution, 1, DType::I64)?;
    let drawn = Tensor::from_storage(drawn, Layout::contiguous(().into())).item::<i64>()?;
    Ok(drawn.wrapping_sub(low) as u64)
}

/// The factors of a seed.
fn expected(seed: u64, p: f64, numel: usize) -> Result<Vec<f32>> {
    let key = fork_rng(seed, next_key)?;
    let dropped = p * 2.0_f64.powi(32);
    let factor = |i| {
        let [number, _] = philox([i, (key >> 32) as u32], key as u32);
        match f64::from(number) < dropped {
            true => 0.0,
            false => (1.0 / (1.0 - p)) as f32,
        }
    };
    Ok((0..numel as u32).map(factor).collect())
}

#[test]
fn masks_are_philox_numbers_below_the_probability() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    for (p, numel) in [(0.1, 1), (0.5, 5000), (0.75, 70_001)] {
        let mask = expected(9, p, numel)?;
        let dropped = mask.iter().filter(|&&factor| factor == 0.0).count() as f64;
        let deviation = (numel as f64 * p * (1.0 - p)).sqrt();
        assert!((dropped - numel as f64 * p).abs() <= 5.0 * deviation, "{p}");
        let x = Tensor::ones([numel], (DType::F32, device))?;
        assert_eq!(fork_rng(9, || x.dropout(p))?.to_vec::<f32>()?, mask, "{p}");
    }
    // Powers of two in 16 bits, an odd number of them.
    let mask = expected(9, 0.5, 333)?;
    for dtype in [DType::F16, DType::BF16] {
        let x = Tensor::ones([333], (dtype, device))?;
        let y = fork_rng(9, || x.dropout(0.5))?.to_dtype(DType::F32)?;
        assert_eq!(y.to_vec::<f32>()?, mask, "{dtype}");
    }
    Ok(())
}

#[test]
fn gradients_have_the_mask_of_the_forward_pass_and_nothing_is_uploaded() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let x = Tensor::randn([40, 30], (DType::F32, device))?.with_grad()?;
    let before = common::gpu(&device).stats();
    let y = fork_rng(2, || x.transpose(0, 1)?.dropout(0.5))?;
    y.sum(..)?.backward()?;
    let after = common::gpu(&device).stats();
    assert_eq!(
        (after.uploaded, after.host_routes),
        (before.uploaded, before.host_routes)
    );
    let mask = expected(2, 0.5, 1200)?;
    let grad = x.grad().unwrap().transpose(0, 1)?.to_vec::<f32>()?;
    assert_eq!(grad, mask);
    let values = x.transpose(0, 1)?.to_vec::<f32>()?;
    let product: Vec<f32> = values.iter().zip(&mask).map(|(x, m)| x * m).collect();
    assert_eq!(y.to_vec::<f32>()?, product);
    Ok(())
}
