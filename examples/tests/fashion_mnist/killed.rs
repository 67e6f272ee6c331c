//! The training is killed again and again, and ends as one that was not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{collections::BTreeMap, fs, thread};

use module_examples::FashionMnist;
use module_nn::data::LabeledImages;
use module_nn::prelude::*;
use module_nn::{Generator, Snapshot};

#[path = "../../fashion_mnist.rs"]
#[allow(dead_code)]
mod example;

/// The environment variable that tells a child where to train.
const PLACE: &str = "FASHION_MNIST_PLACE";
/// A run takes seconds unless something hangs.
const LONGEST: Duration = Duration::from_secs(60);
/// Three batches per epoch.
pub(crate) const EPOCHS: u64 = 2;

/// Not a test but the code of the children: it does nothing unless the variable is set.
#[test]
fn child() {
    let Ok(place) = std::env::var(PLACE) else {
        return;
    };
    example::train(Path::new(&place), &few_digits(), EPOCHS, 1).unwrap();
}

/// Three training batches and fifty test images.
pub(crate) fn few_digits() -> FashionMnist {
    let mut data = FashionMnist::digits().unwrap();
    let some = |of: &LabeledImages, count| {
        let images = of.images().narrow(0, 0..count)?;
        LabeledImages::new(images, of.labels().narrow(0, 0..count)?)
    };
    data.train = some(&data.train, 3 * 128).unwrap();
    data.test = some(&data.test, 50).unwrap();
    data
}

/// A child that trains to the end, or is killed as soon as it has saved a step.
pub(crate) fn live(place: &Path, kill: bool) {
    let before = step(place);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::child", "--test-threads=1"])
        .env(PLACE, place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        let has_saved = kill && step(place) != before;
        if has_saved || begin.elapsed() > LONGEST {
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(has_saved, "a training takes longer than {LONGEST:?}");
            break None;
        }
        thread::sleep(Duration::from_millis(1));
    };
    let succeeded = status.is_none_or(|status| status.success());
    assert!(succeeded, "the training failed");
    // Otherwise, a run that makes no progress would be restarted forever.
    let after = step(place);
    let went_on = if kill {
        after > before
    } else {
        after >= before
    };
    assert!(went_on, "from step {before} to step {after}");
}

fn step(place: &Path) -> u64 {
    match place.join("checkpoint.json").exists() {
        true => TrainingCheckpoint::load(place).map_or(0, |checkpoint| checkpoint.step()),
        false => 0,
    }
}

/// The bytes of all parts of a checkpoint, saved again so that the files have the same names.
fn bytes(place: &Path) -> BTreeMap<String, Vec<u8>> {
    let again = place.join("again");
    TrainingCheckpoint::load(place)
        .unwrap()
        .save(&again)
        .unwrap();
    let files = fs::read_dir(again).unwrap().map(|file| {
        let file = file.unwrap();
        let name = file.file_name().to_string_lossy().into_owned();
        (name, fs::read(file.path()).unwrap())
    });
    files.collect()
}

pub(crate) fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("fashion-mnist-{name}-{}", std::process::id()));
    let _not_there = fs::remove_dir_all(&place);
    place
}

#[test]
fn a_killed_training_ends_with_the_same_bits() {
    let (killed, whole) = (place("killed"), place("whole"));
    live(&whole, false);
    let mut begun = Vec::new();
    while step(&killed) < 3 * EPOCHS - 1 {
        live(&killed, true);
        begun.push(step(&killed));
    }
    live(&killed, false);
    let in_an_epoch = begun.iter().filter(|step| **step % 3 != 0).count();
    assert!(in_an_epoch >= 2, "killed after the steps {begun:?}");

    let (found, expected) = (bytes(&killed), bytes(&whole));
    assert_eq!(step(&whole), 3 * EPOCHS);
    assert!(expected.len() > 7, "{:?}", expected.keys());
    for (name, expected) in &expected {
        assert!(
            found.get(name) == Some(expected),
            "{name} differs, killed after the steps {begun:?}"
        );
    }

    let svg = |place: &Path| fs::read_to_string(place.join("confusion_matrix.svg")).unwrap();
    assert_eq!(svg(&killed), svg(&whole));
    // The entries are the fifty test images.
    let svg = svg(&whole);
    let counts = svg.split("<title>true ").skip(1).map(|cell| {
        let count = cell.split([':', '(']).nth(1).unwrap();
        count.trim().parse::<u64>().unwrap()
    });
    assert_eq!(counts.sum::<u64>(), 50);

    // Every run writes an event file, and TensorBoard reads all of them as one run.
    let events = |place: &Path| fs::read_dir(place.join("log")).unwrap().count();
    assert_eq!((events(&killed), events(&whole)), (begun.len() + 1, 1));
    for file in fs::read_dir(whole.join("log")).unwrap() {
        let file = fs::read(file.unwrap().path()).unwrap();
        for tag in ["train/loss", "test/accuracy", "train/lr"] {
            let named = file
                .windows(tag.len())
                .filter(|bytes| *bytes == tag.as_bytes());
            assert!(named.count() >= EPOCHS as usize, "{tag}");
        }
    }
    fs::remove_dir_all(killed).unwrap();
    fs::remove_dir_all(whole).unwrap();
}

/// A part of a checkpoint as it is, whatever it is of.
struct Part(Snapshot);

impl Stateful for Part {
    fn state(&self) -> Result<Snapshot> {
        Ok(self.0.clone())
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        self.0 = state.clone();
        Ok(())
    }
}

#[test]
fn training_continues_with_the_generator_of_its_checkpoint() -> Result<()> {
    let place = place("generator");
    live(&place, true);
    let before = TrainingCheckpoint::load(&place)?;
    let other = Generator::new(99);
    let mut changed = TrainingCheckpoint::new(before.epoch(), before.step());
    for name in before.names() {
        changed = match name {
            "generator" => changed.with(name, &other)?,
            _ => changed.with(name, &Part(before.get(name)?.clone()))?,
        };
    }
    changed.save(&place)?;
    live(&place, false);
    let mut generator = Generator::new(0);
    TrainingCheckpoint::load(&place)?.restore("generator", &mut generator)?;
    // Nothing draws from it after the first weights.
    assert_eq!(generator.get_state(), other.get_state());
    fs::remove_dir_all(place).unwrap();
    Ok(())
}
