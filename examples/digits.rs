//! The main example: a residual network learns to read handwritten digits, is
//! saved, loaded into a fresh model and shown to give the same answers.
//!
//! ```text
//! cargo run --release --example digits
//! ```

use std::cell::RefCell;
use std::f64::consts::PI;
use std::io::IsTerminal;
use std::rc::Rc;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use module_examples::{Digits, DigitsNet};
use module_nn::prelude::*;

const SEED: u64 = 0;
const WIDTH: usize = 16;
const EPOCHS: usize = 10;
const BATCH: usize = 32;
const RATE: f64 = 0.1;
const WARM_UP: usize = 40;
const FILE: &str = "target/digits.safetensors";

/// The learning rate: a linear warm-up, then a cosine down to a hundredth.
fn rate(step: usize, steps: usize) -> f64 {
    if step < WARM_UP {
        return RATE * (step + 1) as f64 / WARM_UP as f64;
    }
    let done = (step - WARM_UP) as f64 / (steps - WARM_UP) as f64;
    RATE * (0.01 + 0.99 * 0.5 * (1.0 + (PI * done).cos()))
}

/// The share of images that the model reads right.
fn accuracy(model: &DigitsNet, data: &Digits) -> Result<f64> {
    model.eval();
    let right = no_grad(|| {
        let logits = model.call(data.images.clone())?;
        logits.argmax(1)?.eq(&data.labels)?.sum(..)?.item::<i64>()
    })?;
    model.train();
    Ok(right as f64 / data.len() as f64)
}

/// One pass over the data in random order; returns the mean loss.
fn train_epoch(
    model: &DigitsNet,
    optimizer: &mut SGD,
    data: &Digits,
    schedule: impl Fn(usize) -> f64,
    bar: &ProgressBar,
) -> Result<f64> {
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let order = Tensor::randperm(data.len(), ())?;
    let mut total = 0.0;
    for (step, start) in (0..data.len()).step_by(BATCH).enumerate() {
        let batch = data.select(&order.narrow(0, start..data.len().min(start + BATCH))?)?;
        let count = batch.len() as f64;
        optimizer.set_lr(schedule(step));
        let loss = criterion.loss(&model.call(batch.images)?, &batch.labels)?;
        model.zero_grad();
        loss.backward()?;
        optimizer.step(model)?;
        total += f64::from(loss.item::<f32>()?) * count;
        bar.inc(1);
    }
    Ok(total / data.len() as f64)
}

fn train(model: &DigitsNet, data: &Digits, held_back: &Digits) -> Result<()> {
    let config = SGDConfig::new(RATE)
        .momentum(0.9)
        .nesterov(true)
        .weight_decay(1e-3);
    let mut optimizer = config.build(model)?;
    let per_epoch = data.len().div_ceil(BATCH);
    let steps = EPOCHS * per_epoch;

    // A bar where somebody watches, plain lines where nobody does.
    let terminal = std::io::stderr().is_terminal();
    let bar = if terminal {
        ProgressBar::new(steps as u64)
    } else {
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {eta} left  {msg}")
    {
        bar.set_style(style);
    }
    for epoch in 0..EPOCHS {
        let schedule = |step| rate(epoch * per_epoch + step, steps);
        let loss = train_epoch(model, &mut optimizer, data, schedule, &bar)?;
        let right = 100.0 * accuracy(model, held_back)?;
        let line = format!(
            "epoch {:2}  loss {loss:.4}  held-back accuracy {right:.2} %",
            epoch + 1
        );
        if terminal {
            bar.println(line)
        } else {
            println!("{line}")
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// What one layer puts out for one image, seen by a hook that goes when its handle does.
fn look_inside(model: &DigitsNet, data: &Digits) -> Result<Tensor> {
    let seen = Rc::new(RefCell::new(None));
    let slot = seen.clone();
    let hook = model.layer1.bn1.register_forward_hook(move |call| {
        *slot.borrow_mut() = Some(call.output()?);
        Ok(())
    });
    model.eval();
    no_grad(|| model.call(data.images.narrow(0, 0..1)?))?;
    drop(hook);
    let output = seen.borrow_mut().take();
    output.ok_or_else(|| Error::argument("look_inside", "layer", "layer1.bn1", "was not called"))
}

fn main() -> Result<()> {
    let start = Instant::now();
    manual_seed(SEED);
    let (held_back, data) = Digits::read()?.split()?;
    let model = DigitsNet::new(WIDTH)?;
    println!("{}\n", model.tree().with_parameters());

    train(&model, &data, &held_back)?;
    let right = accuracy(&model, &held_back)?;
    println!(
        "\n{:.2} % of {} held-back digits right",
        100.0 * right,
        held_back.len()
    );

    if right < 0.98 {
        let problem = "is less than the 98 % that this recipe reaches";
        return Err(Error::argument("digits", "accuracy", right, problem));
    }

    let activations = look_inside(&model, &held_back)?;
    println!(
        "layer1.bn1 returned {} with mean {:.4} for one image",
        activations.shape(),
        activations.mean(..)?.item::<f32>()?
    );

    std::fs::create_dir_all("target").map_err(Error::custom)?;
    model.save(FILE)?;
    let fresh = DigitsNet::new(WIDTH)?;
    let report = fresh.load(FILE)?;
    let again = accuracy(&fresh, &held_back)?;
    println!(
        "saved and loaded into a fresh model: {report}, {:.2} % right",
        100.0 * again
    );
    if again != right {
        return Err(Error::argument(
            "digits",
            "accuracy",
            again,
            format!("was {right} before saving"),
        ));
    }

    // A checkpoint with one key renamed: the load says what is wrong and changes nothing.
    let mut state = StateDict::load(FILE)?;
    if let Some(weight) = state.remove("head.weight") {
        state.insert("head.wieght", weight);
    }
    match fresh.load_state_dict(&state) {
        Err(error) => println!("\na renamed key is refused:\n{error}"),
        Ok(_) => {
            return Err(Error::argument(
                "digits",
                "key",
                "head.wieght",
                "was accepted",
            ));
        }
    }
    println!("\n{:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
