//! The suite on processes. Started alone, this program starts itself with `mpirun`; started by `mpirun`, it is one rank.
//!
//! Fifty kills instead of a few: `MODULE_DIST_KILLS=50`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "mpi/parent.rs"]
mod parent;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use common::equality::check;
use common::nets::{Language, Perceptron, Residual};
use common::sharding::STAGES;
use common::training::train;
use common::{parallel, sharding};
use module_dist::{Comm, DataParallel, MpiComm, conformance, launch_with};
use module_nn::prelude::*;

/// What the hanging run waits for.
const DEADLINE: Duration = Duration::from_secs(3);

/// What a step of the run that is killed takes longer, so that kills hit steps.
const PAUSE: Duration = Duration::from_millis(40);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((program, rest)) = arguments.split_first() else {
        return parent::main();
    };
    let directory = rest.first().map(PathBuf::from).unwrap_or_default();
    match program.as_str() {
        "suite" => launch_with(Duration::from_secs(60), suite),
        "pieces" => pieces(),
        "failure" => launch_with(DEADLINE, |comm| conformance::check_failure(&*comm)),
        "train" => launch_with(Duration::from_secs(60), |comm| run(&comm, &directory)),
        "hang" => launch_with(DEADLINE, |comm| hang(&comm, &directory)),
        "other-model" => launch_with(DEADLINE, other_model),
        // A filter of `cargo test`, which may also list tests.
        _ => parent::main(),
    }
}

fn suite(comm: Arc<dyn Comm>) -> Result<()> {
    conformance::check(&*comm)?;
    for (dtype, tolerance) in [(DType::F32, 1e-6), (DType::F64, 1e-12)] {
        check::<Perceptron>(&comm, dtype, 50, tolerance)?;
        check::<Residual>(&comm, dtype, 50, tolerance)?;
        check::<Language>(&comm, dtype, 50, tolerance)?;
        for stage in STAGES {
            sharding::check::<Perceptron>(&comm, stage, dtype, 50, tolerance)?;
            sharding::check::<Language>(&comm, stage, dtype, 50, tolerance)?;
        }
        parallel::layers(&comm, dtype, 50, tolerance)?;
        parallel::pipeline(&comm, dtype, 50, tolerance)?;
    }
    Ok(())
}

/// The conformance suite with messages in pieces of 1000 bytes, as messages of gigabytes are sent.
fn pieces() -> ExitCode {
    let run = || conformance::check(&MpiComm::world_in_pieces(Duration::from_secs(60), 1000)?);
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Trains, and writes what training ends with; before that, the process's number.
fn run(comm: &Arc<dyn Comm>, directory: &Path) -> Result<()> {
    let file = |name: String| directory.join(name);
    let pid = std::process::id().to_string();
    std::fs::write(file(format!("pid{}", comm.rank())), pid).map_err(Error::custom)?;
    let end = train(comm, &directory.join("checkpoint"), PAUSE, |_| Ok(()))?;
    let bytes: Vec<u8> = end.iter().flat_map(|x| x.to_le_bytes()).collect();
    std::fs::write(file(format!("end{}", comm.rank())), bytes).map_err(Error::custom)
}

fn hang(comm: &Arc<dyn Comm>, directory: &Path) -> Result<()> {
    let rank = comm.rank();
    let hangs = |step| {
        if rank == 1 && step == 6 {
            std::thread::sleep(Duration::from_secs(60));
        }
        Ok(())
    };
    train(comm, directory, Duration::ZERO, hangs).map(drop)
}

fn other_model(comm: Arc<dyn Comm>) -> Result<()> {
    let model = Linear::new(2 + comm.rank(), 2)?;
    DataParallel::new(&model, comm).map(drop)
}
