//! A training that is killed at 50 random moments, and restarted from its directory each time, ends with the same bits as
//! one without interruptions.
//!
//! A run takes at most two steps and saves after each, then it waits to be killed; so there are 50 runs within 100 steps on
//! every machine, however fast.
#![cfg(unix)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use module_nn::prelude::*;
use module_tests::long_run::{LongRun, differences};

/// The environment variable that gives a child its checkpoint's location and its number of steps.
const PLACE: &str = "KILLED_TRAINING_PLACE";
const STEPS: &str = "KILLED_TRAINING_STEPS";

const SEED: u64 = 5;
const KILLS: usize = 50;
const STEPS_OF_A_LIFE: u64 = 2;

fn say(what: &str, step: u64) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "\n{what} {step}").unwrap();
    output.flush().unwrap();
}

/// Not a test but the code of the children: it does nothing unless the variable is set.
#[test]
fn child() {
    let (Ok(place), Ok(steps)) = (std::env::var(PLACE), std::env::var(STEPS)) else {
        return;
    };
    let (place, steps) = (PathBuf::from(place), steps.parse::<u64>().unwrap());
    let mut run = LongRun::new(SEED).unwrap();
    if place.join("checkpoint.json").exists() {
        run.restore(&place).unwrap();
    }
    say("begun", run.step());
    let until = LongRun::STEPS.min(run.step() + steps);
    let save = |run: &mut LongRun| {
        run.checkpoint()?.save(&place)?;
        say("saved", run.step());
        Ok(())
    };
    run.train(until, save).unwrap();
    // Until it is killed, or the parent exits.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// A child and its output.
struct Life {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Life {
    fn begin(place: &Path, steps: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed_training::child", "--nocapture"])
            .arg("--test-threads=1")
            .env(PLACE, place)
            .env(STEPS, steps.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next step that it reports.
    fn next(&mut self, what: &str) -> Option<u64> {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        lines.find_map(|line| line.strip_prefix(what)?.trim().parse().ok())
    }

    /// Kills it; returns the last step that it reported as saved.
    fn kill(mut self) -> Option<u64> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::iter::from_fn(|| self.next("saved ")).last()
    }
}

/// The step of the checkpoint, and whether a save was cut off, leaving files that belong to no checkpoint.
fn found(place: &Path) -> (u64, bool) {
    if !place.join("checkpoint.json").exists() {
        return (0, place.exists());
    }
    let checkpoint = TrainingCheckpoint::load(place).unwrap();
    let files = std::fs::read_dir(place).unwrap().count();
    (checkpoint.step(), files > checkpoint.names().count() + 1)
}

#[test]
fn a_training_killed_at_50_moments_ends_with_the_same_bits() {
    let name = format!("killed-training-{}", std::process::id());
    let place = std::env::temp_dir().join(name);
    let mut generator = module_nn::rng::CpuGenerator::new(57);
    let mut up_to =
        |limit: Duration| limit.mul_f64(f64::from(generator.next_u32()) / 2_f64.powi(32));
    let (mut last, mut cut_off) = (0, 0);
    let mut whole_life = Duration::ZERO;
    for kill in 0..KILLS {
        let born = Instant::now();
        let mut life = Life::begin(&place, STEPS_OF_A_LIFE);
        let mut saved = last;
        if kill % 5 == 4 {
            // At any moment, including during a restore.
            std::thread::sleep(up_to(whole_life));
        } else {
            // At any moment of the step after the first one, including its save.
            assert_eq!(life.next("begun "), Some(last));
            let begun = Instant::now();
            saved = life.next("saved ").expect("a step that is saved");
            whole_life = born.elapsed();
            std::thread::sleep(up_to(begun.elapsed().mul_f64(1.25)));
        }
        saved = life.kill().unwrap_or(saved);
        let (step, is_cut_off) = found(&place);
        // The save after the last reported one may have completed.
        assert!(
            step == saved || step == saved + 1,
            "{step} was found, and {saved} had been saved"
        );
        assert!(step <= last + STEPS_OF_A_LIFE);
        last = step;
        cut_off += usize::from(is_cut_off);
    }
    // Otherwise the test would not have covered an interrupted save.
    assert!(cut_off > 0, "no save was cut off");

    let mut life = Life::begin(&place, LongRun::STEPS);
    while let Some(step) = life.next("saved ") {
        last = step;
        if step == LongRun::STEPS {
            break;
        }
    }
    life.kill();
    assert_eq!(last, LongRun::STEPS);
    let found = TrainingCheckpoint::load(&place).unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    let expected = fork_rng(0, || {
        let mut run = LongRun::new(SEED).unwrap();
        run.train(LongRun::STEPS, |_| Ok(())).unwrap();
        run.checkpoint().unwrap()
    });
    assert_eq!(differences(&found, &expected).unwrap(), [""; 0]);
}
