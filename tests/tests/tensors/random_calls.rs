//! Random calls of operations (`golden/random_calls`) agree with PyTorch: a recording, or the calls in the folder
//! `RANDOM_CALLS`, which `python -m random_calls` writes for any seed.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod more;

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use module_core::set_num_threads;
use module_tests::golden;

use crate::peer_databases::case::Case;
use crate::peer_databases::operations;

const FILE: &str = "random_calls.safetensors";

/// The recording stays small, and has enough calls.
const BYTES: u64 = 1_500_000;
const CALLS: usize = 400;

/// The call with its arguments, to reproduce it.
fn described(case: &Case<'_>) -> String {
    let shapes = (0..).map_while(|i| case.get("in", i));
    let shapes: Vec<String> = shapes
        .map(|x| format!("{} {}", x.dtype(), x.shape()))
        .collect();
    let of = |what: &str| &case.case[what];
    let (number, args, named, views) = (of("number"), of("args"), of("named"), of("views"));
    let shapes = shapes.join(", ");
    format!(
        "number {number}: {} of {shapes}, {args} {named}, views {views}",
        case.text("op")
    )
}

#[test]
fn random_calls_agree_with_pytorch() {
    if let Ok(threads) = env::var("RANDOM_CALLS_THREADS") {
        set_num_threads(threads.parse().expect("a number of threads"));
    }
    let folder = env::var_os("RANDOM_CALLS").map(PathBuf::from);
    let is_recording = folder.is_none();
    let (cases, tensors) = golden::load(folder.unwrap_or_default().join(FILE));
    let mut operations = operations();
    operations.extend(more::OPS.iter().map(|&op| (op.0, op)));
    let (mut problems, mut counts) = (Vec::new(), BTreeMap::<&str, usize>::new());
    let cases = cases.as_array().expect("a list");
    for (i, case) in cases.iter().enumerate() {
        let case = Case {
            case,
            prefix: i.to_string(),
            tensors: &tensors,
        };
        let op = operations.get(case.text("op"));
        let op = op.unwrap_or_else(|| panic!("no line for `{}` in the tables", case.text("op")));
        *counts.entry(op.0).or_default() += 1;
        let found = case.difference(op);
        problems.extend(found.map(|difference| format!("{}: {difference}", described(&case))));
    }
    assert!(
        problems.is_empty(),
        "{} of {} differ:\n{}",
        problems.len(),
        cases.len(),
        problems.join("\n")
    );
    let enough = cases.len() >= CALLS && counts.len() > 100;
    assert!(enough || !is_recording, "{} calls: {counts:?}", cases.len());
}

#[test]
fn the_recording_is_small() {
    let size = golden::path(FILE).metadata().expect("a recording").len();
    assert!(size <= BYTES, "{size} bytes");
}
