//! Whatever a configuration says, building a layer either succeeds or returns a typed error: no panic, no abort, no endless
//! loop. A child process tries it with little memory, so that anything that would fill the memory of any machine fails
//! immediately.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod counts;
mod draw;

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::{Duration, Instant};

use draw::Draw;
use module_nn::prelude::*;
use module_tests::golden::{self, lay_out};
use module_tests::layers::{Arguments, Built, Entry, RoundTrip, find, registry};
use module_tests::processes::ran_in_a_child;
use serde_json::{Value, json};

/// The environment variable that gives a child the file for its current attempt.
const CHILD: &str = "EXTREME_ARGUMENTS_ATTEMPT";

/// The child's address space in KiB: the program's own needs, and room for small layers.
const ADDRESS_SPACE: usize = 512 << 10;

/// The child's seconds of a processor, many times those that it takes: an endless loop ends with them.
const PROCESSOR_SECONDS: usize = 240;

/// How often each layer is tried.
const ATTEMPTS: u64 = 100;

/// Building and calling a layer that fits in memory takes moments; endless loops take longer than this.
const LONGEST: Duration = Duration::from_secs(60);

/// Recorded arguments of a layer, with suitable inputs.
struct Sample {
    case: Value,
    inputs: Vec<Tensor>,
}

/// The recorded cases of each layer.
fn samples() -> BTreeMap<String, Vec<Sample>> {
    let mut samples: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    for file in golden::layer_families() {
        let (family, tensors) = golden::load(file);
        let cases = family["cases"].as_array().expect("a list of cases").iter();
        for (number, case) in cases.enumerate().filter(|(_, c)| c["dtype"] == "f32") {
            let inputs = case["inputs"].as_array().expect("a list of inputs").iter();
            let inputs = inputs.enumerate().map(|(i, input)| {
                let values = tensors.get(&format!("{number}/in/{i}")).expect("an input");
                lay_out(values, input["layout"].as_str().expect("a layout"))
            });
            let name = case["layer"].as_str().expect("a layer").to_owned();
            let (case, inputs) = (case.clone(), inputs.collect());
            samples
                .entry(name)
                .or_default()
                .push(Sample { case, inputs });
        }
    }
    samples
}

/// All arguments of the layer, including those with defaults; none for a container, which has no configuration.
fn with_defaults(entry: &Entry, kwargs: &Value) -> Option<Value> {
    match entry.round_trip(kwargs) {
        Ok(RoundTrip::Same(written)) => Some(written),
        _ => None,
    }
}

/// Builds a layer and calls it in both modes, with gradients; every step may fail but not panic.
fn attempt(entry: &Entry, kwargs: &Value, sample: &Sample) -> Result<()> {
    let built = entry.build(kwargs)?;
    let module = built.module();
    assert!(!module.tree().to_string().is_empty());
    let arguments = Arguments {
        tensors: &sample.inputs,
        positional: &sample.case["args"],
        named: &sample.case["named"],
    };
    let in_training = outputs(&*built, &arguments);
    module.eval();
    outputs(&*built, &arguments)?;
    in_training
}

fn outputs(built: &dyn Built, arguments: &Arguments<'_>) -> Result<()> {
    for output in built.run(arguments)? {
        if output.requires_grad() {
            output.sum(..)?.backward()?;
        }
    }
    Ok(())
}

