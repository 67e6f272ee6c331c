//! A network that reads handwritten digits, with the weights of its linear layers in fewer bits: its size, the time for one
//! image, and its accuracy, before and after.
//!
//! ```text
//! cargo run --release --example quantize
//! ```

use std::time::Instant;

use module_examples::Digits;
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, quantize};

const WIDTH: usize = 1024;
const FILE: &str = "target/quantized.safetensors";

/// The accuracy that a quantized network may lose.
const BOUND: f64 = 0.01;

fn network() -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Flatten::new())
        .push(Linear::new(64, WIDTH)?)
        .push(ReLU::new())
        .push(Linear::new(WIDTH, WIDTH)?)
        .push(ReLU::new())
        .push(Linear::new(WIDTH, 10)?))
}

/// The fraction of images that are read correctly.
fn accuracy(model: &Sequential, data: &Digits) -> Result<f64> {
    let found = no_grad(|| model.call(data.images.clone()))?.argmax(1)?;
    let right = found.eq(&data.labels)?.sum(..)?.item::<i64>()?;
    Ok(right as f64 / data.len() as f64)
}

/// The microseconds for one image: the minimum of many runs.
fn micros(model: &Sequential, data: &Digits) -> Result<f64> {
    let image = data.images.narrow(0, 0..1)?;
    let mut least = f64::INFINITY;
    for _ in 0..300 {
        let start = Instant::now();
        no_grad(|| model.call(image.clone()))?;
        least = least.min(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(least)
}

fn main() -> Result<()> {
    manual_seed(0);
    let all = Digits::read()?;
    let order = Tensor::randperm(all.len(), ())?;
    let held_back = all.select(&order.narrow(0, 0..360)?)?;
    let data = all.select(&order.narrow(0, 360..all.len())?)?;
    let model = network()?;
    let mut optimizer = AdamWConfig::new(1e-3).build(&model)?;
    for epoch in 1..=8 {
        let mut last = 0.0;
        for first in (0..data.len() - 64).step_by(64) {
            let images = data.images.narrow(0, first..first + 64)?;
            let labels = data.labels.narrow(0, first..first + 64)?;
            let loss = CrossEntropyLoss::new().loss(&model.call(images)?, &labels)?;
            model.zero_grad();
            loss.backward()?;
            optimizer.step(&model)?;
            last = loss.item::<f32>()?;
        }
        println!("epoch {epoch}  loss of the last batch {last:.4}");
    }
    let trained = model.state_dict()?;
    let before = accuracy(&model, &held_back)?;
    let line = |name: &str, model: &Sequential, right: f64| -> Result<()> {
        let kilobytes = model.state_dict()?.num_bytes() as f64 / 1e3;
        let micros = micros(model, &held_back)?;
        println!(
            "{name:<13} {kilobytes:8.0} kB {micros:8.0} us per image {:7.2} %",
            100.0 * right
        );
        Ok(())
    };
    line("f32", &model, before)?;
    for scheme in [
        Scheme::Int8Dynamic,
        Scheme::Int8,
        Scheme::Int4 { group_size: 32 },
        Scheme::NF4,
    ] {
        let model = network()?;
        let _report = model.load_state_dict(&trained)?;
        quantize(&model, Select::all(), scheme)?;
        let right = accuracy(&model, &held_back)?;
        line(scheme.name(), &model, right)?;
        if right < before - BOUND {
            let problem = format!("is more than {BOUND} below {before}");
            return Err(Error::argument(scheme.name(), "accuracy", right, problem));
        }
        // The file has codes and scales, and can be loaded into a network that is not quantized.
        std::fs::create_dir_all("target")?;
        model.save(FILE)?;
        let fresh = network()?;
        let _report = fresh.load(FILE)?;
        let images = || held_back.images.clone();
        if !no_grad(|| fresh.call(images())?.equal(&model.call(images())?))? {
            return Err(Error::custom("the loaded network gives other answers"));
        }
    }
    Ok(())
}
