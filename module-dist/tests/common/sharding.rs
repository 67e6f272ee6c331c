//! Sharded training against training in one process with the whole batch.

use std::sync::Arc;

use module_dist::Comm;
use module_dist::sharding::{Sharded, ShardingStage};
use module_nn::prelude::*;
use module_nn::with_default_dtype;

use super::equality::compare;
use super::nets::{BATCH, Net};

pub const STAGES: [ShardingStage; 3] = [
    ShardingStage::OptimizerState,
    ShardingStage::Gradients,
    ShardingStage::Parameters,
];

/// This rank's part of a batch.
pub fn own_part(batch: &Tensor, comm: &dyn Comm) -> Result<Tensor> {
    let share = BATCH / comm.size();
    batch.narrow(0, comm.rank() * share..(comm.rank() + 1) * share)
}

/// The gradient of each parameter, whole, on every rank.
pub fn whole_grads(
    sharded: &Sharded<'_>,
    model: &dyn Module,
    comm: &dyn Comm,
) -> Result<Vec<(String, Option<Tensor>)>> {
    let mut grads = Vec::new();
    for ((path, parameter), shard) in model.named_parameters().zip(sharded.shards().parameters()) {
        let grad = match (sharded.stage(), shard.grad()) {
            (ShardingStage::OptimizerState, _) => parameter.grad(),
            (_, None) => None,
            (_, Some(part)) => {
                let parts = Tensor::cat(&comm.all_gather(&part)?, 0)?;
                let elements = parts.narrow(0, 0..parameter.numel())?;
                Some(elements.reshape(parameter.shape())?)
            }
        };
        grads.push((path, grad));
    }
    Ok(grads)
}

/// Trains for some steps, and compares each with one process that starts it with the same parameters and optimizer state:
/// the gradients of the whole batch to `tolerance`, relative to the largest element or to 1, and the parameters after the
/// step bit for bit, because the optimizer of one process is given the same gradients.
pub fn check<N: Net>(
    comm: &Arc<dyn Comm>,
    stage: ShardingStage,
    dtype: DType,
    steps: usize,
    tolerance: f64,
) -> Result<()> {
    with_default_dtype(dtype, || {
        let (model, whole) = (N::build()?, N::build()?);
        let sharded = Sharded::new(&model, comm.clone(), stage)?;
        let config = AdamWConfig::new(1e-3).group("**.bias", |it| it.weight_decay(0.0));
        let mut optimizer = config.build(sharded.shards())?;
        let mut reference = config.build(&whole)?;
        for step in 0..steps {
            let (inputs, targets) = N::batch(step)?;
            let _all = whole.load_state_dict(&sharded.state_dict()?)?;
            reference.load_state(&sharded.optimizer_state(&optimizer)?)?;
            whole.zero_grad();
            whole.loss(&inputs, &targets)?.backward()?;
            sharded.zero_grad();
            let loss = model.loss(&own_part(&inputs, &**comm)?, &own_part(&targets, &**comm)?)?;
            sharded.backward(&loss)?;
            let grads = whole_grads(&sharded, &model, &**comm)?;
            for ((path, found), expected) in grads.into_iter().zip(whole.parameters()) {
                let (Some(found), Some(reference)) = (found, expected.grad()) else {
                    return Err(Error::custom(format!(
                        "step {step}: `{path}` has no gradient"
                    )));
                };
                let what = format!("step {step}: the gradient of `{path}`");
                compare(&what, &found, &reference, tolerance)?;
                expected.set_grad(found)?;
            }
            reference.step(&whole)?;
            sharded.step(&mut optimizer)?;
            same_bits(
                &format!("step {step}"),
                &sharded.state_dict()?,
                &whole.state_dict()?,
            )?;
        }
        Ok(())
    })
}

/// Checks that two state dicts have the same keys and bits.
pub fn same_bits(what: &str, found: &StateDict, expected: &StateDict) -> Result<()> {
    if !found.keys().eq(expected.keys()) {
        let (found, expected) = (
            found.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
        );
        return Err(Error::custom(format!(
            "{what}: keys {found:?}, not {expected:?}"
        )));
    }
    for ((key, found), (_, expected)) in found.iter().zip(expected) {
        let same = found.shape() == expected.shape()
            && found.to_host()?.to_le_bytes() == expected.to_host()?.to_le_bytes();
        if !same {
            return Err(Error::custom(format!("{what}: `{key}` has other bits")));
        }
    }
    Ok(())
}

/// Trains on this rank's part of each batch.
pub fn train<N: Net>(
    sharded: &Sharded<'_>,
    model: &N,
    optimizer: &mut dyn Optimizer,
    comm: &dyn Comm,
    steps: std::ops::Range<usize>,
) -> Result<()> {
    for step in steps {
        let (inputs, targets) = N::batch(step)?;
        let share = BATCH / comm.size();
        let own = comm.rank() * share..(comm.rank() + 1) * share;
        let loss = model.loss(&inputs.narrow(0, own.clone())?, &targets.narrow(0, own)?)?;
        sharded.backward(&loss)?;
        sharded.step(optimizer)?;
        sharded.zero_grad();
    }
    Ok(())
}
