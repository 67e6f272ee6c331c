use std::time::Instant;

use module_nn::{DType, Error, Result, Tensor};

use super::Link;
use crate::{Comm, ReduceOp, Work};

/// The all-reduces that are started together.
const TOGETHER: usize = 8;

/// The bytes that are read and written before each measurement, so that no cache holds what it works on.
const CACHE: usize = 64 << 20;

/// Measures the link that all-reduces of about `bytes` bytes between the ranks of `comm` see, from the median times of small
/// ones and of those: sums and copies included. Several are started together, each with memory of its own, as in a backward
/// pass. Measure with as many ranks on a machine as the plan has, because ranks that share cores slow each other's messages
/// down. It is a collective of at least two ranks; all get the same result.
///
/// # Errors
///
/// Fewer than two ranks; less than 64 KiB; a [`RankFailure`](crate::RankFailure).
pub fn measure_link(comm: &dyn Comm, bytes: usize) -> Result<Link> {
    const FEW: usize = 2_048;
    let many = gradients("measure_link", comm, bytes)?;
    let small = all_reduce_time(comm, FEW)?;
    let large = all_reduce_time(comm, many)?;
    // 2 · (n - 1) messages of 1 / n of the bytes each.
    let ranks = comm.size();
    let messages = 2.0 * (ranks - 1) as f64;
    let part = |count: usize| 4.0 * count as f64 / ranks as f64;
    let bandwidth = messages * (part(many) - part(FEW)) / (large - small).max(1e-9);
    let latency = (small / messages - part(FEW) / bandwidth).max(0.0);
    let [latency, bandwidth] = agree(comm, [latency, bandwidth])?;
    Ok(Link { latency, bandwidth })
}

/// Measures [`Cluster::core_share`](super::Cluster::core_share) with an all-reduce of `bytes` bytes: how much longer products
/// of matrices take while it runs, divided by its time. It is a collective of at least two ranks; all get the same result.
///
/// # Errors
///
/// Those of [`measure_link`].
pub fn measure_core_share(comm: &dyn Comm, bytes: usize) -> Result<f64> {
    const SIZE: usize = 256;
    const REPEATS: usize = 21;
    let many = gradients("measure_core_share", comm, bytes)?;
    let matrix = Tensor::zeros([SIZE, SIZE], DType::F32)?;
    let products = |count: usize| (0..count).try_for_each(|_| matrix.matmul(&matrix).map(drop));
    let sending = all_reduce_time(comm, many)?;
    let product = median_time(comm, REPEATS, || products(1))?;
    let [sending, product] = agree(comm, [sending, product])?;
    // Twice as long as the all-reduces, so that all of them overlap.
    let sending = sending * TOGETHER as f64;
    let count = (2.0 * sending / product.max(1e-9)).ceil() as usize;
    let numbers = vectors(many)?;
    let alone = median_time(comm, REPEATS, || products(count))?;
    let both = median_time(comm, REPEATS, || {
        let works = start(comm, &numbers)?;
        products(count)?;
        finish(works)
    })?;
    let [delay, sending] = agree(comm, [both - alone, sending])?;
    Ok((delay / sending).clamp(0.0, 1.0))
}

/// The elements of `bytes` bytes.
fn gradients(op: &'static str, comm: &dyn Comm, bytes: usize) -> Result<usize> {
    const LEAST: usize = 1 << 16;
    if comm.size() < 2 {
        let problem = "has one rank; start at least two";
        return Err(Error::argument(op, "comm", comm.size(), problem));
    }
    if bytes < LEAST {
        return Err(Error::argument(
            op,
            "bytes",
            bytes,
            "must be at least 65536",
        ));
    }
    Ok(bytes / 4)
}

/// The seconds of one of several all-reduces of `count` numbers that are started together.
fn all_reduce_time(comm: &dyn Comm, count: usize) -> Result<f64> {
    let numbers = vectors(count)?;
    let time = median_time(comm, 31, || finish(start(comm, &numbers)?))?;
    Ok(time / TOGETHER as f64)
}

fn vectors(count: usize) -> Result<Vec<Tensor>> {
    (0..TOGETHER)
        .map(|_| Tensor::ones(count, DType::F32))
        .collect()
}

fn start(comm: &dyn Comm, numbers: &[Tensor]) -> Result<Vec<Work<Tensor>>> {
    let numbers = numbers.iter();
    numbers
        .map(|numbers| comm.start_all_reduce(numbers, ReduceOp::Mean))
        .collect()
}

fn finish(works: Vec<Work<Tensor>>) -> Result<()> {
    let means = works.into_iter().map(Work::wait);
    means.collect::<Result<Vec<_>>>().map(drop)
}

/// The median of the seconds that `run` takes, which all ranks begin together.
fn median_time(comm: &dyn Comm, repeats: usize, run: impl Fn() -> Result<()>) -> Result<f64> {
    let mut times = Vec::with_capacity(repeats);
    let other = Tensor::zeros(CACHE / 4, DType::F32)?;
    for _ in 0..repeats {
        other.add(1.0)?;
        comm.barrier()?;
        let start = Instant::now();
        run()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(repeats / 2).copied().unwrap_or(f64::NAN))
}

/// The means over the ranks.
fn agree<const N: usize>(comm: &dyn Comm, mine: [f64; N]) -> Result<[f64; N]> {
    let means = comm.all_reduce(&Tensor::from(mine), ReduceOp::Mean)?;
    let means = means.to_vec::<f64>()?.try_into();
    means.map_err(|_| Error::custom("an all-reduce has changed the number of elements"))
}
