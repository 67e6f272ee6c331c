//! A child process saves one checkpoint after another and is killed at an arbitrary moment: the disk always holds,
//! complete, the last checkpoint that it saved or the one that it was saving.
#![cfg(unix)]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use module_nn::prelude::*;

/// The environment variable that tells a child what to save, and where.
const KIND: &str = "KILLED_TEST_KIND";
const PLACE: &str = "KILLED_TEST_PLACE";

/// Tensors of one number each, enough of them that a save takes many writes.
fn state(round: u64) -> StateDict {
    let tensor = |i: usize| {
        let value = Tensor::full([512 + 64 * i], round as i64, DType::I64);
        (format!("t{i}"), value.expect("memory"))
    };
    StateDict::from_iter((0..6).map(tensor))
}

/// The number that fills a state; all its tensors must agree.
fn round_of(state: &StateDict) -> u64 {
    assert_eq!(state.len(), 6);
    let values: Vec<i64> = state
        .iter()
        .flat_map(|(_, x)| x.to_vec::<i64>().unwrap())
        .collect();
    assert_eq!(values.len(), 6 * 512 + 64 * 15);
    assert!(values.iter().all(|value| *value == values[0]));
    values[0] as u64
}

struct Fixed(u64);

impl Stateful for Fixed {
    fn state(&self) -> Result<module_core::Snapshot> {
        module_core::Snapshot::new(state(self.0)).with("round", &self.0)
    }

    fn load_state(&mut self, state: &module_core::Snapshot) -> Result<()> {
        self.0 = state.get("round")?;
        assert_eq!(round_of(state.tensors()), self.0);
        Ok(())
    }
}

fn save(kind: &str, place: &Path, round: u64) -> Result<()> {
    match kind {
        "file" => state(round).save(place.join("state.safetensors")),
        "shards" => state(round).save_sharded(place, 10_000),
        _ => TrainingCheckpoint::new(0, round)
            .with("model", &Fixed(round))?
            .with("optimizer", &Fixed(round))?
            .save(place),
    }
}

fn load(kind: &str, place: &Path) -> Result<u64> {
    Ok(match kind {
        "file" => round_of(&StateDict::load(place.join("state.safetensors"))?),
        "shards" => round_of(&StateDict::load(place)?),
        _ => {
            let checkpoint = TrainingCheckpoint::load(place)?;
            let (mut model, mut optimizer) = (Fixed(0), Fixed(0));
            checkpoint.restore("model", &mut model)?;
            checkpoint.restore("optimizer", &mut optimizer)?;
            assert_eq!(
                (model.0, optimizer.0),
                (checkpoint.step(), checkpoint.step())
            );
            checkpoint.step()
        }
    })
}

/// Not a test but the code of the children: it does nothing unless the variable is set.
#[test]
fn child() {
    let (Ok(kind), Ok(place)) = (std::env::var(KIND), std::env::var(PLACE)) else {
        return;
    };
    let place = PathBuf::from(place);
    let first = load(&kind, &place).unwrap() + 1;
    for round in first.. {
        save(&kind, &place, round).unwrap();
        // The parent reads from it what was written before the kill.
        let mut output = std::io::stdout().lock();
        writeln!(output, "\nsaved {round}").unwrap();
        output.flush().unwrap();
    }
}

/// Kills this many children, and returns the number of saves that were cut off.
fn kill(kind: &str, times: usize) {
    let place = std::env::temp_dir().join(format!("killed-{kind}-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    save(kind, &place, 0).unwrap();
    let mut generator = module_core::rng::CpuGenerator::new(17);
    let (mut last, mut left_behind) = (0, 0);
    let temporary = || {
        let files = std::fs::read_dir(&place).unwrap();
        let names = files.map(|file| file.unwrap().file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with(".checkpoint-"))
            .count()
    };
    for _ in 0..times {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "killed::child",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(KIND, kind)
            .env(PLACE, &place)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        // After the first save, any moment is equally good.
        let saved = |line: String| line.strip_prefix("saved ")?.parse::<u64>().ok();
        let mut acknowledged = lines.by_ref().find_map(saved).expect("a first save");
        std::thread::sleep(Duration::from_micros(u64::from(
            generator.next_u32() % 12_000,
        )));
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged = lines.filter_map(saved).last().unwrap_or(acknowledged);
        let found = load(kind, &place).unwrap();
        // The save after the last acknowledged one may have completed.
        assert!(
            found == acknowledged || found == acknowledged + 1,
            "{found} was found, and {acknowledged} had been saved"
        );
        assert!(found > last);
        last = found;
        // This child's saves removed the remains of earlier kills.
        let left = temporary();
        assert!(left <= 1, "{left} temporary files");
        left_behind += left;
    }
    save(kind, &place, last + 1).unwrap();
    assert_eq!(temporary(), 0);
    std::fs::remove_dir_all(&place).unwrap();
    // Otherwise no save was ever interrupted, and the test proved nothing.
    assert!(
        left_behind > times / 10,
        "{left_behind} of {times} saves were cut off"
    );
}

#[test]
fn a_file_survives_200_kills() {
    kill("file", 200);
}

#[test]
fn shards_survive_50_kills() {
    kill("shards", 50);
}

#[test]
fn a_training_checkpoint_survives_50_kills() {
    kill("training", 50);
}
