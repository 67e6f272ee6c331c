//! Steps of `examples/fashion_mnist.rs` with everything that belongs to one: augmenting a batch, the step itself, the
//! schedule and the weight average.
//!
//! `python benches/peers/fashion_mnist.py` starts it and PyTorch in turn. It answers a number of steps with the
//! milliseconds of one step, and a path by writing a file there with the initial weights, the batches and the losses of
//! their steps.

use std::io::BufRead;
use std::time::Instant;

use module_examples::{FashionMnist, FashionNet};
use module_nn::data::DataLoaderConfig;
use module_nn::optim::AnnealStrategy;
use module_nn::prelude::*;

/// The number of steps whose losses are compared.
const COMPARED: usize = 20;

fn main() -> Result<()> {
    let threads = std::env::var("THREADS").ok().and_then(|n| n.parse().ok());
    module_nn::set_num_threads(threads.unwrap_or(1));
    // Cargo adds an argument.
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.find(|argument| !argument.starts_with("--"));
    let data = FashionMnist::load(directory.unwrap_or_default().as_ref())?;

    manual_seed(0);
    let model = FashionNet::new([16, 32, 64, 96])?;
    let config = DataLoaderConfig::new().batch_size(128).num_workers(1);
    let config = config.shuffle(true).drop_last(true).seed(1);
    let loader = config.build(data.augmented()?)?;
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let config = SGDConfig::new(0.15).momentum(0.9).nesterov(true);
    let mut optimizer = config.weight_decay(5e-4).build(&model)?;
    let config = OneCycleLRConfig::new(0.15, 8 * loader.len()).pct_start(0.25);
    let config = config.anneal_strategy(AnnealStrategy::Linear);
    let mut schedule = config.build(&mut optimizer)?;
    let config = EMAConfig::new(0.998).use_buffers(true).use_warmup(true);
    let mut ema = config.build(&model)?;

    let mut epoch = loader.iter();
    let mut batch = || match epoch.next() {
        Some(batch) => batch,
        None => {
            epoch = loader.iter();
            epoch
                .next()
                .unwrap_or_else(|| Err(Error::custom("no batch")))
        }
    };
    let mut step = |(images, labels): (Tensor, Tensor)| {
        let loss = criterion.loss(&model.call(images)?, &labels)?;
        model.zero_grad();
        loss.backward()?;
        optimizer.step(&model)?;
        schedule.step(&mut optimizer)?;
        ema.update(&model)?;
        loss.item::<f32>()
    };
    for request in std::io::stdin().lock().lines() {
        let request = request?;
        if let Ok(steps) = request.parse::<u32>() {
            let start = Instant::now();
            for _ in 0..steps {
                step(batch()?)?;
            }
            println!(
                "{:.4}",
                1e3 * start.elapsed().as_secs_f64() / f64::from(steps)
            );
            continue;
        }
        let mut saved = model.state_dict()?;
        let mut losses = Vec::with_capacity(COMPARED);
        for number in 0..COMPARED {
            let (images, labels) = batch()?;
            saved.insert(format!("images.{number}"), images.clone());
            saved.insert(format!("labels.{number}"), labels.clone());
            losses.push(step((images, labels))?);
        }
        saved.insert("losses", Tensor::from(losses));
        saved.save(&request)?;
        println!("{request}");
    }
    Ok(())
}
