//! Random programs (`golden/random_programs`) agree with PyTorch, and with themselves run in other ways: a recording, or the
//! programs in the folder `RANDOM_PROGRAMS`, which `python -m random_programs` writes for any seed.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod code;
mod program;

use module_core::Device;
use module_mirror::{Family, mirror};
use module_tests::drawn::Drawn;
use module_tests::golden;

use program::Program;

const FILE: &str = "random_programs.safetensors";

/// The recording stays small, and has enough programs.
const BYTES: u64 = 1_000_000;
const PROGRAMS: usize = 200;

#[test]
fn random_programs_agree_with_pytorch_and_with_themselves() {
    let drawn = Drawn::open("RANDOM_PROGRAMS", FILE);
    let operations = code::operations();
    // A device without fused kernels computes some results and gradients by other formulas.
    let devices = [Device::cpu(), mirror(&Family::ALL).unwrap()];
    drawn.check(PROGRAMS, |i, case| {
        for device in &devices {
            let program = Program::new(case, i, &drawn.tensors, &operations, device);
            let checked = program.check().and_then(|()| program.check_other_ways());
            checked.map_err(|text| format!("{device}: {text}\n{}", program.described()))?;
        }
        Ok(())
    });
}

#[test]
fn the_recording_is_small() {
    let size = golden::path(FILE).metadata().expect("a recording").len();
    assert!(size <= BYTES, "{size} bytes");
}
