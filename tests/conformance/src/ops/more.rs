//! Powers of tensors, scalars on either side, `isclose`, splits into given sizes, draws.

use crate::golden::{Case, Tolerance};
use module_core::{Result, Scalar, Tensor, fork_rng};
use serde_json::Value;

use super::{int, ints};

pub(super) fn number(value: &Value) -> Scalar {
    match value {
        Value::Bool(value) => (*value).into(),
        value => match value.as_i64() {
            Some(value) => value.into(),
            None => value.as_f64().unwrap().into(),
        },
    }
}

/// A scalar on the left, as a literal of its type.
fn on_the_left(name: &str, number: Scalar, x: &Tensor) -> Result<Tensor> {
    match (name, number) {
        ("left_add", Scalar::Int(number)) => number + x,
        ("left_sub", Scalar::Int(number)) => number - x,
        ("left_mul", Scalar::Int(number)) => number * x,
        ("left_div", Scalar::Int(number)) => number / x,
        ("left_add", number) => number.to_f64() + x,
        ("left_sub", number) => number.to_f64() - x,
        ("left_mul", number) => number.to_f64() * x,
        (_, number) => number.to_f64() / x,
    }
}

pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let name = case.op.as_str();
    let dim = || int(&args["dim"]);
    let (out, tolerance) = match name {
        "pow_of" => (x.pow(&inputs[1]), Tolerance::ELEMENTWISE),
        "pow_whole" => (x.pow(number(&args["exponent"])), Tolerance::ELEMENTWISE),
        "left_add" | "left_sub" | "left_mul" | "left_div" => {
            let out = on_the_left(name, number(&args["number"]), x);
            (out, Tolerance::ELEMENTWISE)
        }
        "where_else" => (
            x.where_(&inputs[1], number(&args["number"])),
            Tolerance::EXACT,
        ),
        "where_then" => (
            x.where_(number(&args["number"]), &inputs[1]),
            Tolerance::EXACT,
        ),
        "where_numbers" => (
            x.where_(number(&args["a"]), number(&args["b"])),
            Tolerance::EXACT,
        ),
        "scatter_add" => (
            x.scatter_add(dim(), &inputs[1], &inputs[2]),
            Tolerance::CONTRACTION,
        ),
        "scatter" => (
            x.scatter(dim(), &inputs[1], &inputs[2]),
            Tolerance::CONTRACTION,
        ),
        "expand_to" => (x.expand(ints(&args["sizes"])), Tolerance::CONTRACTION),
        "split_with_sizes" => {
            let sizes: Vec<usize> = ints(&args["sizes"]).iter().map(|&n| n as usize).collect();
            let part = int(&args["part"]) as usize;
            let out = x.split_with_sizes(sizes, dim());
            (out.map(|parts| parts[part].clone()), Tolerance::ELEMENTWISE)
        }
        "isclose" => {
            let [rtol, atol] = ["rtol", "atol"].map(|name| args[name].as_f64().unwrap());
            let out = x.isclose(
                &inputs[1],
                module_core::Tolerance::new()
                    .rtol(rtol)
                    .atol(atol)
                    .equal_nan(args["equal_nan"] == true),
            );
            (out, Tolerance::EXACT)
        }
        "rand_like" => (fork_rng(5, || x.rand_like()), Tolerance::EXACT),
        "randn_like" => (fork_rng(5, || x.randn_like()), Tolerance::EXACT),
        _ => return None,
    };
    Some((out.map(|out| vec![out]), tolerance))
}
