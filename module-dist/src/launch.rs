use std::env;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use module_nn::{Error, Result};

use crate::Comm;
use crate::comm::{LocalComm, run_rank};

/// Variables that launchers of MPI set for the processes that they start.
const LAUNCHERS: [&str; 4] = [
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "PMIX_RANK",
    "MV2_COMM_WORLD_SIZE",
];

/// Runs a program with the communicator of its rank, and returns the exit code of the process: `torchrun`'s part of
/// `init_process_group`.
///
/// Started by `mpirun`, the ranks are its processes; started alone, the process is the only rank. An error of one rank ends
/// all of them, and every rank prints the same [`RankFailure`](crate::RankFailure).
///
/// # Example
///
/// ```
/// use std::process::ExitCode;
///
/// use module_dist::{Comm, ReduceOp, launch};
/// use module_nn::Tensor;
///
/// fn main() -> ExitCode {
///     launch(|comm| {
///         let ranks = comm.all_reduce(&Tensor::from(1_i64), ReduceOp::Sum)?.item::<i64>()?;
///         println!("rank {} of {ranks}", comm.rank());
///         Ok(())
///     })
/// }
/// ```
pub fn launch(program: impl Fn(Arc<dyn Comm>) -> Result<()>) -> ExitCode {
    launch_with(LocalComm::DEADLINE, program)
}

/// [`launch`] with a deadline other than 60 seconds.
pub fn launch_with(deadline: Duration, program: impl Fn(Arc<dyn Comm>) -> Result<()>) -> ExitCode {
    let comm = match world(deadline) {
        Ok(comm) => comm,
        Err(error) => {
            report(&format!("error: {error}"));
            return ExitCode::FAILURE;
        }
    };
    match run_rank(comm.clone(), program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Before the communicator is dropped, which may end the process.
            report(&format!("error on rank {}: {error}", comm.rank()));
            ExitCode::FAILURE
        }
    }
}

/// Prints a line in one write, so that those of several processes do not mix.
pub(crate) fn report(line: &str) {
    // Without an open standard error there is nowhere to report it.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// The communicator of this process: that of MPI if a launcher of MPI started it, otherwise that of a single rank.
///
/// # Errors
///
/// Several processes without the feature `mpi`, each of which would train alone; MPI that cannot be initialized.
pub fn world(deadline: Duration) -> Result<Arc<dyn Comm>> {
    match LAUNCHERS.iter().find(|name| env::var_os(name).is_some()) {
        Some(launcher) => launched(launcher, deadline),
        None => match LocalComm::world(1, deadline)?.pop() {
            Some(comm) => Ok(Arc::new(comm)),
            None => Err(Error::custom("a world of one rank has no rank")),
        },
    }
}

#[cfg(feature = "mpi")]
fn launched(_: &str, deadline: Duration) -> Result<Arc<dyn Comm>> {
    Ok(Arc::new(crate::comm::MpiComm::world(deadline)?))
}

#[cfg(not(feature = "mpi"))]
fn launched(launcher: &str, _: Duration) -> Result<Arc<dyn Comm>> {
    Err(Error::custom(format!(
        "this process was started by a launcher of MPI (`{launcher}` is set), but module-dist was built without the feature \
         `mpi`; enable it, or start the process alone"
    )))
}
