use std::time::Instant;

use module_nn::{DType, Error, Result, Tensor};

use super::Link;
use crate::{Comm, ReduceOp};

/// Measures the link that all-reduces between the ranks of `comm` see, from the median times of small and of large ones:
/// sums and copies included. It is a collective of at least two ranks; all get the same result.
///
/// # Errors
///
/// Fewer than two ranks; a [`RankFailure`](crate::RankFailure).
pub fn measure_link(comm: &dyn Comm) -> Result<Link> {
    const FEW: usize = 2_048;
    const MANY: usize = 4 << 20;
    let ranks = comm.size();
    if ranks < 2 {
        let problem = "has one rank; start at least two";
        return Err(Error::argument("measure_link", "comm", ranks, problem));
    }
    let small = median_all_reduce(comm, FEW, 51)?;
    let large = median_all_reduce(comm, MANY, 11)?;
    // 2 · (n - 1) messages of 1 / n of the bytes each.
    let messages = 2.0 * (ranks - 1) as f64;
    let bytes = |count: usize| 4.0 * count as f64 / ranks as f64;
    let bandwidth = messages * (bytes(MANY) - bytes(FEW)) / (large - small).max(1e-9);
    let latency = (small / messages - bytes(FEW) / bandwidth).max(0.0);
    let mine = Tensor::from([latency, bandwidth]);
    let agreed = comm.all_reduce(&mine, ReduceOp::Mean)?.to_vec::<f64>()?;
    match agreed[..] {
        [latency, bandwidth] => Ok(Link { latency, bandwidth }),
        _ => Err(Error::custom(
            "an all-reduce has changed the number of elements",
        )),
    }
}

/// The median time of an all-reduce of `count` numbers.
fn median_all_reduce(comm: &dyn Comm, count: usize, repeats: usize) -> Result<f64> {
    let numbers = Tensor::zeros(count, DType::F32)?;
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        comm.barrier()?;
        let start = Instant::now();
        comm.all_reduce(&numbers, ReduceOp::Sum)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(repeats / 2).copied().unwrap_or(f64::NAN))
}
