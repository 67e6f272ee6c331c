//! Steps of training on a device.

use module_examples::models::gpt2::{GPT2, GPT2Config};
use module_examples::models::pretrained::Pretrained;
use module_examples::models::resnet::{ResNet, ResNetConfig};
use module_examples::{Digits, DigitsNet};
use module_nn::prelude::*;
use module_nn::with_default_device;

/// A step of training, which returns the loss.
pub(crate) type Step = Box<dyn FnMut() -> Result<Tensor>>;

/// Builds a step.
pub(crate) type BuildStep = fn(Device) -> Result<Step>;

/// Their names, and the functions that build them.
pub(crate) const STEPS: [(&str, BuildStep); 3] = [
    ("digits network, 8 channels, 32 images", digits),
    ("GPT-2 with one block, 2 × 16 tokens", gpt2_block),
    ("ResNet-18, 2 images of 32 × 32", resnet_18),
];

/// Moves the parameters by the gradient of a loss, which it returns.
fn descend(model: &dyn Module, optimizer: &mut dyn Optimizer, loss: Tensor) -> Result<Tensor> {
    model.zero_grad();
    loss.backward()?;
    optimizer.step(model)?;
    Ok(loss)
}

fn digits(device: Device) -> Result<Step> {
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
    Ok(Box::new(move || {
        let loss = criterion.loss(&model.call(images.clone())?, &labels)?;
        descend(&model, &mut optimizer, loss)
    }))
}

fn gpt2_block(device: Device) -> Result<Step> {
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
    Ok(Box::new(move || {
        with_default_device(device, || {
            let logits = model.call(inputs.clone())?.flatten(0, 1)?;
            let loss = criterion.loss(&logits, &targets.flatten(0, 1)?)?;
            descend(&model, &mut optimizer, loss)
        })
    }))
}

fn resnet_18(device: Device) -> Result<Step> {
    let config: ResNetConfig = serde_json::from_value(serde_json::json!({
        "architecture": "resnet18",
        "num_classes": 10,
    }))
    .map_err(|error| Error::argument("resnet_18", "config", error, "must be one of `ResNet`"))?;
    manual_seed(0);
    let model = ResNet::new(&config)?;
    model.to_device(&device)?;
    model.train();
    let mut optimizer = SGDConfig::new(0.01).momentum(0.9).build(&model)?;
    let images = Tensor::randn([2, 3, 32, 32], (DType::F32, device))?;
    let labels = Tensor::from([3_i64, 7]).to_device(&device)?;
    let criterion = CrossEntropyLoss::new();
    Ok(Box::new(move || {
        let loss = criterion.loss(&model.call(images.clone())?, &labels)?;
        descend(&model, &mut optimizer, loss)
    }))
}
