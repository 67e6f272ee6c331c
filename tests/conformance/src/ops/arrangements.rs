//! Rearrangements and parts of tensors, vector products, additions by index.

use crate::golden::{Case, Tolerance};
use module_core::{Result, Tensor};

use super::{int, ints};

/// The recorded part; checks that the number of parts matches.
fn part(parts: Result<Vec<Tensor>>, case: &Case) -> Result<Tensor> {
    let parts = parts?;
    if let Some(count) = case.args["count"].as_u64() {
        assert_eq!(parts.len() as u64, count, "{}", case.key);
    }
    Ok(parts[case.args["part"].as_u64().unwrap() as usize].clone())
}

/// Our outputs for a case of this family and their tolerance, or `None` if the name is unknown here.
pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let count = |name: &str| args[name].as_u64().unwrap() as usize;
    let (out, tolerance) = match case.op.as_str() {
        "flip" => (x.flip(ints(&args["dims"]).as_slice()), Tolerance::EXACT),
        "roll" => (
            match args["dims"].is_array() {
                true => x.roll(ints(&args["shifts"]), ints(&args["dims"])),
                false => x.roll(int(&args["shifts"]), int(&args["dims"])),
            },
            Tolerance::EXACT,
        ),
        "tril" => (x.tril(args["diagonal"].as_i64().unwrap()), Tolerance::EXACT),
        "triu" => (x.triu(args["diagonal"].as_i64().unwrap()), Tolerance::EXACT),
        "split" => (
            part(x.split(count("size"), int(&args["dim"])), case),
            Tolerance::EXACT,
        ),
        "chunk" => (
            part(x.chunk(count("chunks"), int(&args["dim"])), case),
            Tolerance::EXACT,
        ),
        "dot" => (x.dot(&inputs[1]), Tolerance::CONTRACTION),
        "outer" => (x.outer(&inputs[1]), Tolerance::CONTRACTION),
        "index_add" => (
            x.index_add(int(&args["dim"]), &inputs[1], &inputs[2]),
            Tolerance::CONTRACTION,
        ),
        "one_hot" => (x.one_hot(count("num_classes")), Tolerance::EXACT),
        _ => return None,
    };
    Some((out.map(|out| vec![out]), tolerance))
}
