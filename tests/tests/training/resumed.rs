//! A training that resumes from a directory ends with the same bits.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use module_nn::prelude::*;
use module_tests::long_run::{LongRun, differences};

/// The end of a training without interruptions.
fn whole() -> TrainingCheckpoint {
    let mut run = LongRun::new(5).unwrap();
    run.train(LongRun::STEPS, |_| Ok(())).unwrap();
    run.checkpoint().unwrap()
}

#[test]
fn training_resumed_at_step_57_of_100_ends_with_the_same_bits() {
    let directory = std::env::temp_dir().join(format!("resumed-{}", std::process::id()));
    let expected = fork_rng(0, whole);
    fork_rng(0, || {
        let mut run = LongRun::new(5).unwrap();
        run.train(57, |_| Ok(())).unwrap();
        run.checkpoint().unwrap().save(&directory).unwrap();
        // Later events do not count.
        run.train(60, |_| Ok(())).unwrap();
    });
    // Only the directory remains: different seed, different weights, different order.
    let found = fork_rng(1, || {
        let mut run = LongRun::new(6).unwrap();
        run.restore(&directory).unwrap();
        assert_eq!(run.step(), 57);
        run.train(LongRun::STEPS, |_| Ok(())).unwrap();
        run.checkpoint().unwrap()
    });
    std::fs::remove_dir_all(&directory).unwrap();
    assert_eq!((found.epoch(), found.step()), (10, LongRun::STEPS));
    assert_eq!(differences(&found, &expected).unwrap(), [""; 0]);
}
