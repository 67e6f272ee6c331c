//! A rank that dies, hangs or returns an error ends the run on all ranks, and a new run goes on from the last checkpoint.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::training::train;
use common::wrapped::{Mortal, Wrapped};
use module_dist::{Comm, FailureCause, LocalComm, RankFailure, rank_seed};
use module_nn::{Error, Result, TrainingCheckpoint};

const RANKS: usize = 3;
const DEADLINE: Duration = Duration::from_secs(20);

/// How many ranks are killed; more find rarer moments.
fn kills() -> u64 {
    let count = std::env::var("MODULE_DIST_KILLS").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(5)
}

/// A directory that does not exist yet, removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("module-dist-failure-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn undisturbed(comm: Arc<dyn Comm>, directory: &Path) -> Result<Vec<f32>> {
    train(&comm, directory, Duration::ZERO, |_| Ok(()))
}

fn mortal(inner: Arc<dyn Comm>, last: i64) -> Arc<Wrapped<Mortal>> {
    let around = Mortal::new(last);
    Arc::new(Wrapped { inner, around })
}

/// What training ends with if nothing fails, and the number of calls that it makes.
fn expected() -> Result<(Vec<f32>, i64)> {
    let scratch = Scratch::new();
    let mut ends = LocalComm::run(RANKS, |comm| {
        let comm = mortal(comm, i64::MAX);
        Ok((undisturbed(comm.clone(), &scratch.0)?, comm.around.calls()))
    })?;
    ends.pop().ok_or_else(|| Error::custom("no rank"))
}

fn failure_of<R>(result: &Result<R>) -> Option<&RankFailure> {
    result.as_ref().err().and_then(|error| error.downcast_ref())
}

#[test]
fn a_killed_rank_ends_all_and_the_run_resumes_bit_for_bit() -> Result<()> {
    let (expected, calls) = expected()?;
    let mut hits = 0;
    for kill in 0..kills() {
        let scratch = Scratch::new();
        let random = rank_seed(kill, 0);
        let victim = random as usize % RANKS;
        let call = (random >> 20) as i64 % calls;
        let start = Instant::now();
        let results = LocalComm::run_with(RANKS, DEADLINE, |comm| {
            let comm: Arc<dyn Comm> = match comm.rank() == victim {
                true => mortal(comm, call),
                false => comm,
            };
            undisturbed(comm, &scratch.0)
        })?;
        assert!(
            start.elapsed() < DEADLINE,
            "kill {kill} was noticed by its deadline alone"
        );
        hits += u64::from(results[victim].is_err());
        for (rank, result) in results.iter().enumerate() {
            let failure = failure_of(result);
            if rank == victim {
                // The thread itself has panicked, unless it had ended before.
                assert!(result.is_ok() || failure.is_none());
            } else if let Some(failure) = failure {
                assert_eq!(failure.rank, victim, "kill {kill}, call {call}: {failure}");
            } else {
                assert!(
                    result.is_ok(),
                    "kill {kill}: rank {rank} ended with another error"
                );
            }
        }
        // Nothing is half written.
        if scratch.0.join("checkpoint.json").exists() {
            TrainingCheckpoint::load(&scratch.0)?;
        }
        for (rank, end) in LocalComm::run(RANKS, |comm| undisturbed(comm, &scratch.0))?
            .iter()
            .enumerate()
        {
            assert!(
                *end == expected,
                "kill {kill}, call {call}: rank {rank} ends with other parameters"
            );
        }
    }
    assert_eq!(hits, kills(), "a rank was not killed");
    Ok(())
}

#[test]
fn a_checkpoint_is_resumed_by_another_number_of_ranks() -> Result<()> {
    let scratch = Scratch::new();
    let stop = |step| match step {
        9 => Err(Error::custom("stopped")),
        _ => Ok(()),
    };
    let stopped = LocalComm::run(4, |comm| train(&comm, &scratch.0, Duration::ZERO, stop));
    assert!(stopped.is_err());
    assert_eq!(TrainingCheckpoint::load(&scratch.0)?.step(), 8);
    let ends = LocalComm::run(2, |comm| undisturbed(comm, &scratch.0))?;
    assert!(ends[0] == ends[1] && ends[0].iter().all(|x| x.is_finite()));
    Ok(())
}

#[test]
fn a_hanging_rank_is_named_within_the_deadline() -> Result<()> {
    let scratch = Scratch::new();
    let deadline = Duration::from_millis(1500);
    let hang = Duration::from_secs(6);
    let results = LocalComm::run_with(RANKS, deadline, |comm| {
        let mut ended = Duration::ZERO;
        let start = Instant::now();
        let rank = comm.rank();
        let result = train(&comm, &scratch.0, Duration::ZERO, |step| {
            if rank == 1 && step == 6 {
                std::thread::sleep(hang);
            }
            Ok(())
        });
        ended += start.elapsed();
        Ok((result.map(drop), ended))
    })?;
    for (rank, result) in results.into_iter().enumerate() {
        let (result, ended) = result?;
        let Some(failure) = failure_of(&result) else {
            panic!("rank {rank} ended with {result:?}");
        };
        assert_eq!(failure.rank, 1, "{failure}");
        assert_eq!(failure.cause, FailureCause::NoAnswer { seconds: 1.5 });
        assert!(
            failure.place.starts_with("step 6, all_reduce(mean)"),
            "{failure}"
        );
        assert!(
            rank == 1 || ended < hang,
            "rank {rank} ended after {ended:?}"
        );
    }
    Ok(())
}

#[test]
fn an_error_on_one_rank_is_reported_by_all() -> Result<()> {
    let scratch = Scratch::new();
    let results = LocalComm::run_with(RANKS, DEADLINE, |comm| {
        let rank = comm.rank();
        train(&comm, &scratch.0, Duration::ZERO, |step| {
            match (rank, step) {
                (2, 3) => Err(Error::custom("the data of step 3 are missing")),
                _ => Ok(()),
            }
        })
    })?;
    let message = "the data of step 3 are missing";
    for (rank, result) in results.iter().enumerate() {
        // The rank itself returns its own error, whose type says more.
        let expected = match rank {
            2 => message.to_owned(),
            _ => format!("rank 2 in this program: {message}"),
        };
        assert_eq!(result.as_ref().unwrap_err().to_string(), expected);
    }
    Ok(())
}

#[test]
fn a_rank_that_leaves_early_is_named() -> Result<()> {
    let results = LocalComm::run_with(2, DEADLINE, |comm| match comm.rank() {
        0 => comm.barrier(),
        _ => Ok(()),
    })?;
    let failure = failure_of(&results[0]);
    assert_eq!(
        failure.map(|it| (it.rank, &it.cause)),
        Some((1, &FailureCause::Left))
    );
    Ok(())
}
