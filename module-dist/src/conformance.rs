//! Checks that every [`Comm`] must pass, for its implementers: run them on all ranks.

mod collectives;
mod direct;
mod groups;

use std::fmt::Debug;

use module_nn::{Error, Result};

use crate::{Comm, FailureCause, RankFailure};

/// A check.
type Check = fn(&dyn Comm) -> Result<()>;

const CHECKS: [(&str, Check); 15] = [
    (
        "all_reduce of every op and dtype",
        collectives::all_reduce_combines,
    ),
    (
        "all_reduce of every size",
        collectives::all_reduce_of_every_size,
    ),
    (
        "sums in the order of the ranks",
        collectives::sums_follow_the_ranks,
    ),
    ("the same bits on all ranks", collectives::bits_are_the_same),
    ("reduce_scatter", collectives::reduce_scatter_divides),
    (
        "all_gather of every dtype",
        collectives::all_gather_keeps_bits,
    ),
    (
        "all_gather of different shapes",
        collectives::all_gather_of_different_shapes,
    ),
    (
        "broadcast from each rank",
        collectives::broadcast_from_each_rank,
    ),
    ("barrier", collectives::barrier_waits),
    ("collectives in flight", collectives::collectives_in_flight),
    (
        "refused arguments",
        collectives::wrong_arguments_are_refused,
    ),
    ("a ring of sends", direct::ring),
    ("tags and order", direct::tags_and_order),
    ("large messages both ways", direct::large_messages_both_ways),
    ("groups", groups::split_divides),
];

/// Runs all checks; every rank of `comm` must call it.
///
/// # Errors
///
/// The fault of the communicator, with the name of the check.
///
/// # Example
///
/// ```
/// use module_dist::{LocalComm, conformance};
///
/// LocalComm::run(2, |comm| conformance::check(&*comm))?;
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn check(comm: &dyn Comm) -> Result<()> {
    for (name, check) in CHECKS {
        check(comm).map_err(|error| {
            let (rank, size) = (comm.rank(), comm.size());
            Error::custom(format!("{name}, on rank {rank} of {size}: {error}"))
        })?;
    }
    Ok(())
}

/// Checks that a failure ends the run on all ranks: the last rank fails, and every later call returns its failure. The
/// communicator is of no use afterwards.
///
/// # Errors
///
/// The fault of the communicator.
pub fn check_failure(comm: &dyn Comm) -> Result<()> {
    let last = comm.size() - 1;
    let cause = FailureCause::Error {
        message: "on purpose".into(),
    };
    let failure = RankFailure::new(last, "check_failure", cause);
    if comm.rank() == last {
        comm.fail(failure.clone());
    }
    let waited = comm.barrier().err();
    let found = waited
        .as_ref()
        .and_then(|error| error.downcast_ref::<RankFailure>());
    same(
        "the failure of a waiting collective",
        &found,
        &Some(&failure),
    )?;
    let again = comm.barrier().err();
    let found = again
        .as_ref()
        .and_then(|error| error.downcast_ref::<RankFailure>());
    same("the failure of a later collective", &found, &Some(&failure))?;
    same("the recorded failure", &comm.failure(), &Some(failure))
}

fn same<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::custom(format!(
        "{what}: {found:?} instead of {expected:?}"
    )))
}

fn holds(what: &str, holds: bool) -> Result<()> {
    same(what, &holds, &true)
}
