//! Models on the device: packed weights, checkpoints, adapters, and results that repeat.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod common;

use module_examples::DigitsNet;
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, dequantize, quantize};

#[test]
fn products_with_packed_weights_are_those_with_the_unpacked_ones() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let build = || -> Result<Linear> {
        let layer = fork_rng(0, || Linear::new(64, 5))?;
        quantize(&layer, Select::all(), Scheme::Int8)?;
        Ok(layer)
    };
    let (packed, plain) = (build()?, build()?);
    dequantize(&plain, Select::all())?;
    let x = fork_rng(1, || Tensor::randn([3, 64], DType::F32))?;
    packed.to_device(&device)?;
    let weight = packed.weight().tensor();
    assert!(weight.device() == device && weight.storage().packed().is_some());
    let there = packed.call(x.to_device(&device)?)?;
    assert_eq!(there.device(), device);
    let tolerance = module_nn::Tolerance::new().rtol(1e-5).atol(1e-5);
    let here = plain.call(x)?;
    assert!(
        there
            .to_device(&Device::cpu())?
            .allclose(&here, tolerance)?
    );
    Ok(())
}

#[test]
fn a_checkpoint_goes_to_the_device_and_back() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let folder = std::env::temp_dir().join(format!("module_gpu_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (first, second) = (folder.join("a.safetensors"), folder.join("b.safetensors"));
    fork_rng(0, || DigitsNet::new(4))?.save(&first)?;
    // Moved before it has values, then loaded.
    let there = deferred(|| DigitsNet::new(4))?;
    there.to_device(&device)?;
    assert!(there.load(&first)?.missing.is_empty());
    assert!(there.named_parameters().all(|(_, p)| p.device() == device));
    there.save(&second)?;
    assert_eq!(
        std::fs::read(&first).unwrap(),
        std::fs::read(&second).unwrap()
    );
    std::fs::remove_dir_all(folder).unwrap();
    Ok(())
}

#[test]
fn training_gives_the_same_bits_again() -> Result<()> {
    let Some(device) = common::device() else {
        return Ok(());
    };
    let train = || -> Result<StateDict> {
        fork_rng(0, || {
            let model = DigitsNet::new(4)?;
            model.to_device(&device)?;
            let mut optimizer = AdamW::new(&model, 1e-2)?;
            let images = Tensor::rand([16, 1, 8, 8], (DType::F32, device))?;
            let labels = Tensor::randint(0, 10, [16], ())?.to_device(&device)?;
            for _ in 0..3 {
                let loss = CrossEntropyLoss::new().loss(&model.call(images.clone())?, &labels)?;
                model.zero_grad();
                loss.backward()?;
                optimizer.step(&model)?;
            }
            model.to_device(&Device::cpu())?;
            model.state_dict()
        })
    };
    let (once, again) = (train()?, train()?);
    let difference = again.diff(&once)?;
    assert!(difference.is_empty(), "{difference}");
    Ok(())
}
