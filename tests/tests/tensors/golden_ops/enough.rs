//! Checks that enough was recorded of every operation, because only what is in the files is compared.

mod lists;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use module_core::{DType, StateDict, Tensor};
use module_tests::golden::{self, Case};

use lists::*;

/// The recordings of an operation.
#[derive(Clone, Default)]
struct Recorded {
    /// Shapes, dtypes and memory layouts of the inputs.
    variants: BTreeSet<String>,
    /// The other requirements that are met.
    has: BTreeSet<&'static str>,
}

impl Recorded {
    fn add(&mut self, case: &Case, tensors: &StateDict) {
        let part = |part: String| case.tensor(tensors, &part);
        let inputs: Vec<&Tensor> = (0..case.layouts.len())
            .map(|i| part(format!("in{i}")).unwrap())
            .collect();
        let kinds: Vec<String> = (inputs.iter())
            .map(|x| format!("{} {}", x.dtype(), x.shape()))
            .collect();
        self.variants
            .insert(format!("{kinds:?} {:?}", case.layouts));
        let mut has = |what, is: bool| _ = is.then(|| self.has.insert(what));
        let of = |dtype| inputs.iter().any(|x| x.dtype() == dtype);
        has(F32, of(DType::F32));
        has(F64, of(DType::F64));
        has(LAYOUT, case.layouts.iter().any(|l| l != "contiguous"));
        has(SPECIAL, inputs.iter().any(|x| is_special(x)));
        has(EMPTY, inputs[0].numel() == 0);
        has(SCALAR, inputs[0].rank() == 0);
        // Operations whose results are not floating-point have no gradient.
        let out = part("out".to_owned()).unwrap();
        let mut gradients = (0..inputs.len()).filter_map(|i| part(format!("gin{i}")));
        let floating = out.dtype().is_floating_point();
        has("floating-point result", floating);
        has(GRADIENT, gradients.any(|grad| grad.numel() > 0));
    }

    fn join(&mut self, other: &Self) {
        self.variants.extend(other.variants.iter().cloned());
        self.has.extend(&other.has);
    }

    fn missing(&self) -> Vec<String> {
        let mut wanted = vec![LAYOUT, F32, F64, SPECIAL, EMPTY, SCALAR];
        if self.has.contains("floating-point result") {
            wanted.push(GRADIENT);
        }
        wanted.retain(|what| !self.has.contains(what));
        let mut missing: Vec<String> = wanted.into_iter().map(str::to_owned).collect();
        let count = self.variants.len();
        if count < ENOUGH {
            missing.push(format!("variant beyond {count}"));
        }
        missing
    }
}

fn is_special(x: &Tensor) -> bool {
    let finite = || x.isfinite()?.all(..)?.item::<bool>();
    x.dtype().is_floating_point() && !finite().unwrap()
}

/// The recordings, by PyTorch's names.
fn recorded() -> BTreeMap<String, Recorded> {
    let mut by_name: BTreeMap<String, Recorded> = BTreeMap::new();
    for file in files(&golden::path("")) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if !name.starts_with("ops") {
            continue;
        }
        let (cases, tensors) = golden::load(name);
        for case in cases.as_array().unwrap().iter().map(Case::new) {
            let recorded = by_name.entry(case.op.clone()).or_default();
            recorded.add(&case, &tensors);
            for (suffix, argument, value) in FORMS {
                if case.args[*argument] == *value {
                    by_name.entry(format!("{}{suffix}", case.op)).or_default();
                }
            }
        }
    }
    by_name
}

/// The files in a directory and its subdirectories, except `tests`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

/// The public methods of `Tensor` in a source file, including those that a macro generates from a line `name Name;`.
fn methods(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut of_tensor, mut of_macro) = (false, false);
    for line in source.lines() {
        of_tensor = line == "impl Tensor {" || of_tensor && line != "}";
        of_macro = line == "comparisons! {" || of_macro && line != "}";
        let rest = match line.strip_prefix("    ") {
            Some(line) if of_tensor => line.strip_prefix("pub fn "),
            Some(line) if of_macro && line.ends_with(';') => Some(line),
            _ => None,
        };
        let end = |c: char| c != '_' && !c.is_alphanumeric();
        found.extend(
            rest.and_then(|rest| rest.split(end).next())
                .map(str::to_owned),
        );
    }
    found
}

