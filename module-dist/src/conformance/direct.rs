//! Sends and receives between two ranks.

use module_nn::{Result, Tensor};

use super::{holds, same};
use crate::Comm;

pub(super) fn ring(comm: &dyn Comm) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    if size == 1 {
        return Ok(());
    }
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    // Everyone waits before anyone sends.
    let receiving = comm.start_receive(previous, 0)?;
    comm.start_send(&Tensor::from([rank as i64, 7]), next, 0)?
        .wait()?;
    let found = receiving.wait()?.to_vec::<i64>()?;
    same(
        "what the previous rank sent",
        &found,
        &vec![previous as i64, 7],
    )
}

pub(super) fn tags_and_order(comm: &dyn Comm) -> Result<()> {
    let last = comm.size() - 1;
    if last == 0 {
        return Ok(());
    }
    if comm.rank() == 0 {
        comm.send(&Tensor::from(1_i64), last, 1)?;
        comm.send(&Tensor::from(2_i64), last, 1)?;
        comm.send(&Tensor::from([0.5_f32, 1.5]), last, 2)?;
    }
    if comm.rank() == last {
        let tagged = comm.receive(0, 2)?;
        same(
            "the tensor with tag 2",
            &tagged.to_vec::<f32>()?,
            &vec![0.5, 1.5],
        )?;
        let (first, second) = (comm.receive(0, 1)?, comm.receive(0, 1)?);
        let found = [first.item::<i64>()?, second.item::<i64>()?];
        same("two tensors with one tag", &found, &[1, 2])?;
    }
    comm.barrier()
}

pub(super) fn large_messages_both_ways(comm: &dyn Comm) -> Result<()> {
    const COUNT: usize = 1 << 20;
    let (rank, size) = (comm.rank(), comm.size());
    let of = |from: usize, to: usize| (0..COUNT).map(move |i| (i * 3 + from * 10 + to) as f32);
    let others = || (0..size).filter(|&other| other != rank);
    for to in others() {
        comm.send(&Tensor::from(of(rank, to).collect::<Vec<_>>()), to, 5)?;
    }
    for from in others() {
        let found = comm.receive(from, 5)?.to_vec::<f32>()?;
        holds(
            &format!("4 MB from rank {from}"),
            found.into_iter().eq(of(from, rank)),
        )?;
    }
    Ok(())
}
