//! Training on several ranks against training on one with the whole batch.

use std::sync::Arc;

use module_dist::{Comm, DataParallelConfig, DistributedBatchNorm};
use module_nn::prelude::*;
use module_nn::with_default_dtype;

use super::nets::{BATCH, Net};

/// Trains for some steps, and compares the gradients of every step with those of one process that has the same parameters
/// and the whole batch: each element to `tolerance` times the largest of its tensor, or times 1 if that is larger.
pub fn check<N: Net>(
    comm: &Arc<dyn Comm>,
    dtype: DType,
    steps: usize,
    tolerance: f64,
) -> Result<()> {
    with_default_dtype(dtype, || {
        let (model, whole) = (N::build()?, N::build()?);
        let norms = DistributedBatchNorm::convert(&model, comm.clone())?;
        // Small buckets, so that there are several.
        let config = DataParallelConfig::new()
            .first_bucket_bytes(1 << 10)
            .bucket_bytes(1 << 12);
        let parallel = config.check_every(7).build(&model, comm.clone())?;
        let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
        let share = BATCH / comm.size();
        let mine = comm.rank() * share..(comm.rank() + 1) * share;
        for step in 0..steps {
            let (inputs, targets) = N::batch(step)?;
            // The reference has the same parameters, so that rounding does not add up over the steps.
            let _all = whole.load_state_dict(&model.state_dict()?)?;
            whole.zero_grad();
            let expected = whole.loss(&inputs, &targets)?;
            expected.backward()?;
            model.zero_grad();
            let loss = model.loss(
                &inputs.narrow(0, mine.clone())?,
                &targets.narrow(0, mine.clone())?,
            )?;
            parallel.backward(&loss)?;
            for ((path, parameter), reference) in model.named_parameters().zip(whole.parameters()) {
                let (Some(found), Some(expected)) = (parameter.grad(), reference.grad()) else {
                    return Err(Error::custom(format!(
                        "step {step}: `{path}` has no gradient"
                    )));
                };
                let what = format!("step {step}: the gradient of `{path}`");
                compare(&what, &found, &expected, tolerance)?;
            }
            if norms > 0 {
                for ((path, buffer), reference) in model.named_buffers().zip(whole.buffers()) {
                    let what = format!("step {step}: the buffer `{path}`");
                    compare(&what, &buffer.tensor(), &reference.tensor(), tolerance)?;
                }
            }
            optimizer.step(&model)?;
        }
        Ok(())
    })
}

/// The largest difference must be within `tolerance`.
pub fn compare(what: &str, found: &Tensor, expected: &Tensor, tolerance: f64) -> Result<()> {
    let found = found.to_dtype(DType::F64)?.to_vec::<f64>()?;
    let expected = expected.to_dtype(DType::F64)?.to_vec::<f64>()?;
    let largest = expected
        .iter()
        .fold(1.0_f64, |largest, x| largest.max(x.abs()));
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        // False for NaN.
        let is_near = (a - b).abs() <= tolerance * largest;
        if !is_near {
            let text = format!(
                "{what}: element {i} is {a}, not {b}: {:e} apart",
                (a - b).abs()
            );
            return Err(Error::custom(text));
        }
    }
    match found.len() == expected.len() {
        true => Ok(()),
        false => Err(Error::custom(format!("{what}: {} elements", found.len()))),
    }
}