/// The public methods of `Tensor` in all of the operations.
fn operations() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../module-tensor/src/ops");
    let sources = files(&folder).into_iter().map(fs::read_to_string);
    let all: BTreeSet<String> = sources
        .flat_map(|source| methods(&source.unwrap()))
        .collect();
    // If the scan sees nothing, nothing is missing.
    assert!(all.len() > 200, "{all:?}");
    all
}

/// Whether these tests call the method.
fn is_called(sources: &str, method: &str) -> bool {
    let forms = [
        format!(".{method}("),
        format!(".{method}::<"),
        format!("Tensor::{method}("),
        // In `either!`.
        format!(" {method} / "),
        format!(" / {method},"),
        format!(" / {method})"),
        format!(" / {method}\n"),
    ];
    forms.iter().any(|form| sources.contains(form))
}

/// The source files that make the recorded calls.
fn tests() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/src/ops");
    let sources = files(&folder).into_iter().map(fs::read_to_string);
    sources.map(|source| source.unwrap()).collect()
}

/// The requirements that one operation misses, and table entries that it does not need.
fn missing(
    name: &str,
    recorded: &BTreeMap<String, Recorded>,
    tests: &str,
    problems: &mut Vec<String>,
) -> Vec<String> {
    let mut all = recorded.get(name).cloned().unwrap_or_default();
    if let Some((_, why)) = NOTHING.iter().find(|(of, _)| *of == name) {
        if !all.variants.is_empty() {
            problems.push(format!("{name}: something is recorded, though {why}"));
        }
        return Vec::new();
    }
    if FORMS.iter().any(|(suffix, ..)| name.ends_with(suffix)) {
        let mut missing = Vec::new();
        if !recorded.contains_key(name) {
            missing.push("recorded call".to_owned());
        }
        if !is_called(tests, name) {
            missing.push(CALL.to_owned());
        }
        return missing;
    }
    let Some((_, others, why)) = RECORDED_AS.iter().find(|(of, ..)| *of == name) else {
        let mut missing = all.missing();
        if !is_called(tests, name) {
            missing.push(CALL.to_owned());
        }
        return missing;
    };
    if all.missing().is_empty() {
        problems.push(format!("{name}: enough is recorded, though {why}"));
    }
    for other in *others {
        match recorded.get(*other) {
            Some(recorded) => all.join(recorded),
            None => problems.push(format!("{name}: nothing is recorded as {other}")),
        }
    }
    all.missing()
}

#[test]
fn enough_was_recorded_of_every_operation() {
    let (operations, recorded, tests) = (operations(), recorded(), tests());
    let (mut problems, mut needed) = (Vec::new(), BTreeSet::new());
    for name in operations.iter().map(String::as_str) {
        for what in missing(name, &recorded, &tests, &mut problems) {
            let mut excepted = EXCEPTIONS.iter().filter(|(names, which, _)| {
                names.split(' ').any(|of| of == name) && *which == what
            });
            match excepted.next() {
                Some((_, which, _)) => _ = needed.insert((name, *which)),
                None => problems.push(format!("{name}: no {what}")),
            }
        }
    }
    for (names, what, why) in EXCEPTIONS {
        let unneeded = names
            .split(' ')
            .filter(|&name| !needed.contains(&(name, *what)));
        problems.extend(
            unneeded.map(|name| format!("{name}: `no {what}` excepts nothing, though {why}")),
        );
    }
    let listed = RECORDED_AS.iter().map(|(name, ..)| name);
    let listed = listed.chain(NOTHING.iter().map(|(name, _)| name));
    let gone = listed.filter(|name| !operations.contains(**name));
    problems.extend(gone.map(|name| format!("{name}: there is no such operation")));
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
