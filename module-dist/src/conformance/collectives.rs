use module_nn::backend::HostData;
use module_nn::{DType, Result, Tensor};

use super::{holds, same};
use crate::{Comm, ReduceOp};

const OPS: [ReduceOp; 4] = [ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Min];

/// Small integers, which every dtype holds exactly, as do their sums: element `i` of rank `rank`.
fn number(rank: usize, i: usize) -> f64 {
    ((rank * 5 + i * 3) % 7) as f64
}

fn numbers(rank: usize, count: usize, dtype: DType) -> Result<Tensor> {
    let values: Vec<f64> = (0..count).map(|i| number(rank, i)).collect();
    Tensor::from(values).to_dtype(dtype)
}

/// The result of `op` on element `i` of all ranks.
fn combined(op: ReduceOp, size: usize, i: usize) -> f64 {
    let all = (0..size).map(|rank| number(rank, i));
    match op {
        ReduceOp::Sum => all.sum(),
        ReduceOp::Mean => all.sum::<f64>() / size as f64,
        ReduceOp::Max => all.fold(f64::NEG_INFINITY, f64::max),
        ReduceOp::Min => all.fold(f64::INFINITY, f64::min),
    }
}

pub(super) fn all_reduce_combines(comm: &dyn Comm) -> Result<()> {
    const COUNT: usize = 10;
    let floats = [DType::F32, DType::F64, DType::F16, DType::BF16];
    for dtype in floats
        .into_iter()
        .chain([DType::I64, DType::I32, DType::U8])
    {
        for op in OPS {
            if op == ReduceOp::Mean && !dtype.is_floating_point() {
                continue;
            }
            let found = comm.all_reduce(&numbers(comm.rank(), COUNT, dtype)?, op)?;
            same("the dtype", &found.dtype(), &dtype)?;
            let expected: Vec<f64> = (0..COUNT).map(|i| combined(op, comm.size(), i)).collect();
            let expected = Tensor::from(expected).to_dtype(dtype)?;
            let (found, expected) = (found.to_dtype(DType::F64)?, expected.to_dtype(DType::F64)?);
            let what = format!("{op} of {dtype}");
            same(&what, &found.to_vec::<f64>()?, &expected.to_vec::<f64>()?)?;
        }
    }
    let mine = Tensor::from([comm.rank() == 0, true, false]);
    let found = comm.all_reduce(&mine, ReduceOp::Max)?.to_vec::<bool>()?;
    same("the maximum of booleans", &found, &vec![true, true, false])?;
    let found = comm.all_reduce(&mine, ReduceOp::Min)?.to_vec::<bool>()?;
    same(
        "the minimum of booleans",
        &found,
        &vec![comm.size() == 1, true, false],
    )
}

pub(super) fn all_reduce_of_every_size(comm: &dyn Comm) -> Result<()> {
    for count in [0, 1, 2, 1023, 1024, 1025, 5003, 100_000] {
        let found = comm.all_reduce(&numbers(comm.rank(), count, DType::F64)?, ReduceOp::Sum)?;
        let expected: Vec<f64> = (0..count)
            .map(|i| combined(ReduceOp::Sum, comm.size(), i))
            .collect();
        holds(
            &format!("the sum of {count} elements"),
            found.to_vec::<f64>()? == expected,
        )?;
    }
    let scalar = comm.all_reduce(&Tensor::from(2.0_f32), ReduceOp::Mean)?;
    same("the shape of a scalar", &scalar.rank(), &0)?;
    // Columns of a matrix are not contiguous.
    let matrix = numbers(comm.rank(), 6, DType::F32)?.reshape([2, 3])?.t()?;
    let found = comm.all_reduce(&matrix.with_grad()?, ReduceOp::Sum)?;
    same("the shape", &found.shape().to_vec(), &vec![3, 2])?;
    holds("results are untracked", !found.requires_grad())?;
    let expected = [0, 3, 1, 4, 2, 5].map(|i| combined(ReduceOp::Sum, comm.size(), i) as f32);
    same(
        "the sum of a transposed matrix",
        &found.to_vec::<f32>()?,
        &expected.to_vec(),
    )
}

/// Numbers whose sum depends on the order: a large one, and others that vanish beside it.
fn sensitive(rank: usize, count: usize) -> Vec<f32> {
    let of = |i: usize| match (rank + i) % 3 {
        0 => 1e8,
        1 => 1.0 + i as f32,
        _ => -1e8,
    };
    (0..count).map(of).collect()
}

pub(super) fn sums_follow_the_ranks(comm: &dyn Comm) -> Result<()> {
    for count in [7, 5000] {
        let mine = Tensor::from(sensitive(comm.rank(), count));
        let found = comm.all_reduce(&mine, ReduceOp::Sum)?.to_vec::<f32>()?;
        let mut expected = sensitive(0, count);
        for rank in 1..comm.size() {
            for (total, more) in expected.iter_mut().zip(sensitive(rank, count)) {
                *total += more;
            }
        }
        holds(&format!("the sum of {count} elements"), found == expected)?;
    }
    Ok(())
}

pub(super) fn bits_are_the_same(comm: &dyn Comm) -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let mine: Vec<f64> = (0..3000)
            .map(|i| ((i * (comm.rank() + 3)) as f64).sin())
            .collect();
        let mine = Tensor::from(mine).to_dtype(dtype)?;
        let mean = comm.all_reduce(&mine, ReduceOp::Mean)?;
        for theirs in comm.all_gather(&mean)? {
            holds(
                &format!("a mean of {dtype}"),
                theirs.as_le_bytes() == mean.as_le_bytes(),
            )?;
        }
    }
    Ok(())
}

