//! The limit of memory, alone in its process.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use module_gpu::Gpu;
use module_nn::prelude::*;

#[test]
fn the_limit_is_kept_and_memory_is_used_again() -> Result<()> {
    let Some(device) = common::device() else {
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
