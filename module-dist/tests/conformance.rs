//! The conformance suite on threads; `mpi.rs` runs it on processes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use module_dist::{LocalComm, RankFailure, conformance};
use module_nn::Result;

#[test]
fn threads_conform() -> Result<()> {
    for size in 1..=5 {
        LocalComm::run(size, |comm| conformance::check(&*comm))?;
    }
    Ok(())
}

#[test]
fn a_failure_ends_every_thread() -> Result<()> {
    for size in 1..=4 {
        LocalComm::run(size, |comm| conformance::check_failure(&*comm))?;
    }
    Ok(())
}

#[test]
fn different_calls_are_reported_alike_on_both_ranks() -> Result<()> {
    let results = LocalComm::run_with(2, LocalComm::DEADLINE, |comm| match comm.rank() {
        0 => comm.barrier(),
        _ => comm
            .all_reduce(
                &module_nn::Tensor::from([1.0_f32]),
                module_dist::ReduceOp::Sum,
            )
            .map(drop),
    })?;
    for result in results {
        let error = result.unwrap_err();
        assert_eq!(
            error.to_string(),
            "rank 1 in collective 0: it called all_reduce(sum) of float32 [1], where rank 0 called barrier; all \
             ranks must make the same calls in the same order"
        );
        assert!(error.downcast_ref::<RankFailure>().is_some());
    }
    Ok(())
}
