//! PyTorch's own operation database (`op_db`), run here: outputs, gradients and second derivatives, and the same refusals.
//! `golden/peer_databases.py` writes the cases, with a sample of them in the repository; `GOLDEN_PEERS=DIR` runs those in
//! another directory.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

pub(crate) mod case;
pub(crate) mod tables;

use std::collections::{BTreeMap, BTreeSet};

use case::Case;
use module_tests::golden;
use tables::TABLES;
use tables::arguments::Op;
use tables::different::{BEYOND_THE_SAMPLE, DIFFERENT};

/// The operations by each of their names.
pub(crate) fn operations() -> BTreeMap<&'static str, Op> {
    let mut operations = BTreeMap::new();
    for &op in TABLES.iter().copied().flatten() {
        for name in op.0.split(' ') {
            assert!(
                operations.insert(name, op).is_none(),
                "{name} is there twice"
            );
        }
    }
    operations
}

/// Operations whose cases are all too large for the sample.
const TOO_LARGE: [&str; 1] = ["nn.functional.ctc_loss"];

fn lists(list: &str, name: &str) -> bool {
    list == "*" || list.split(' ').any(|part| part == name)
}

/// The committed part of PyTorch's databases stays small.
#[test]
fn the_samples_of_the_databases_take_three_megabytes() {
    let files = ["peer_ops.safetensors", "layers_module_db.safetensors"];
    let sizes = files.map(|name| golden::path(name).metadata().expect("a sample").len());
    let total: u64 = sizes.iter().sum();
    assert!(total <= 3_000_000, "{sizes:?}: {total} bytes");
}

#[test]
fn operations_agree_with_pytorch() {
    let (names, everything) = golden::peers("peer_ops");
    let different = [DIFFERENT, BEYOND_THE_SAMPLE].concat();
    let (operations, mut needed, mut run) = (operations(), BTreeSet::new(), BTreeSet::new());
    let (mut count, mut problems) = (0, Vec::new());
    let mut excused: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &names {
        let (cases, tensors) = golden::load(name);
        for (i, case) in cases.as_array().expect("a list").iter().enumerate() {
            let prefix = i.to_string();
            let case = Case {
                case,
                prefix,
                tensors: &tensors,
            };
            let (name, dtype) = (case.text("op"), case.text("dtype"));
            let op = operations.get(name).expect("an operation of the tables");
            run.insert(op.0);
            count += 1;
            let Some(difference) = case.difference(op) else {
                continue;
            };
            let excuse = different.iter().position(|&(ops, dtypes, contains, _)| {
                lists(ops, name) && lists(dtypes, dtype) && difference.contains(contains)
            });
            match excuse {
                Some(excuse) => {
                    needed.insert(excuse);
                    *excused.entry(different[excuse].3).or_default() += 1;
                }
                None => {
                    let (args, named) = (&case.case["args"], &case.case["named"]);
                    problems.push(format!("{i} {name} {dtype} {args} {named}: {difference}"));
                }
            }
        }
    }
    println!("{count} cases of {} operations", run.len());
    for (reason, count) in &excused {
        println!("  {count:5} differ: {reason}");
    }
    for (name, _) in operations.values() {
        if !run.contains(name) && !TOO_LARGE.contains(name) {
            problems.push(format!("{name} has no case"));
        }
    }
    let checked = if everything {
        different.len()
    } else {
        DIFFERENT.len()
    };
    for (i, different) in different.iter().enumerate().take(checked) {
        if !needed.contains(&i) {
            problems.push(format!("nothing needs the exception {different:?}"));
        }
    }
    assert!(
        problems.is_empty(),
        "{} fail:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
