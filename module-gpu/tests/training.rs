//! Training on the device: what it learns, and that no step goes through the host.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use std::sync::{Mutex, PoisonError};

use module_examples::models::gpt2::{GPT2, GPT2Config};
use module_examples::models::pretrained::Pretrained;
use module_examples::models::resnet::{ResNet, ResNetConfig};
use module_examples::{Digits, DigitsNet};
use module_gpu::{Gpu, Stats};
use module_nn::prelude::*;
use module_nn::with_default_device;

fn stats(device: &Device) -> Stats {
    device
        .backend_as::<Gpu>()
        .expect("the backend of this crate")
        .stats()
}

/// Held by each test, as the counts are those of the device.
static ALONE: Mutex<()> = Mutex::new(());

/// Asserts that a step does not wait for the device or go through the host, and prints what it costs.
fn check_step(device: &Device, name: &str, mut step: impl FnMut() -> Result<Tensor>) -> Result<()> {
    // The first step compiles kernels, and makes the optimizer's state.
    let first = step()?.item::<f32>()?;
    let before = stats(device);
    let loss = step()?;
    let after = stats(device);
    assert_eq!(before.host_routes, after.host_routes, "{name}");
    assert_eq!(before.waits, after.waits, "{name}");
    let second = loss.item::<f32>()?;
    assert!(
        second.is_finite() && second != first,
        "{name}: {first} and {second}"
    );
    println!(
        "{name}: {} launches, {} bytes to the device, {} from it, losses {first} and {second}",
        after.launches - before.launches,
        after.uploaded - before.uploaded,
        after.downloaded - before.downloaded
    );
    Ok(())
}

#[test]
fn no_step_of_the_digits_network_goes_through_the_host() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(device) = common::device() else {
        return Ok(());
    };
    let digits = Digits::read()?;
    manual_seed(0);
    let model = DigitsNet::new(8)?;
    model.to_device(&device)?;
    let mut optimizer = SGDConfig::new(0.1)
        .momentum(0.9)
        .nesterov(true)
        .build(&model)?;
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let images = digits.images.narrow(0, 0..32)?.to_device(&device)?;
    let labels = digits.labels.narrow(0, 0..32)?.to_device(&device)?;
    check_step(&device, "digits", || {
        let loss = criterion.loss(&model.call(images.clone())?, &labels)?;
        model.zero_grad();
        loss.backward()?;
        optimizer.step(&model)?;
        Ok(loss)
    })
}

#[test]
fn no_step_of_a_gpt2_block_goes_through_the_host() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(device) = common::device() else {
        return Ok(());
    };
    let config = GPT2Config {
        vocab_size: 100,
        n_positions: 32,
        n_embd: 64,
        n_layer: 1,
        n_head: 4,
        ..GPT2Config::default()
    };
    manual_seed(0);
    let model = GPT2::new(&config)?;
    model.to_device(&device)?;
    model.train();
    let mut optimizer = AdamW::new(&model, 1e-3)?;
    let ids = Tensor::randint(0, 100, [2, 17], ())?.to_device(&device)?;
    let (inputs, targets) = (ids.narrow(1, 0..16)?, ids.narrow(1, 1..17)?);
    let criterion = CrossEntropyLoss::new();
    check_step(&device, "GPT-2 block", || {
        with_default_device(device, || {
            let logits = model.call(inputs.clone())?.flatten(0, 1)?;
            let loss = criterion.loss(&logits, &targets.flatten(0, 1)?)?;
            model.zero_grad();
            loss.backward()?;
            optimizer.step(&model)?;
            Ok(loss)
        })
    })
}

#[test]
fn no_step_of_resnet_18_goes_through_the_host() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(device) = common::device() else {
        return Ok(());
    };
    let config: ResNetConfig = serde_json::from_value(serde_json::json!({
        "architecture": "resnet18",
        "num_classes": 10,
    }))
    .unwrap();
    manual_seed(0);
    let model = ResNet::new(&config)?;
    model.to_device(&device)?;
    model.train();
    let mut optimizer = SGDConfig::new(0.01).momentum(0.9).build(&model)?;
    let images = Tensor::randn([2, 3, 32, 32], (DType::F32, device))?;
    let labels = Tensor::from([3_i64, 7]).to_device(&device)?;
    let criterion = CrossEntropyLoss::new();
    check_step(&device, "ResNet-18", || {
        let loss = criterion.loss(&model.call(images.clone())?, &labels)?;
        model.zero_grad();
        loss.backward()?;
        optimizer.step(&model)?;
        Ok(loss)
    })
}
