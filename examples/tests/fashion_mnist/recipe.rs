//! The training beside one that is written out: its recipe in formulas, without a schedule, an average or a checkpoint.

use std::fs;

use module_examples::{FashionMnist, FashionNet};
use module_nn::Tolerance;
use module_nn::data::DataLoaderConfig;
use module_nn::prelude::*;

use crate::killed::{EPOCHS, few_digits, live, place};

const CHANNELS: [usize; 4] = [16, 32, 64, 96];

/// Learning rate and momentum of a step: from a 25th of 0.15 to 0.15 in the first quarter, then to a 10,000th of the
/// first one; from 0.95 to 0.85 and back.
fn one_cycle(step: u64) -> (f64, f64) {
    let (step, steps) = (step as f64, 3.0 * EPOCHS as f64);
    let (turn, last) = (0.25 * steps - 1.0, steps - 1.0);
    let between = |from: f64, to: f64, part: f64| from + part * (to - from);
    match step <= turn {
        true => (
            between(0.15 / 25.0, 0.15, step / turn),
            between(0.95, 0.85, step / turn),
        ),
        false => {
            let part = (step - turn) / (last - turn);
            (
                between(0.15, 0.15 / 25.0 / 1e4, part),
                between(0.85, 0.95, part),
            )
        }
    }
}

/// How much of the averages stays after so many updates.
fn decay(updates: u64) -> f64 {
    (1.0 - (1.0 + updates as f64).powf(-2.0 / 3.0)).min(0.998)
}

/// The model after all steps, and the averages of its parameters.
fn train(data: &FashionMnist) -> Result<(FashionNet, Vec<Tensor>)> {
    let model = FashionNet::new(CHANNELS)?;
    let config = DataLoaderConfig::new().batch_size(128).drop_last(true);
    let loader = config.shuffle(true).seed(1).build(data.augmented()?)?;
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let config = SGDConfig::new(0.15).momentum(0.9).nesterov(true);
    let mut optimizer = config.weight_decay(5e-4).build(&model)?;
    let values = || model.parameters().map(Parameter::detach);
    let (mut averages, mut step) = (Vec::new(), 0);
    for _ in 0..EPOCHS {
        for batch in &loader {
            let (images, labels) = batch?;
            let (lr, momentum) = one_cycle(step);
            optimizer.set_lr(lr)?;
            optimizer.set_group_momentum(0, momentum)?;
            model.zero_grad();
            criterion.loss(&model.call(images)?, &labels)?.backward()?;
            optimizer.step(&model)?;
            averages = match step {
                0 => values().collect(),
                _ => {
                    let averages = averages.iter().zip(values());
                    let next = averages.map(|(average, value): (&Tensor, Tensor)| {
                        average
                            .mul(decay(step))?
                            .add(&value.mul(1.0 - decay(step))?)
                    });
                    next.collect::<Result<Vec<Tensor>>>()?
                }
            };
            step += 1;
        }
    }
    Ok((model, averages))
}

#[test]
fn a_training_follows_its_recipe() -> Result<()> {
    let place = place("recipe");
    live(&place, false);
    let checkpoint = TrainingCheckpoint::load(&place)?;
    fs::remove_dir_all(place).unwrap();
    let (expected, averages) = fork_rng(0, || train(&few_digits()))?;

    let mut model = FashionNet::new(CHANNELS)?;
    checkpoint.restore("model", &mut model)?;
    let config = EMAConfig::new(0.998).use_buffers(true).use_warmup(true);
    let mut ema = config.build(&model)?;
    checkpoint.restore("ema", &mut ema)?;
    // The rates and the averages are rounded otherwise.
    let bound = Tolerance::new().rtol(1e-4).atol(1e-5);
    let paths = model.named_parameters().map(|(path, _)| path);
    let paths: Vec<String> = paths.collect();
    let check = |what: &str, expected: &[Tensor]| -> Result<()> {
        assert_eq!(paths.len(), expected.len());
        for ((path, value), expected) in paths.iter().zip(model.parameters()).zip(expected) {
            let is_close = value.detach().allclose(expected, bound)?;
            assert!(is_close, "{what} of {path}");
        }
        Ok(())
    };
    let values: Vec<Tensor> = expected.parameters().map(Parameter::detach).collect();
    check("the last value", &values)?;
    let _averaged = ema.swap_in(&model)?;
    check("the average", &averages)
}
