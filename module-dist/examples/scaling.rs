//! Measures a step on 1, 2 and 4 processes of this machine, and predicts it there and on up to 1,024:
//!
//! ```text
//! cargo build --release --features mpi --example scaling --target-dir target
//! target/release/examples/scaling
//! ```

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use module_dist::simulate::{
    BucketPlan, Cluster, Link, StepPlan, measure_core_share, measure_link,
};
use module_dist::{Comm, DataParallelConfig, launch};
use module_nn::prelude::*;

const LAYERS: usize = 6;
const SIZE: usize = 512;
const BATCH: usize = 128;
const BUCKET: usize = 1 << 20;
const STEPS: usize = 101;
const RUNS: usize = 5;
const NO_LINK: Link = Link {
    latency: 0.0,
    bandwidth: f64::INFINITY,
};

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
    let (link, core_share) = match comm.size() {
        1 => (NO_LINK, 0.0),
        _ => (
            measure_link(&*comm, BUCKET)?,
            measure_core_share(&*comm, BUCKET)?,
        ),
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
        let Link { latency, bandwidth } = link;
        println!("measured {times:?} {latency:e} {bandwidth:e} {core_share:e}");
    }
    Ok(())
}

/// What was measured on some processes: forward, backward, update and whole step, and what messages cost.
struct Measured {
    times: [f64; 4],
    link: Link,
    core_share: f64,
}

/// The medians of several runs.
fn measure_often(ranks: usize) -> Result<Measured> {
    let runs = (0..RUNS).map(|_| run(ranks)).collect::<Result<Vec<_>>>()?;
    let middle = |value: &dyn Fn(&Measured) -> f64| median(runs.iter().map(value).collect());
    Ok(Measured {
        times: std::array::from_fn(|i| middle(&|run| run.times[i])),
        link: Link {
            latency: middle(&|run| run.link.latency),
            bandwidth: middle(&|run| run.link.bandwidth),
        },
        core_share: middle(&|run| run.core_share),
    })
}

/// Measures on some processes, which may use all cores.
fn run(ranks: usize) -> Result<Measured> {
    let mut command = Command::new("mpirun");
    command.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "--bind-to",
        "none",
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
        [
            forward,
            backward,
            update,
            whole,
            latency,
            bandwidth,
            core_share,
        ] => Ok(Measured {
            times: [forward, backward, update, whole],
            link: Link { latency, bandwidth },
            core_share,
        }),
        _ => Err(Error::custom(format!(
            "{ranks} ranks: {}",
            String::from_utf8_lossy(&output.stderr)
        ))),
    }
}

fn compare() -> Result<()> {
    let alone = measure_often(1)?;
    let [forward, backward, update, _] = alone.times;
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
    let machine = |measured: &Measured| Cluster {
        local: measured.link,
        network: measured.link,
        ranks_per_machine: usize::MAX,
        cores_per_machine: cores,
        core_share: measured.core_share,
    };
    let (two, four) = (measure_often(2)?, measure_often(4)?);
    for (ranks, measured) in [(1, &measure_often(1)?), (2, &two), (4, &four)] {
        let [.., step] = measured.times;
        let predicted = plan.predict(ranks, &machine(measured))?.step;
        println!(
            "{ranks} ranks here: link {:.1} µs, {:.2} GB/s, {:.0} % of it core time; step measured {:.2} ms, predicted {:.2} ms ({:+.0} %)",
            1e6 * measured.link.latency,
            1e-9 * measured.link.bandwidth,
            100.0 * measured.core_share,
            1e3 * step,
            1e3 * predicted,
            100.0 * (predicted / step - 1.0)
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
        ..machine(&two)
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
