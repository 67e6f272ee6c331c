use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use module_nn::{DType, Error, Result, Tensor};

use super::{GradBucket, GradientHook};
use crate::{Comm, ReduceOp, Work};

/// Sends gradients in half precision: PyTorch's `fp16_compress_hook`. They are divided by the number of ranks first, so that
/// their sum stays in range.
#[derive(Clone, Copy, Debug, Default)]
pub struct F16Compression;

/// Sends gradients as brain floating point: PyTorch's `bf16_compress_hook`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bf16Compression;

impl GradientHook for F16Compression {
    fn start(&self, bucket: GradBucket, comm: &dyn Comm) -> Result<Work<Tensor>> {
        send_as(DType::F16, &bucket.gradients, comm)
    }
}

impl GradientHook for Bf16Compression {
    fn start(&self, bucket: GradBucket, comm: &dyn Comm) -> Result<Work<Tensor>> {
        send_as(DType::BF16, &bucket.gradients, comm)
    }
}

fn send_as(narrow: DType, gradients: &Tensor, comm: &dyn Comm) -> Result<Work<Tensor>> {
    let dtype = gradients.dtype();
    let share = gradients.div(comm.size() as f64)?.to_dtype(narrow)?;
    let work = comm.start_all_reduce(&share, ReduceOp::Sum)?;
    Ok(work.map(move |total| total.to_dtype(dtype)))
}

/// Sends only the gradients of largest magnitude, and adds the others to those of the next step.
///
/// Source: Lin et al., *Deep Gradient Compression* (2018), without its corrections of momentum. What is not sent is kept on
/// each rank and lost when training is resumed from a checkpoint.
#[derive(Debug)]
pub struct TopKCompression {
    fraction: f64,
    /// The elements that were not sent, for each bucket.
    rest: Mutex<HashMap<usize, Tensor>>,
}

impl TopKCompression {
    /// Sends this fraction of the gradients of each bucket, and at least one.
    ///
    /// # Errors
    ///
    /// A fraction that is not above 0 and at most 1.
    pub fn new(fraction: f64) -> Result<Self> {
        if !(fraction > 0.0 && fraction <= 1.0) {
            let problem = "must be above 0 and at most 1";
            return Err(Error::argument(
                "TopKCompression",
                "fraction",
                fraction,
                problem,
            ));
        }
        let rest = Mutex::default();
        Ok(Self { fraction, rest })
    }

    /// The gradients of a bucket with what earlier steps left, divided into what is sent (elements and their positions) and
    /// what is left.
    fn choose(&self, bucket: &GradBucket) -> Result<(Tensor, Tensor)> {
        let mut rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        let gradients = match rest.get(&bucket.index) {
            Some(rest) => bucket.gradients.add(rest)?,
            None => bucket.gradients.clone(),
        };
        let count = (gradients.numel() as f64 * self.fraction).ceil().max(1.0) as usize;
        let (_, positions) = gradients.abs()?.topk(count.min(gradients.numel()), 0)?;
        let values = gradients.gather(0, &positions)?;
        let left = gradients.scatter_add(0, &positions, &values.mul(-1.0)?)?;
        rest.insert(bucket.index, left);
        Ok((values, positions))
    }
}

impl GradientHook for TopKCompression {
    fn start(&self, bucket: GradBucket, comm: &dyn Comm) -> Result<Work<Tensor>> {
        let (values, positions) = self.choose(&bucket)?;
        let positions = comm.start_all_gather(&positions)?;
        let values = comm.start_all_gather(&values)?;
        let mut total = bucket.gradients.zeros_like()?;
        let ranks = comm.size() as f64;
        Ok(values.map(move |values| {
            for (values, positions) in values.iter().zip(positions.wait()?) {
                total = total.scatter_add(0, &positions, values)?;
            }
            total.div(ranks)
        }))
    }
}
