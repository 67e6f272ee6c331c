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
    ("GPT-2 with one block, 2 × 16 tokens", |device| {
        let small = GPT2Config {
            vocab_size: 100,
            n_positions: 32,
            n_embd: 64,
            n_layer: 1,
            n_head: 4,
            ..GPT2Config::default()
        };
        gpt2(device, small, [2, 16])
    }),
    ("ResNet-18, 2 images of 32 × 32", |device| {
        resnet_18(device, [2, 32])
    }),
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

/// A step of a model that continues texts, with so many texts of so many tokens.
pub(crate) fn gpt2(
    device: Device,
    config: GPT2Config,
    [texts, length]: [usize; 2],
) -> Result<Step> {
    manual_seed(0);
    let model = GPT2::new(&config)?;
    model.to_device(&device)?;
    model.train();
    let mut optimizer = AdamW::new(&model, 1e-3)?;
    let ids = Tensor::randint(0, 100, [texts, length + 1], ())?.to_device(&device)?;
    let (inputs, targets) = (ids.narrow(1, 0..length)?, ids.narrow(1, 1..length + 1)?);
    let criterion = CrossEntropyLoss::new();
    Ok(Box::new(move || {
        with_default_device(device, || {
            let logits = model.call(inputs.clone())?.flatten(0, 1)?;
            let loss = criterion.loss(&logits, &targets.flatten(0, 1)?)?;
            descend(&model, &mut optimizer, loss)
        })
    }))
}

/// A step with so many images of so many pixels a side.
pub(crate) fn resnet_18(device: Device, [images, size]: [usize; 2]) -> Result<Step> {
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
    let labels = Tensor::randint(0, 10, [images], ())?.to_device(&device)?;
    let images = Tensor::randn([images, 3, size, size], (DType::F32, device))?;
    let criterion = CrossEntropyLoss::new();
    Ok(Box::new(move || {
        let loss = criterion.loss(&model.call(images.clone())?, &labels)?;
        descend(&model, &mut optimizer, loss)
    }))
}
