//! A residual network learns to read handwritten digits, on as many processes as are started:
//!
//! ```text
//! cargo build --release --features mpi --example distributed_digits --target-dir target
//! mpirun -n 2 target/release/examples/distributed_digits run
//! ```
//!
//! or on one, without MPI: `cargo run --release --example distributed_digits`. With a directory as its argument (`run`
//! above) it writes a checkpoint there after every epoch, and goes on from it when it is started again, on any number of
//! processes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use module_dist::{
    Comm, DataParallel, DistributedBatchNorm, PerRank, compute_metric, launch, load_checkpoint,
    rank_seed, save_checkpoint,
};
use module_examples::{Digits, DigitsNet};
use module_nn::data::{DataLoaderConfig, Dataset, DistributedSampler, random_split};
use module_nn::metrics::{Accuracy, Metric};
use module_nn::prelude::*;
use module_nn::rng::default_generator;
use module_nn::{Generator, TrainingCheckpoint};

const EPOCHS: u64 = 8;
/// The images of a step on all ranks together.
const BATCH: usize = 32;

fn main() -> ExitCode {
    let directory = std::env::args().nth(1).map(PathBuf::from);
    launch(|comm| train(comm, directory.as_deref()))
}

fn train(comm: Arc<dyn Comm>, directory: Option<&Path>) -> Result<()> {
    let first = comm.rank() == 0;
    let digits = Digits::read()?.dataset()?;
    let fifth = digits.len() / 5;
    let lengths = [fifth, digits.len() - fifth];
    let mut parts = random_split(digits, lengths, &Generator::new(0))?;
    let (data, held_back) = (parts.remove(1), parts.remove(0));

    // The same model on all ranks, and then random numbers of each rank's own.
    manual_seed(0);
    let mut model = DigitsNet::new(16)?;
    manual_seed(rank_seed(0, comm.rank()));
    DistributedBatchNorm::convert(&model, comm.clone())?;
    let parallel = DataParallel::new(&model, comm.clone())?;
    let mut optimizer = SGDConfig::new(0.05)
        .momentum(0.9)
        .nesterov(true)
        .build(&model)?;

    let sampler = Arc::new(DistributedSampler::new(
        data.len(),
        comm.size(),
        comm.rank(),
    )?);
    let loader = DataLoaderConfig::new().batch_size((BATCH / comm.size()).max(1));
    let loader = loader.sampler(sampler.clone()).build(data)?;
    let tested = DistributedSampler::new(held_back.len(), comm.size(), comm.rank())?;
    let tested = DataLoaderConfig::new()
        .batch_size(128)
        .sampler(tested.shuffle(false))
        .build(held_back)?;

    let mut epoch = 0;
    if let Some(directory) = directory
        && let Some(checkpoint) = load_checkpoint(&*comm, directory)?
    {
        checkpoint.restore("model", &mut model)?;
        checkpoint.restore("optimizer", &mut optimizer)?;
        PerRank::restore(&*comm, &checkpoint, "generators", &mut default_generator())?;
        epoch = checkpoint.epoch();
        parallel.set_steps(checkpoint.step());
    }
    let mut accuracy = 0.0;
    while epoch < EPOCHS {
        sampler.set_epoch(epoch);
        for batch in &loader {
            let (images, labels) = batch?;
            model.zero_grad();
            let loss = CrossEntropyLoss::new().loss(&model.call(images)?, &labels)?;
            parallel.backward(&loss)?;
            optimizer.step(&model)?;
        }
        epoch += 1;
        model.eval();
        let mut metric = Accuracy::new(10)?;
        for batch in &tested {
            let (images, labels) = batch?;
            metric.update(&no_grad(|| model.call(images))?, &labels)?;
        }
        model.train();
        accuracy = compute_metric(&*comm, &mut metric)?.item::<f64>()?;
        if first {
            println!(
                "epoch {epoch}, {} rank(s): held-back accuracy {:.2} %",
                comm.size(),
                100.0 * accuracy
            );
        }
        if let Some(directory) = directory {
            let generators = PerRank::gather(&*comm, &default_generator())?;
            let checkpoint = TrainingCheckpoint::new(epoch, parallel.steps());
            let checkpoint = checkpoint
                .with("model", &model)?
                .with("optimizer", &optimizer)?;
            let checkpoint = checkpoint.with("generators", &generators)?;
            save_checkpoint(&*comm, &checkpoint, directory)?;
        }
    }
    if accuracy > 0.0 && accuracy < 0.97 {
        let problem = "is less than the 97 % that this recipe reaches";
        return Err(Error::argument(
            "distributed_digits",
            "accuracy",
            accuracy,
            problem,
        ));
    }
    Ok(())
}
