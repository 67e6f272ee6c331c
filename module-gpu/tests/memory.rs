//! What a process takes: memory, up to its limit, and time for a call. One test runs at a time.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use std::time::Instant;

use module_gpu::Gpu;
use module_nn::prelude::*;

#[test]
fn the_limit_is_kept_and_memory_is_used_again() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    let gpu: &Gpu = device.backend_as().unwrap();
    let x = Tensor::ones([1 << 20], device)?;
    gpu.set_memory_limit(gpu.used_bytes() + gpu.kept_bytes() + (8 << 20));
    let mut held = Vec::new();
    let error = loop {
        match x.add(&x) {
            Ok(y) => held.push(y),
            Err(error) => break error,
        }
        assert!(held.len() < 10, "no limit");
    };
    assert_eq!(
        error.to_string(),
        "gpu:0: not enough memory for 4194304 bytes; free tensors or use smaller batches"
    );
    assert_eq!(held[0].to_vec::<f32>()?[5], 2.0);
    drop(held);
    // What was freed is used again.
    assert_eq!(
        x.add(&x)?.sum(..)?.item::<f32>()?,
        f32::from(2_u8) * 1_048_576.0
    );
    gpu.set_memory_limit(u64::MAX);
    device.empty_cache();
    assert_eq!(gpu.kept_bytes(), 0);
    Ok(())
}

#[test]
fn a_call_costs_the_host_little() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    let x = Tensor::ones([64], device)?;
    let run = || -> Result<f64> {
        let start = Instant::now();
        let mut y = x.clone();
        for _ in 0..1000 {
            y = y.add(&x)?;
        }
        let took = start.elapsed().as_secs_f64();
        assert_eq!(y.to_vec::<f32>()?[0], 1001.0);
        Ok(took * 1e6 / 1000.0)
    };
    run()?;
    // The least of several runs, as other programs share the processor.
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        least = least.min(run()?);
    }
    println!("{least:.1} µs for a call");
    assert!(least < 100.0, "{least} µs for a call");
    Ok(())
}

#[test]
fn memory_stays_flat_over_many_steps() -> Result<()> {
    let Some((device, _alone)) = common::device_alone() else {
        return Ok(());
    };
    let x = Tensor::ones([32, 32], device)?;
    let step = |x: &Tensor| -> Result<Tensor> {
        let host = Tensor::from_vec(vec![0.5_f32; 1024], [32, 32])?.to_device(&device)?;
        x.matmul(&host)?.tanh()
    };
    let mut y = x.clone();
    let mut after_warm_up = 0;
    for i in 0..10_000 {
        y = step(&y)?;
        if i == 500 {
            device.synchronize()?;
            after_warm_up = resident();
        }
    }
    device.synchronize()?;
    let grown = resident().saturating_sub(after_warm_up);
    assert!(grown < 32 << 20, "{grown} bytes more than after 500 steps");
    Ok(())
}

/// The bytes of this process in memory, as Linux says; 0 elsewhere.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