#[test]
fn attempts_of_the_child() {
    let Some(file) = std::env::var_os(CHILD) else {
        return;
    };
    let (mut built, mut refused, mut problems) = (0, 0, Vec::new());
    let samples = samples();
    for entry in registry() {
        let samples = &samples[entry.name];
        let name_seed = entry.name.bytes().fold(0, |seed: u64, byte| {
            seed.wrapping_mul(31).wrapping_add(byte.into())
        });
        for round in 0..ATTEMPTS {
            let mut draw = Draw::new(name_seed ^ (round << 32));
            let sample = &samples[draw.below(samples.len())];
            let Some(mut kwargs) = with_defaults(&entry, &sample.case["kwargs"]) else {
                continue;
            };
            for _ in 0..1 + draw.below(3) {
                draw.change(&mut kwargs);
            }
            let label = format!("{} {kwargs}", entry.name);
            std::fs::write(&file, &label).expect("a file for the attempt");
            let start = Instant::now();
            let seed = || fork_rng(round, || attempt(&entry, &kwargs, sample));
            match catch_unwind(AssertUnwindSafe(seed)) {
                Ok(Ok(())) => built += 1,
                Ok(Err(error)) => {
                    assert!(!error.to_string().is_empty(), "{label}");
                    refused += 1;
                }
                Err(_) => problems.push(format!("{label} panics")),
            }
            let took = start.elapsed();
            if took > LONGEST {
                problems.push(format!("{label}: {took:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    // Otherwise the arguments would have no effect.
    assert!(
        built > 500 && refused > 500,
        "{built} built, {refused} refused"
    );
    let counts = format!("{built} built, {refused} refused");
    std::fs::write(&file, counts).expect("a file for the counts");
}

/// Runs a test of this file in a child with little memory; the child writes its current attempt to its file, and at the end
/// the number of attempts.
fn run_with_little_memory(test: &str) {
    let file = format!("extreme-arguments-{test}-{}", std::process::id());
    let file = std::env::temp_dir().join(file);
    let program = std::env::current_exe().expect("this program");
    let limited = format!(
        "ulimit -v {ADDRESS_SPACE} && ulimit -t {PROCESSOR_SECONDS} && exec \"$0\" --exact extreme_arguments::{test} --nocapture"
    );
    let output = Command::new("sh")
        .args(["-c", &limited])
        .arg(program)
        .env(CHILD, &file)
        // Threads reserve address space, which says nothing about the memory in use.
        .env("MALLOC_ARENA_MAX", "2")
        .output()
        .expect("a shell");
    let last = std::fs::read_to_string(&file).unwrap_or_default();
    let _ = std::fs::remove_file(&file);
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().rev().take(40).collect();
    assert!(
        output.status.success(),
        "{} at {last}:\n{}",
        output.status,
        said.into_iter().rev().collect::<Vec<_>>().join("\n")
    );
    assert!(last.ends_with("refused"), "{last}");
    writeln!(std::io::stderr(), "{last}").expect("stderr");
}

#[test]
fn every_layer_survives_extreme_arguments() {
    run_with_little_memory("attempts_of_the_child");
}

/// Each count is refused with an error, or works, immediately.
#[test]
fn counts_of_the_child() {
    let Some(file) = std::env::var_os(CHILD) else {
        return;
    };
    let (mut done, mut refused, mut problems) = (0, 0, Vec::new());
    let all = [(counts::REFUSED, true), (counts::ACCEPTED, false)];
    for (cases, is_refused) in all {
        for &(name, work) in cases {
            for count in counts::COUNTS {
                let label = format!("{name} of {count}");
                std::fs::write(&file, &label).expect("a file for the attempt");
                let start = Instant::now();
                let attempt = || fork_rng(0, || work(count));
                match catch_unwind(AssertUnwindSafe(attempt)) {
                    Err(_) => problems.push(format!("{label} panics")),
                    Ok(Ok(())) if is_refused => problems.push(format!("{label} is taken")),
                    Ok(Err(error)) if !is_refused => problems.push(format!("{label}: {error}")),
                    Ok(Ok(())) => done += 1,
                    Ok(Err(error)) => {
                        assert!(!error.to_string().is_empty(), "{label}");
                        refused += 1;
                    }
                }
                let took = start.elapsed();
                if took > Duration::from_secs(10) {
                    problems.push(format!("{label}: {took:?}"));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    let counts = format!("{done} done, {refused} refused");
    std::fs::write(&file, counts).expect("a file for the counts");
}

#[test]
fn counts_beyond_memory_are_refused_or_take_none() {
    run_with_little_memory("counts_of_the_child");
}

#[test]
fn errors_of_counts_name_the_count_that_is_too_large() {
    // A count that is taken ends the process.
    if ran_in_a_child("extreme_arguments::errors_of_counts_name_the_count_that_is_too_large") {
        return;
    }
    let classes = 1_usize << 36;
    let errors = [
        module_nn::metrics::ConfusionMatrixConfig::new(classes)
            .build()
            .map(|_| ()),
        module_nn::metrics::AccuracyConfig::new(classes)
            .build()
            .map(|_| ()),
    ];
    for error in errors.map(Result::unwrap_err) {
        let message = error.to_string();
        assert!(
            matches!(error.kind(), ErrorKind::Argument { .. }),
            "{message}"
        );
        assert!(
            message.contains("num_classes = 68719476736: needs "),
            "{message}"
        );
    }
}

#[test]
fn a_pass_of_endless_steps_is_refused() {
    let linear = json!({"layer": "Linear", "kwargs": {"in_features": 2, "out_features": 2}});
    let norm = |steps: u64| json!({"norm": "spectral_norm", "module": linear, "n_power_iterations": steps});
    let build = |kwargs| find("ParametrizedLinear").build(&kwargs).map(|_| ());
    build(norm(3)).unwrap();
    for steps in [0, 1 << 40] {
        // On a thread of its own, which nobody joins if it never ends.
        let (built, outcome) = std::sync::mpsc::channel();
        let kwargs = norm(steps);
        std::thread::spawn(move || built.send(build(kwargs)));
        let outcome = outcome.recv_timeout(LONGEST);
        let error = outcome.expect("the end of the loop").unwrap_err();
        let quote = format!("n_power_iterations = {steps}");
        assert!(error.to_string().contains(&quote), "{error}");
    }
}

#[test]
fn a_count_of_layers_beyond_memory_is_refused_before_the_first_is_built() {
    let huge = 4_294_967_295_u64;
    let layer = json!({"d_model": 4, "nhead": 2, "dim_feedforward": 4});
    let of = |name: &str| json!({name: layer, "num_layers": huge});
    let cases = [
        (
            "LSTM",
            json!({"input_size": 1, "hidden_size": 1, "num_layers": huge}),
        ),
        (
            "GRU",
            json!({"input_size": 1, "hidden_size": 1, "num_layers": huge, "bidirectional": true}),
        ),
        (
            "RNN",
            json!({"input_size": 1, "hidden_size": 1, "num_layers": huge, "bias": false}),
        ),
        ("TransformerEncoder", of("encoder_layer")),
        ("TransformerDecoder", of("decoder_layer")),
        (
            "Transformer",
            json!({"d_model": 4, "nhead": 2, "num_encoder_layers": huge}),
        ),
        (
            "Transformer",
            json!({"d_model": 4, "nhead": 2, "num_decoder_layers": huge}),
        ),
    ];
    for (name, kwargs) in cases {
        let entry = find(name);
        for deferring in [false, true] {
            let build = || entry.build(&kwargs).map(|_| ());
            let start = Instant::now();
            let outcome = if deferring { deferred(build) } else { build() };
            let error = outcome.expect_err(name);
            assert!(matches!(error.kind(), ErrorKind::Argument { op, .. } if *op == name));
            let message = error.to_string();
            let quotes = ["_layers = 4294967295", "parameters", "elements"];
            assert!(
                quotes.iter().all(|quote| message.contains(quote)),
                "{message}"
            );
            assert!(start.elapsed() < Duration::from_secs(5), "{name}");
        }
    }
}
