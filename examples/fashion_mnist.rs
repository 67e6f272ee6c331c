//! A residual network learns to classify clothes in a complete training setup: augmentation, a one-cycle learning rate,
//! averaged weights, a log, and checkpoints. Stop it at any time, and the same command resumes bit for bit.
//!
//! ```text
//! examples/fetch_fashion_mnist.sh                                   31 MB, once
//! cargo run --release --example fashion_mnist                       into target/fashion_mnist
//! cargo run --release --example fashion_mnist -- DIRECTORY DATA     DATA: a directory, or `digits`
//! tensorboard --logdir target/fashion_mnist/log
//! ```
//!
//! Without Fashion-MNIST it learns the digits that are built into the program. To start over, remove the directory.
//!
//! Source: Xiao, Rasul and Vollgraf, *Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms* (2017).

use std::path::{Path, PathBuf};
use std::time::Instant;

use module_examples::{FashionMnist, FashionNet};
use module_nn::data::{DataLoader, DataLoaderConfig, Dataset};
use module_nn::log::{Logger, SummaryWriter};
use module_nn::metrics::{Accuracy, ConfusionMatrix, MeanMetric, Metric};
use module_nn::optim::AnnealStrategy;
use module_nn::prelude::*;
use module_nn::{plot, rng::default_generator};

const EPOCHS: u64 = 15;
/// Steps between two checkpoints.
const SAVE: u64 = 50;

/// Prints the accuracy with the averaged weights and which classes are confused, and returns the accuracy.
fn test<D>(model: &FashionNet, ema: &EMA, loader: &DataLoader<D>) -> Result<(f64, Tensor)>
where
    D: Dataset<Item = (Tensor, i64)> + 'static,
{
    let (mut accuracy, mut confusion) = (Accuracy::new(10)?, ConfusionMatrix::new(10)?);
    let _averaged = ema.swap_in(model)?;
    model.eval();
    for batch in loader {
        let (images, labels) = batch?;
        let logits = no_grad(|| model.call(images))?;
        accuracy.update(&logits, &labels)?;
        confusion.update(&logits, &labels)?;
    }
    model.train();
    Ok((accuracy.value()?, confusion.compute()?))
}

/// Trains in a directory, or resumes what is there, and returns the accuracy.
pub(crate) fn train(directory: &Path, data: &FashionMnist, epochs: u64, save: u64) -> Result<f64> {
    manual_seed(0);
    let mut model = FashionNet::new([16, 32, 64, 96])?;
    let config = DataLoaderConfig::new().batch_size(128).num_workers(1);
    let config = config.shuffle(true).drop_last(true).seed(1);
    let mut loader = config.build(data.augmented()?)?;
    // It has a separate generator, so that testing does not affect the training.
    let tested = DataLoaderConfig::new().batch_size(500).seed(2);
    let tested = tested.build(data.tested()?)?;
    let steps = epochs * loader.len() as u64;
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let config = SGDConfig::new(0.15).momentum(0.9).nesterov(true);
    let mut optimizer = config.weight_decay(5e-4).build(&model)?;
    let config = OneCycleLRConfig::new(0.15, steps as usize).pct_start(0.25);
    let config = config.anneal_strategy(AnnealStrategy::Linear);
    let mut schedule = config.build(&mut optimizer)?;
    let config = EMAConfig::new(0.998).use_buffers(true).use_warmup(true);
    let mut ema = config.build(&model)?;
    let (mut loss, mut step, mut start) = (MeanMetric::default(), 0, Instant::now());
    if directory.join("checkpoint.json").exists() {
        let checkpoint = TrainingCheckpoint::load(directory)?;
        checkpoint.restore("model", &mut model)?;
        checkpoint.restore("optimizer", &mut optimizer)?;
        checkpoint.restore("schedule", &mut schedule)?;
        checkpoint.restore("ema", &mut ema)?;
        checkpoint.restore("data", &mut loader)?;
        checkpoint.restore("loss", &mut loss)?;
        checkpoint.restore("generator", &mut default_generator())?;
        step = checkpoint.step();
        println!("goes on after step {step} of {steps}");
    }
    let mut log = SummaryWriter::resume(directory.join("log"), step + 1)?;

    while step < steps {
        for batch in &loader {
            let (images, labels) = batch?;
            let of_batch = criterion.loss(&model.call(images)?, &labels)?;
            model.zero_grad();
            of_batch.backward()?;
            optimizer.step(&model)?;
            schedule.step(&mut optimizer)?;
            ema.update(&model)?;
            loss.update(of_batch.detach())?;
            step += 1;
            let (epoch, is_last) = (step / loader.len() as u64, step % loader.len() as u64 == 0);
            if is_last {
                let (mean, (accuracy, _)) = (loss.compute()?, test(&model, &ema, &tested)?);
                let (percent, seconds) = (100.0 * accuracy, start.elapsed().as_secs_f64());
                println!("epoch {epoch}  loss {mean:.4}  accuracy {percent:.2} %  {seconds:.1} s");
                log.log(step, &[("train/loss", mean), ("test/accuracy", accuracy)])?;
                (loss, start) = (MeanMetric::default(), Instant::now());
            }
            if is_last || step % save == 0 {
                log.add_scalar("train/lr", optimizer.lr(), step)?;
                TrainingCheckpoint::new(epoch, step)
                    .with("model", &model)?
                    .with("optimizer", &optimizer)?
                    .with("schedule", &schedule)?
                    .with("ema", &ema)?
                    .with("data", &loader)?
                    .with("loss", &loss)?
                    .with("generator", &default_generator())?
                    .save(directory)?;
            }
        }
    }
    let (accuracy, confusion) = test(&model, &ema, &tested)?;
    let picture = plot::confusion_matrix(&confusion, &data.classes)?;
    std::fs::write(directory.join("confusion_matrix.svg"), picture)?;
    Ok(accuracy)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or("target/fashion_mnist".into()));
    let data = FashionMnist::open(arguments.next().as_deref())?;
    let accuracy = train(&directory, &data, EPOCHS, SAVE)?;
    let directory = directory.display();
    println!(
        "{:.2} %, {directory}/confusion_matrix.svg shows the mistakes",
        100.0 * accuracy
    );
    if accuracy < data.goal {
        let problem = format!("is less than the {} that this recipe reaches", data.goal);
        return Err(Error::argument(
            "fashion_mnist",
            "accuracy",
            accuracy,
            problem,
        ));
    }
    Ok(())
}
