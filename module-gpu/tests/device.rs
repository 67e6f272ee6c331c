//! The device itself: its name, errors and threads.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use common::gpu;
use module_nn::prelude::*;

#[test]
fn a_device_is_found_by_its_name() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    assert_eq!(device.to_string(), "gpu:0");
    assert_eq!("gpu:0".parse::<Device>()?, device);
    assert_eq!("gpu".parse::<Device>()?, device);
    assert_eq!(module_gpu::device(0)?, device);
    let adapters = module_gpu::adapters();
    assert_eq!(&adapters[0], gpu(&device).adapter());
    assert!(
        adapters[0].max_storage_bytes >= 128 << 20,
        "{}",
        adapters[0]
    );
    let error = module_gpu::device(adapters.len()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Argument { .. }),
        "{error}"
    );
    Ok(())
}

#[test]
fn an_index_out_of_range_is_told_when_values_are_read() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let x = Tensor::arange(0, 5, DType::F32)?.to_device(&device)?;
    for wrong in [-1_i64, 5, 1 << 40] {
        let index = Tensor::from([0_i64, wrong]).to_device(&device)?;
        let y = x.index_select(0, &index)?;
        let error = y.to_vec::<f32>().unwrap_err();
        let expected = format!("index_select: index {wrong} is out of range for size 5");
        assert_eq!(error.to_string(), expected);
        // It is told once, and the device goes on.
        device.synchronize()?;
        assert_eq!(x.add(&x)?.to_vec::<f32>()?, [0.0, 2.0, 4.0, 6.0, 8.0]);
    }
    Ok(())
}

#[test]
fn memory_that_is_not_there_is_an_error_and_the_device_goes_on() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let x = Tensor::ones([1000], device)?;
    let error = Tensor::zeros([1 << 45], (DType::F32, device)).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Device(DeviceError::OutOfMemory { .. })
        ),
        "{error}"
    );
    assert_eq!(x.sum(..)?.item::<f32>()?, 1000.0);
    Ok(())
}

#[test]
fn gradients_accumulate_in_place() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let x = Tensor::arange(0, 64, DType::F32)?.to_device(&device)?;
    let w = Tensor::ones([64], (DType::F32, device))?.with_grad()?;
    let step = || w.mul(&x)?.sum(..)?.backward();
    step()?;
    let address = || w.grad().unwrap().storage().address();
    let first = address();
    step()?;
    step()?;
    assert_eq!(address(), first);
    let expected = x.mul(3.0)?.to_vec::<f32>()?;
    assert_eq!(w.grad().unwrap().to_vec::<f32>()?, expected);
    // Memory that another handle holds stays as it is.
    let held = w.grad().unwrap();
    step()?;
    assert_ne!(address(), first);
    assert_eq!(held.to_vec::<f32>()?, expected);
    Ok(())
}

#[test]
fn slices_that_meet_are_added_in_the_order_of_the_index() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let source = fork_rng(0, || Tensor::randn([6000, 5], ()))?;
    // More rows than are named, one that is named more often than all others, and the last one.
    let row = |i: i64| match i {
        100..600 => 7,
        4000..4003 => 29_999,
        _ => i * 7919 % 61,
    };
    let rows: Vec<i64> = (0..6000).map(row).collect();
    let mut expected = vec![0.0_f32; 30_000 * 5];
    for (row, slice) in rows.iter().zip(source.to_vec::<f32>()?.chunks(5)) {
        for (sum, x) in expected[*row as usize * 5..].iter_mut().zip(slice) {
            *sum += x;
        }
    }
    let index = Tensor::from_vec(rows, [6000])?.to_device(&device)?;
    let zeros = Tensor::zeros([30_000, 5], device)?;
    let sum = zeros.index_add(0, &index, &source.to_device(&device)?)?;
    // The same bits, so that the order is that of the index.
    assert!(sum.to_vec::<f32>()? == expected);
    Ok(())
}

#[test]
fn threads_share_the_device() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let run = |seed: usize| -> Result<Vec<f32>> {
        let x = Tensor::arange(0, 100, DType::F32)?
            .reshape([10, 10])?
            .to_device(&device)?;
        let mut y = x.mul(seed as f64 * 0.01)?;
        for _ in 0..50 {
            y = y.matmul(&x)?.mul(1e-3)?.sin()?;
        }
        y.to_vec::<f32>()
    };
    let alone: Vec<Vec<f32>> = (0..8).map(run).collect::<Result<_>>()?;
    let together: Vec<Vec<f32>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || run(seed))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap().unwrap())
            .collect()
    });
    // And the results are the same bits again.
    assert_eq!(alone, together);
    Ok(())
}
