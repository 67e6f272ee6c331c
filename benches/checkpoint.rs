//! The time to open, load and save a checkpoint of 1 GiB, compared with plain copies of as many bytes.
//!
//! `cargo bench --bench checkpoint -- DIRECTORY` uses the directory for temporary files by default;
//! `python benches/peers/checkpoint.py DIRECTORY` runs this and `safetensors.torch` in turn. The files take 3 GiB there
//! during the run.

use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use module_nn::init::zeros;
use module_nn::prelude::*;

/// 64 matrices of 16 MiB.
const MATRICES: usize = 64;
const SIDE: usize = 2048;
const BYTES: usize = MATRICES * SIDE * SIDE * 4;

#[derive(Module)]
struct Model {
    weights: Vec<Parameter>,
}

impl Model {
    fn new(value: f32) -> Result<Self> {
        let weight = || Tensor::full([SIDE, SIDE], value, DType::F32);
        let weights = (0..MATRICES).map(|_| Parameter::new(weight()?));
        Ok(Self {
            weights: weights.collect::<Result<_>>()?,
        })
    }
}

/// A model without values.
fn empty() -> Result<Model> {
    deferred(|| {
        let weights = (0..MATRICES).map(|_| Parameter::with_init([SIDE, SIDE], zeros()));
        Ok(Model {
            weights: weights.collect::<Result<_>>()?,
        })
    })
}

/// Options that let tensors borrow from the file.
#[allow(unsafe_code)]
fn mapped() -> ReadOptions {
    // SAFETY: nobody else writes the files of this bench, and they are removed in the end alone.
    unsafe { ReadOptions::new().mapped() }
}

/// Prints the minimum time of several rounds; their results are dropped outside of the measurement.
fn time<T>(what: &str, mut run: impl FnMut() -> Result<T>) -> Result<()> {
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        let result = black_box(run()?);
        least = least.min(start.elapsed().as_secs_f64());
        drop(result);
        // Otherwise memory cached for tensors would make later rounds cheaper.
        Device::cpu().empty_cache();
    }
    let rate = BYTES as f64 / f64::from(1 << 30) / least;
    println!("{what:44} {:9.2} ms {rate:9.2} GiB/s", 1e3 * least);
    Ok(())
}

fn copied(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").args([from, to]).status();
    assert!(status.map_err(Error::custom)?.success());
    let sync = File::open(to).and_then(|file| file.sync_all());
    sync.map_err(Error::custom)
}

fn main() -> Result<()> {
    let mut arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    let directory = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let file = |name: &str| directory.join(format!("bench-checkpoint-{name}.safetensors"));
    let (path, saved, copy) = (file("ours"), file("saved"), file("copy"));
    Model::new(0.5)?.save(&path)?;
    let bytes = std::fs::read(&path).map_err(Error::custom)?;

    time("open, mapped", || StateDict::load_with(&path, &mapped()))?;
    time("load into a deferred model, borrowing", || {
        let model = empty()?;
        let state = StateDict::load_with(&path, &mapped())?;
        let report = model.load_state_dict(&state)?;
        Ok((model, report))
    })?;
    // In turn, because the machine's speed varies from second to second.
    for _ in 0..2 {
        time("load into a deferred model, copying", || {
            let model = empty()?;
            let report = model.load(&path)?;
            Ok((model, report))
        })?;
        time("memcpy to fresh memory", || Ok(bytes.clone()))?;
    }
    let mut warm = bytes.clone();
    time("memcpy to memory in use", || {
        warm.copy_from_slice(&bytes);
        Ok(())
    })?;
    drop((warm, bytes));

    let model = Model::new(0.25)?;
    // In turn, because the speed of disks varies from minute to minute.
    time("save", || model.save(&saved))?;
    time("cp and fsync", || copied(&path, &copy))?;
    time("save", || model.save(&saved))?;
    time("cp and fsync", || copied(&path, &copy))?;
    for path in [path, saved, copy] {
        std::fs::remove_file(path).map_err(Error::custom)?;
    }
    Ok(())
}
