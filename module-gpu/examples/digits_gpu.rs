//! The digits network of the main examples, on a device that is chosen by its name.
//!
//! ```text
//! cargo run --release --manifest-path module-gpu/Cargo.toml --example digits_gpu -- --device gpu:0
//! ```

use module_examples::{Digits, DigitsNet};
use module_nn::Generator;
use module_nn::data::{DataLoader, DataLoaderConfig, Dataset, random_split};
use module_nn::prelude::*;

/// The device after `--device`, or `gpu:0`; and the number of epochs after `--epochs`, or 10.
fn arguments() -> Result<(Device, usize)> {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| {
        let mut rest = arguments.iter().skip_while(|argument| *argument != name);
        rest.nth(1).map(String::as_str)
    };
    let name = after("--device").unwrap_or("gpu:0");
    if let Some(index) = name
        .strip_prefix("gpu:")
        .and_then(|index| index.parse().ok())
    {
        module_gpu::device(index)?;
    }
    let epochs = after("--epochs").and_then(|count| count.parse().ok());
    Ok((name.parse()?, epochs.unwrap_or(10)))
}

/// The fraction of images that the model reads correctly.
fn accuracy<D>(model: &DigitsNet, loader: &DataLoader<D>, device: &Device) -> Result<f64>
where
    D: Dataset<Item = (Tensor, Tensor)> + 'static,
{
    model.eval();
    let mut right = Tensor::zeros((), (DType::I64, device))?;
    for batch in loader {
        let (images, labels) = batch?;
        let (images, labels) = (images.to_device(device)?, labels.to_device(device)?);
        let found = no_grad(|| model.call(images))?.argmax(1)?;
        right = right.add(&found.eq(&labels)?.sum(..)?)?;
    }
    model.train();
    Ok(right.item::<i64>()? as f64 / loader.dataset().len() as f64)
}

fn main() -> Result<()> {
    for adapter in module_gpu::adapters() {
        println!("gpu:{}: {adapter}", adapter.index);
    }
    let (device, epochs) = arguments()?;
    let digits = Digits::read()?.dataset()?;
    let fifth = digits.len() / 5;
    let lengths = [fifth, digits.len() - fifth];
    let mut parts = random_split(digits, lengths, &Generator::new(0))?;
    let (data, held_back) = (parts.remove(1), parts.remove(0));

    manual_seed(0);
    let model = DigitsNet::new(16)?;
    model.to_device(&device)?;
    let loader = DataLoaderConfig::new()
        .batch_size(32)
        .shuffle(true)
        .build(data)?;
    let held_back = DataLoaderConfig::new().batch_size(128).build(held_back)?;
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let config = SGDConfig::new(0.1).momentum(0.9).nesterov(true);
    let mut optimizer = config.weight_decay(1e-3).build(&model)?;
    let schedule = WarmupCosineConfig::new(40, epochs * loader.len()).min_lr(1e-3);
    let mut schedule = schedule.build(&mut optimizer)?;

    let mut right = 0.0;
    for epoch in 1..=epochs {
        // Summed on the device, so that no step waits for its loss.
        let mut total = Tensor::zeros((), device)?;
        for batch in &loader {
            let (images, labels) = batch?;
            let (images, labels) = (images.to_device(&device)?, labels.to_device(&device)?);
            let loss = criterion.loss(&model.call(images)?, &labels)?;
            model.zero_grad();
            loss.backward()?;
            optimizer.step(&model)?;
            schedule.step(&mut optimizer)?;
            total = total.add(loss.detach())?;
        }
        right = accuracy(&model, &held_back, &device)?;
        println!(
            "epoch {epoch:2}  loss {:.4}  held-back accuracy {:.2} %",
            total.item::<f32>()? / loader.len() as f32,
            100.0 * right
        );
    }
    if let Some(gpu) = device.backend_as::<module_gpu::Gpu>() {
        println!("{:?}", gpu.stats());
    }
    if right < 0.98 {
        let problem = "is less than the 98 % that this recipe reaches";
        return Err(Error::argument("digits_gpu", "accuracy", right, problem));
    }
    Ok(())
}
