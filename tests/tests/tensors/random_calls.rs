//! Random calls of operations (`golden/random_calls`) agree with PyTorch: a recording, or the calls in the folder
//! `RANDOM_CALLS`, which `python -m random_calls` writes for any seed.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod more;

use std::collections::BTreeMap;

use module_tests::drawn::Drawn;
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
    let drawn = Drawn::open("RANDOM_CALLS", FILE);
    let mut operations = operations();
    operations.extend(more::OPS.iter().map(|&op| (op.0, op)));
    let mut counts = BTreeMap::<&str, usize>::new();
    drawn.check(CALLS, |i, case| {
        let case = Case {
            case,
            prefix: i.to_string(),
            tensors: &drawn.tensors,
        };
        let op = operations.get(case.text("op"));
        let op = op.unwrap_or_else(|| panic!("no line for `{}` in the tables", case.text("op")));
        *counts.entry(op.0).or_default() += 1;
        let difference = case.difference(op);
        difference.map_or(Ok(()), |text| Err(format!("{}: {text}", described(&case))))
    });
    assert!(
        counts.len() > 100 || drawn.cases.len() < CALLS,
        "{counts:?}"
    );
}

#[test]
fn the_recording_is_small() {
    let size = golden::path(FILE).metadata().expect("a recording").len();
    assert!(size <= BYTES, "{size} bytes");
}
