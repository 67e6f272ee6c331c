//! The main example: a residual network learns to read handwritten digits, is saved, is loaded into a new model, and gives
//! the same answers.
//!
//! ```text
//! cargo run --release --example digits
//! ```

use module_examples::{Digits, DigitsNet};
use module_nn::Generator;
use module_nn::data::{DataLoader, DataLoaderConfig, Dataset, random_split};
use module_nn::prelude::*;

const EPOCHS: usize = 10;
const FILE: &str = "target/digits.safetensors";

/// The fraction of images that the model reads correctly.
fn accuracy<D>(model: &DigitsNet, loader: &DataLoader<D>) -> Result<f64>
where
    D: Dataset<Item = (Tensor, Tensor)> + 'static,
{
    model.eval();
    let mut right = 0;
    for batch in loader {
        let (images, labels) = batch?;
        let found = no_grad(|| model.call(images))?.argmax(1)?;
        right += found.eq(&labels)?.sum(..)?.item::<i64>()?;
    }
    model.train();
    Ok(right as f64 / loader.dataset().len() as f64)
}

fn main() -> Result<()> {
    let digits = Digits::read()?.dataset()?;
    let fifth = digits.len() / 5;
    let lengths = [fifth, digits.len() - fifth];
    let mut parts = random_split(digits, lengths, &Generator::new(0))?;
    let (data, held_back) = (parts.remove(1), parts.remove(0));

    manual_seed(0);
    let model = DigitsNet::new(16)?;
    println!("{}\n", model.tree().with_parameters());
    let loader = DataLoaderConfig::new()
        .batch_size(32)
        .shuffle(true)
        .build(data)?;
    let held_back = DataLoaderConfig::new().batch_size(128).build(held_back)?;
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let config = SGDConfig::new(0.1).momentum(0.9).nesterov(true);
    let mut optimizer = config.weight_decay(1e-3).build(&model)?;
    let schedule = WarmupCosineConfig::new(40, EPOCHS * loader.len()).min_lr(1e-3);
    let mut schedule = schedule.build(&mut optimizer)?;

    let mut right = 0.0;
    for epoch in 1..=EPOCHS {
        let mut total = 0.0;
        for batch in &loader {
            let (images, labels) = batch?;
            let loss = criterion.loss(&model.call(images)?, &labels)?;
            model.zero_grad();
            loss.backward()?;
            optimizer.step(&model)?;
            schedule.step(&mut optimizer)?;
            total += loss.item::<f32>()?;
        }
        right = accuracy(&model, &held_back)?;
        println!(
            "epoch {epoch:2}  loss {:.4}  held-back accuracy {:.2} %",
            total / loader.len() as f32,
            100.0 * right
        );
    }
    if right < 0.98 {
        let problem = "is less than the 98 % that this recipe reaches";
        return Err(Error::argument("digits", "accuracy", right, problem));
    }

    std::fs::create_dir_all("target")?;
    model.save(FILE)?;
    let fresh = DigitsNet::new(16)?;
    let report = fresh.load(FILE)?;
    let again = accuracy(&fresh, &held_back)?;
    println!("\nsaved and loaded into a fresh model: {report}");
    if again != right {
        let problem = format!("was {right} before saving");
        return Err(Error::argument("digits", "accuracy", again, problem));
    }

    // A checkpoint with one renamed key: loading reports the problem and changes nothing.
    let mut state = StateDict::load(FILE)?;
    if let Some(weight) = state.remove("head.weight") {
        state.insert("head.wieght", weight);
    }
    match fresh.load_state_dict(&state) {
        Err(error) => println!("\na renamed key is refused:\n{error}"),
        Ok(_) => {
            let (key, problem) = ("head.wieght", "was accepted");
            return Err(Error::argument("digits", "key", key, problem));
        }
    }
    Ok(())
}
