//! Reductions by index, repeats, weighted draws, unique elements, counts, searches, meshgrids.

use crate::golden::{Case, Tolerance};
use module_core::{
    MeshIndexing, Result, ScatterReduce, SearchSortedOptions, Tensor, Unique, fork_rng,
};

use super::{dim_or_all, dims, int};

fn of_index(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    let (x, args) = (&inputs[0], &case.args);
    let dim = || int(&args["dim"]);
    Some(match case.op.as_str() {
        "scatter_reduce" => {
            let reduce = match args["reduce"].as_str()? {
                "sum" => ScatterReduce::Sum,
                "prod" => ScatterReduce::Prod,
                "mean" => ScatterReduce::Mean,
                "amax" => ScatterReduce::Amax,
                _ => ScatterReduce::Amin,
            };
            let include_self = args["include_self"] == true;
            either!(
                include_self,
                x,
                scatter_reduce_exclude_self / scatter_reduce,
                dim(),
                &inputs[1],
                &inputs[2],
                reduce
            )
        }
        _ => return None,
    })
}

fn counts(case: &Case, inputs: &[Tensor]) -> Option<Result<Tensor>> {
    let (x, args) = (&inputs[0], &case.args);
    let right = args["right"] == true;
    let number = |name: &str| args[name].as_u64().map(|n| n as usize);
    Some(match case.op.as_str() {
        "repeat_interleave" => x.repeat_interleave(&inputs[1], int(&args["dim"])),
        "multinomial" => {
            let (n, replacement) = (number("num_samples")?, args["replacement"] == true);
            fork_rng(5, || {
                either!(
                    replacement,
                    x,
                    multinomial / multinomial_with_replacement,
                    n
                )
            })
        }
        "bincount" => x.bincount(inputs.get(1), number("minlength")?),
        "count_nonzero" => x.count_nonzero(dims(x, args).as_slice()),
        "searchsorted" if !right && inputs.len() == 2 => x.searchsorted(&inputs[1]),
        "searchsorted" => {
            let options = SearchSortedOptions::new()
                .right(right)
                .sorter(inputs.get(2));
            x.searchsorted_with(&inputs[1], options)
        }
        "bucketize" => either!(right, x, bucketize / bucketize_right, &inputs[1]),
        "meshgrid" => {
            let indexing = match args["indexing"].as_str()? {
                "xy" => MeshIndexing::Xy,
                _ => MeshIndexing::Ij,
            };
            let all: Vec<&Tensor> = inputs.iter().collect();
            let part = number("part")?;
            Tensor::meshgrid(&all, indexing).map(|grids| grids[part].clone())
        }
        _ => return None,
    })
}

fn distinct(case: &Case, x: &Tensor) -> Option<Result<Unique>> {
    let dim = dim_or_all(&case.args["dim"]);
    Some(match case.op.as_str() {
        "unique" => x.unique(dim),
        "unique_consecutive" => x.unique_consecutive(dim),
        _ => return None,
    })
}

/// Our outputs for a case of this family and their tolerance, or `None` if the name is unknown here.
pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    if let Some(found) = distinct(case, &inputs[0]) {
        let out = found.map(|found| vec![found.values, found.inverse, found.counts]);
        return Some((out, Tolerance::EXACT));
    }
    if let Some(out) = of_index(case, inputs) {
        return Some((out.map(|out| vec![out]), Tolerance::ELEMENTWISE));
    }
    let sums = case.op == "bincount" && inputs.len() > 1;
    let tolerance = if sums {
        Tolerance::ELEMENTWISE
    } else {
        Tolerance::EXACT
    };
    Some((counts(case, inputs)?.map(|out| vec![out]), tolerance))
}