pub(super) fn reduce_scatter_divides(comm: &dyn Comm) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let all = numbers(rank, 6 * size, DType::F32)?.reshape([2 * size, 3])?;
    for op in OPS {
        let found = comm.reduce_scatter(&all, op)?;
        same("the shape", &found.shape().to_vec(), &vec![2, 3])?;
        let expected = (0..6)
            .map(|i| combined(op, size, rank * 6 + i) as f32)
            .collect();
        same(&op.to_string(), &found.to_vec::<f32>()?, &expected)?;
    }
    if size > 1 {
        holds(
            "rows that do not divide",
            comm.reduce_scatter(&all.narrow(0, 1..2 * size)?, ReduceOp::Sum)
                .is_err(),
        )?;
    }
    holds(
        "a scalar",
        comm.reduce_scatter(&Tensor::from(1.0_f32), ReduceOp::Sum)
            .is_err(),
    )
}

pub(super) fn all_gather_keeps_bits(comm: &dyn Comm) -> Result<()> {
    for dtype in DType::ALL {
        let of = |rank: usize| {
            let width = 4 * dtype.size_in_bytes();
            // Booleans are 0 and 1; for all others every byte is one of some element, NaN included.
            let byte = |i: usize| match dtype {
                DType::Bool => ((rank + i) % 2) as u8,
                _ => (250 + rank * 31 + i * 7) as u8,
            };
            (0..width).map(byte).collect::<Vec<u8>>()
        };
        let mine = HostData::from_le_bytes(dtype, &of(comm.rank()));
        let gathered = comm.all_gather(&Tensor::from_host(mine, [2, 2])?)?;
        same("the number of tensors", &gathered.len(), &comm.size())?;
        for (rank, tensor) in gathered.iter().enumerate() {
            same("the dtype", &tensor.dtype(), &dtype)?;
            same("the shape", &tensor.shape().to_vec(), &vec![2, 2])?;
            same(
                &format!("{dtype} of rank {rank}"),
                &tensor.to_host()?.to_le_bytes(),
                &of(rank),
            )?;
        }
    }
    Ok(())
}

pub(super) fn all_gather_of_different_shapes(comm: &dyn Comm) -> Result<()> {
    let gathered = comm.all_gather(&numbers(comm.rank(), comm.rank(), DType::F32)?)?;
    for (rank, tensor) in gathered.iter().enumerate() {
        let expected: Vec<f32> = (0..rank).map(|i| number(rank, i) as f32).collect();
        same(
            &format!("the tensor of rank {rank}"),
            &tensor.to_vec::<f32>()?,
            &expected,
        )?;
    }
    Ok(())
}

pub(super) fn broadcast_from_each_rank(comm: &dyn Comm) -> Result<()> {
    for root in 0..comm.size() {
        for count in [1, 20_000] {
            let found = comm.broadcast(&numbers(comm.rank(), count, DType::F32)?, root)?;
            let expected = numbers(root, count, DType::F32)?;
            holds(
                &format!("{count} elements of rank {root}"),
                found.to_vec::<f32>()? == expected.to_vec::<f32>()?,
            )?;
        }
    }
    Ok(())
}

pub(super) fn barrier_waits(comm: &dyn Comm) -> Result<()> {
    // What was sent before the barrier has arrived after it.
    let tag = 77;
    if comm.rank() == 0 {
        for to in 1..comm.size() {
            comm.send(&Tensor::from(1_i64), to, tag)?;
        }
        return comm.barrier();
    }
    let mut receiving = comm.start_receive(0, tag)?;
    comm.barrier()?;
    holds("a tensor sent before the barrier", receiving.is_finished())?;
    same("its value", &receiving.wait()?.item::<i64>()?, &1)
}

pub(super) fn collectives_in_flight(comm: &dyn Comm) -> Result<()> {
    let mine = numbers(comm.rank(), 3000, DType::F64)?;
    let sum = comm.start_all_reduce(&mine, ReduceOp::Sum)?;
    let gathered = comm.start_all_gather(&mine)?;
    let barrier = comm.start_barrier()?;
    let maximum = comm.start_all_reduce(&mine, ReduceOp::Max)?;
    // Waited for in another order.
    let maximum = maximum.wait()?.to_vec::<f64>()?;
    barrier.wait()?;
    let sum = sum.wait()?.to_vec::<f64>()?;
    let all = 0..3000;
    let expected = |op| {
        all.clone()
            .map(|i| combined(op, comm.size(), i))
            .collect::<Vec<_>>()
    };
    holds("the sum", sum == expected(ReduceOp::Sum))?;
    holds("the maximum", maximum == expected(ReduceOp::Max))?;
    same(
        "the gathered tensors",
        &gathered.wait()?.len(),
        &comm.size(),
    )
}

pub(super) fn wrong_arguments_are_refused(comm: &dyn Comm) -> Result<()> {
    let size = comm.size();
    let x = Tensor::from([1.0_f32]);
    holds(
        "a root that is not a rank",
        comm.broadcast(&x, size).is_err(),
    )?;
    holds(
        "a mean of integers",
        comm.all_reduce(&Tensor::from([1_i64]), ReduceOp::Mean)
            .is_err(),
    )?;
    holds(
        "a sum of int8",
        comm.all_reduce(&Tensor::from([1_i8]), ReduceOp::Sum)
            .is_err(),
    )?;
    holds(
        "a destination that is not a rank",
        comm.send(&x, size, 0).is_err(),
    )?;
    holds("a send to itself", comm.send(&x, comm.rank(), 0).is_err())?;
    holds(
        "a receive from itself",
        comm.receive(comm.rank(), 0).is_err(),
    )?;
    holds("no failure", comm.failure().is_none())?;
    comm.barrier()
}
