//! Measures a step on 1, 2 and 4 processes of this machine, and predicts it there and on up to 1,024:
//!
//! ```text
//! cargo build --release --features mpi --example scaling
//! target/release/examples/scaling
//! ```

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use module_dist::simulate::{BucketPlan, Cluster, Link, StepPlan, measure_link};
use module_dist::{Comm, DataParallelConfig, launch};
use module_nn::prelude::*;

const LAYERS: usize = 6;
const SIZE: usize = 512;
const BATCH: usize = 128;
const BUCKET: usize = 1 << 20;
const STEPS: usize = 31;

fn main() -> ExitCode {
    match std::env::args().nth(1) {
        Some(_) => launch(measure),
        None => match compare() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Prints one line of JSON on rank 0: the times of a step, and the link.
fn measure(comm: Arc<dyn Comm>) -> Result<()> {
    module_nn::set_num_threads(1);
    let layers = (0..LAYERS)
        .map(|_| Linear::new(SIZE, SIZE))
        .collect::<Result<Vec<_>>>()?;
    let model = layers.into_iter().fold(Sequential::new(), Sequential::push);
    let config = DataParallelConfig::new()
        .first_bucket_bytes(BUCKET)
        .bucket_bytes(BUCKET);
    let parallel = config
        .check_every(0)
        .check_finite(false)
        .build(&model, comm.clone())?;
    let mut optimizer = SGDConfig::new(1e-4).momentum(0.9).build(&model)?;
    let input = Tensor::randn([BATCH, SIZE], DType::F32)?;
    let link = match comm.size() {
        1 => Link {
            latency: 0.0,
            bandwidth: f64::INFINITY,
        },
        _ => measure_link(&*comm)?,
    };
    let [mut forward, mut backward, mut update, mut whole] = [(); 4].map(|()| Vec::new());
    for _ in 0..STEPS {
        comm.barrier()?;
        let start = Instant::now();
        model.zero_grad();
        let loss = model.call(input.clone())?.mean(..)?;
        let computed = Instant::now();
        parallel.backward(&loss)?;
        let sent = Instant::now();
        optimizer.step(&model)?;
        let end = Instant::now();
        forward.push((computed - start).as_secs_f64());
        backward.push((sent - computed).as_secs_f64());
        update.push((end - sent).as_secs_f64());
        whole.push((end - start).as_secs_f64());
    }
    let times = [forward, backward, update, whole].map(median);
    if comm.rank() == 0 {
        println!(
            "measured {:?} {:e} {:e}",
            times, link.latency, link.bandwidth
        );
    }
    Ok(())
}

/// The times of a step and the link on some processes.
fn run(ranks: usize) -> Result<([f64; 4], Link)> {
    let mut command = Command::new("mpirun");
    command.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "-n",
        &ranks.to_string(),
    ]);
    command
        .arg(std::env::current_exe().map_err(Error::custom)?)
        .arg("measure");
    let output = command.output().map_err(Error::custom)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("measured "));
    let numbers: Vec<f64> = line
        .unwrap_or_default()
        .split([' ', ',', '[', ']'])
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers[..] {
        [forward, backward, update, whole, latency, bandwidth] => Ok((
            [forward, backward, update, whole],
            Link { latency, bandwidth },
        )),
        _ => Err(Error::custom(format!(
            "{ranks} ranks: {}",
            String::from_utf8_lossy(&output.stderr)
        ))),
    }
}

fn compare() -> Result<()> {
    let ([forward, backward, update, _], _) = run(1)?;
    let (_, link) = run(2)?;
    let bytes = (4 * SIZE * (SIZE + 1)) as f64;
    let bucket = |i: usize| BucketPlan {
        bytes,
        ready: (i + 1) as f64 / LAYERS as f64,
    };
    let plan = StepPlan {
        forward,
        backward,
        update,
        buckets: (0..LAYERS).map(bucket).collect(),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let here = Cluster {
        local: link,
        network: link,
        ranks_per_machine: usize::MAX,
        cores_per_machine: cores,
        core_share: 1.0,
    };
    println!(
        "link: {:.1} µs, {:.2} GB/s",
        1e6 * link.latency,
        1e-9 * link.bandwidth
    );
    for ranks in [1, 2, 4] {
        let ([.., measured], _) = run(ranks)?;
        let predicted = plan.predict(ranks, &here)?.step;
        println!(
            "{ranks} ranks here: measured {:.2} ms, predicted {:.2} ms ({:+.0} %)",
            1e3 * measured,
            1e3 * predicted,
            100.0 * (predicted / measured - 1.0)
        );
    }
    // Machines with eight cores each, which 25 Gbit/s connect.
    let cluster = Cluster {
        network: Link {
            latency: 20e-6,
            bandwidth: 3e9,
        },
        ranks_per_machine: 8,
        cores_per_machine: 9,
        ..here
    };
    for ranks in [8, 16, 32, 64, 128, 256, 512, 1024] {
        let found = plan.predict(ranks, &cluster)?;
        println!(
            "{ranks} ranks in a cluster: {:.2} ms, {:.1} times as fast as one, efficiency {:.0} %",
            1e3 * found.step,
            found.speedup,
            100.0 * found.efficiency
        );
    }
    Ok(())
}
