//! Inspects a checkpoint: its tensors, its differences from another one, and whether it fits a model.
//!
//! ```text
//! cargo run --release --example inspect -- FILE           lists keys, shapes, dtypes, sizes, ties
//! cargo run --release --example inspect -- FILE OTHER     says what differs
//! cargo run --release --example inspect -- --check FILE   loads it into the network below
//! ```
//!
//! Without arguments it creates small files and shows all three.

use std::path::Path;
use std::process::ExitCode;

use module_nn::prelude::*;

const USAGE: &str = "usage: inspect [FILE | FILE OTHER | --check FILE]";

/// The network that files are checked against, the same as in the example `mlp`.
#[derive(Module)]
struct Mlp {
    hidden: Linear,
    head: Linear,
}

impl Mlp {
    fn new() -> Result<Self> {
        let (hidden, head) = (Linear::new(2, 16)?, Linear::new(16, 2)?);
        Ok(Self { hidden, head })
    }
}

/// `12,345,678`
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

fn list(path: &Path) -> Result<()> {
    let state = StateDict::load(path)?;
    println!("{}", path.display());
    let width = |key: &str| key.chars().count();
    let width = state.keys().map(width).max().unwrap_or_default();
    for (key, tensor) in &state {
        let bytes = grouped(tensor.nbytes());
        let (dtype, shape) = (tensor.dtype().to_string(), tensor.shape());
        println!("  {key:width$}  {dtype:8}  {bytes:>14} bytes  {shape}");
    }
    for tie in state.ties() {
        println!("  one tensor: {}", tie.join(", "));
    }
    let (count, bytes) = (state.len(), grouped(state.num_bytes()));
    println!("  {count} names, {bytes} bytes\n");
    Ok(())
}

fn diff(left: &Path, right: &Path) -> Result<()> {
    println!("{} against {}", left.display(), right.display());
    println!(
        "{}\n",
        StateDict::load(left)?.diff(&StateDict::load(right)?)?
    );
    Ok(())
}

/// Whether the file fits. A model without values is enough to find out.
fn check(path: &Path) -> Result<bool> {
    let model = deferred(Mlp::new)?;
    println!("{} for {}", path.display(), model.tree());
    match model.load(path) {
        Ok(report) => {
            println!("{report}\n");
            Ok(true)
        }
        Err(error) => {
            println!("{error}\n");
            Ok(false)
        }
    }
}

/// Files of a model, of the same model later, and of one with different keys.
fn show(directory: &Path) -> Result<()> {
    manual_seed(0);
    let file = |name: &str| directory.join(format!("inspect-{name}.safetensors"));
    let (first, later, foreign) = (file("first"), file("later"), file("foreign"));
    let model = Mlp::new()?;
    model.save(&first)?;
    model.freeze("hidden")?;
    let mut optimizer = SGD::new(&model, 0.1)?;
    model
        .head
        .call(Tensor::randn([4, 16], DType::F32)?)?
        .sum(..)?
        .backward()?;
    optimizer.step(&model)?;
    model.save(&later)?;
    let mut state = model.state_dict()?.add_prefix("module")?;
    if let Some(weight) = state.get("module.head.weight").cloned() {
        state.insert("module.decoder.weight", weight);
    }
    state.save(&foreign)?;

    list(&foreign)?;
    diff(&first, &later)?;
    let fits = [check(&later)?, check(&foreign)?];
    for path in [first, later, foreign] {
        std::fs::remove_file(path).map_err(Error::custom)?;
    }
    if fits != [true, false] {
        return Err(Error::custom("the first file fits and the second does not"));
    }
    Ok(())
}

fn run(arguments: &[String]) -> Result<bool> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => show(&std::env::temp_dir())?,
        ["--check", file] => return check(Path::new(file)),
        [option, ..] if option.starts_with('-') => return Err(Error::custom(USAGE)),
        [file] => list(Path::new(file))?,
        [left, right] => diff(Path::new(left), Path::new(right))?,
        _ => return Err(Error::custom(USAGE)),
    }
    Ok(true)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
