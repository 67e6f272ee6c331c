//! Groups of ranks.

use module_nn::{Result, Tensor};

use super::same;
use crate::{Comm, ReduceOp};

pub(super) fn split_divides(comm: &dyn Comm) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    // Even and odd ranks, in reverse order.
    let part = comm.split(rank % 2, size - rank)?;
    let members: Vec<usize> = (0..size)
        .rev()
        .filter(|other| other % 2 == rank % 2)
        .collect();
    same("the size of the part", &part.size(), &members.len())?;
    same(
        "the rank in the part",
        &members.get(part.rank()),
        &Some(&rank),
    )?;
    same(
        "the rank in the whole run",
        &part.world_rank(),
        &comm.world_rank(),
    )?;
    let found = part.all_gather(&Tensor::from(rank as i64))?;
    let found = found
        .iter()
        .map(Tensor::item::<i64>)
        .collect::<Result<Vec<_>>>()?;
    same(
        "the members",
        &found,
        &members.iter().map(|&member| member as i64).collect(),
    )?;
    // Both groups at once, on the whole and on the part.
    let whole = comm.start_all_reduce(&Tensor::from(1_i64), ReduceOp::Sum)?;
    let half = part.start_all_reduce(&Tensor::from(1_i64), ReduceOp::Sum)?;
    same(
        "the ranks in the part",
        &half.wait()?.item::<i64>()?,
        &(members.len() as i64),
    )?;
    same(
        "the ranks in the whole",
        &whole.wait()?.item::<i64>()?,
        &(size as i64),
    )?;
    // A part of a part, and a second one with the same color.
    let again = comm.split(rank % 2, rank)?;
    let alone = again.split(again.rank(), 0)?;
    same("the size of a part of one", &alone.size(), &1)?;
    alone.barrier()?;
    again.barrier()?;
    comm.barrier()
}
