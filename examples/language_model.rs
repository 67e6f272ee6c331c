//! A transformer learns to write text character by character, and resumes where it was killed: run it, stop it at any time,
//! run it again.
//!
//! ```text
//! cargo run --release --example language_model                      into target/language_model
//! cargo run --release --example language_model -- DIRECTORY STEPS   600 steps if nothing is said
//! ```
//!
//! The text is this repository's `LICENSE-APACHE`. To start over, remove the directory.

use std::path::PathBuf;

use module_nn::data::{DataLoaderConfig, Dataset};
use module_nn::optim::no_decay;
use module_nn::prelude::*;
use module_nn::rng::default_generator;

const TEXT: &[u8] = include_bytes!("../LICENSE-APACHE");
const CHARACTERS: usize = 128;
const LENGTH: usize = 48;
const WIDTH: usize = 64;
/// Steps between two checkpoints.
const SAVE: u64 = 25;

/// Characters, and their numbers.
fn numbers(text: &[u8]) -> Result<Tensor> {
    let numbers = text.iter().map(|&byte| i64::from(byte));
    Tensor::from_vec(numbers.collect(), text.len())
}

/// Each window of the text, and the window that starts one character later.
struct Pieces;

impl Dataset for Pieces {
    type Item = (Tensor, Tensor);

    fn len(&self) -> usize {
        TEXT.len() - LENGTH
    }

    fn get(&self, index: usize) -> Result<(Tensor, Tensor)> {
        let piece = |start| numbers(&TEXT[start..start + LENGTH]);
        Ok((piece(index)?, piece(index + 1)?))
    }
}

#[derive(Module)]
struct LanguageModel {
    characters: Embedding,
    positions: Embedding,
    layers: Vec<TransformerEncoderLayer>,
    head: Linear,
}

impl LanguageModel {
    fn new() -> Result<Self> {
        let layer = TransformerEncoderLayerConfig::new(WIDTH, 4_usize).batch_first(true);
        let layer = layer.dim_feedforward(2 * WIDTH);
        Ok(Self {
            characters: Embedding::new(CHARACTERS, WIDTH)?,
            positions: Embedding::new(LENGTH, WIDTH)?,
            layers: vec![layer.build()?, layer.build()?],
            head: Linear::new(WIDTH, CHARACTERS)?,
        })
    }

    /// A prompt, and the characters that follow it.
    fn write(&self, beginning: &str, count: usize) -> Result<String> {
        let mut text = beginning.as_bytes().to_vec();
        for _ in 0..count {
            let seen = numbers(&text[text.len().saturating_sub(LENGTH)..])?;
            let logits = self.call(seen.unsqueeze(0)?)?.select(1, -1)?;
            let next = logits.div(0.5)?.softmax(-1)?.multinomial(1)?;
            text.push(next.item::<i64>()? as u8);
        }
        Ok(text.into_iter().map(char::from).collect())
    }
}

impl Forward for LanguageModel {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let positions = Tensor::arange(0, x.size(1)? as i64, DType::I64)?;
        let positions = self.positions.call(positions)?;
        let mut x = self.characters.call(x)?.add(&positions)?;
        for layer in &self.layers {
            x = layer.call(TransformerEncoderLayerInput::new(x).is_causal(true))?;
        }
        self.head.call(x)
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or("target/language_model".into()));
    let steps = arguments.next().unwrap_or("600".into());
    let steps: u64 = steps.parse().map_err(Error::custom)?;

    manual_seed(0);
    let mut model = LanguageModel::new()?;
    let config = AdamWConfig::new(5e-3).weight_decay(0.1);
    let config = config.group(no_decay(&model), |group| group.weight_decay(0.0));
    let mut optimizer = config.build(&model)?;
    let mut schedule = WarmupCosine::new(&mut optimizer, 50, steps as usize)?;
    let config = DataLoaderConfig::new().batch_size(16).shuffle(true);
    let mut loader = config.build(Pieces)?;
    let criterion = CrossEntropyLoss::new();
    let mut step = 0;
    if directory.join("checkpoint.json").exists() {
        let checkpoint = TrainingCheckpoint::load(&directory)?;
        checkpoint.restore("model", &mut model)?;
        checkpoint.restore("optimizer", &mut optimizer)?;
        checkpoint.restore("schedule", &mut schedule)?;
        checkpoint.restore("data", &mut loader)?;
        checkpoint.restore("generator", &mut default_generator())?;
        step = checkpoint.step();
        println!("goes on after step {step}");
    }

    while step < steps {
        for batch in loader.iter().take((steps - step) as usize) {
            let (x, y) = batch?;
            let logits = model.call(x)?.flatten(0, 1)?;
            let loss = criterion.loss(&logits, &y.flatten(0, -1)?)?;
            model.zero_grad();
            loss.backward()?;
            clip_grad_norm(&model, 1.0)?;
            optimizer.step(&model)?;
            schedule.step(&mut optimizer)?;
            step += 1;
            if step % SAVE == 0 || step == steps {
                println!("step {step:4}  loss {:.3}", loss.item::<f32>()?);
                TrainingCheckpoint::new(0, step)
                    .with("model", &model)?
                    .with("optimizer", &optimizer)?
                    .with("schedule", &schedule)?
                    .with("data", &loader)?
                    .with("generator", &default_generator())?
                    .save(&directory)?;
            }
        }
    }
    model.eval();
    println!("\n{}", no_grad(|| model.write("You may ", 160))?);
    Ok(())
}
