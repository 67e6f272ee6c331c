use std::sync::Arc;

use module_nn::{DType, Error, Module, Result, SyncBatchNorm, Tensor, convert_sync_batchnorm};

use crate::comm::differentiable_all_reduce;
use crate::{Comm, ReduceOp};

/// Batch normalization with the statistics of all ranks: what PyTorch's `SyncBatchNorm` computes.
///
/// ```text
/// y = (x - mean) / √(var + eps) · weight + bias
/// ```
///
/// with the mean and the biased variance over the inputs of all ranks. The gradient to the input is that of the sum of all
/// ranks' losses; those to the weight and the bias are of this rank's loss, and [`DataParallel`](crate::DataParallel)
/// averages them. Half precision is computed in `F32`.
///
/// # Example
///
/// ```
/// use module_dist::{DistributedBatchNorm, LocalComm};
/// use module_nn::prelude::*;
///
/// let outputs = LocalComm::run(2, |comm| {
///     let model = BatchNorm1d::new(1)?;
///     DistributedBatchNorm::convert(&model, comm.clone())?;
///     model.call(Tensor::from([[comm.rank() as f32 * 2.0]]))?.item::<f32>()
/// })?;
/// assert!((outputs[0] + 1.0).abs() < 1e-4 && (outputs[1] - 1.0).abs() < 1e-4);
/// # Ok::<(), Error>(())
/// ```
pub struct DistributedBatchNorm {
    comm: Arc<dyn Comm>,
}

impl DistributedBatchNorm {
    /// Statistics over the ranks of a group made from `comm` for this purpose alone, so that they do not queue behind
    /// gradients. It is a collective.
    ///
    /// # Errors
    ///
    /// A [`RankFailure`](crate::RankFailure).
    pub fn new(comm: &dyn Comm) -> Result<Self> {
        let comm = comm.split(0, comm.rank())?;
        Ok(Self { comm })
    }

    /// Lets every batch normalization of a model use the statistics of all ranks, and returns how many there are. Layers and
    /// keys stay the same.
    ///
    /// # Errors
    ///
    /// A [`RankFailure`](crate::RankFailure).
    pub fn convert(model: &dyn Module, comm: Arc<dyn Comm>) -> Result<usize> {
        let sync = Arc::new(Self::new(&*comm)?);
        Ok(convert_sync_batchnorm(model, Some(sync)))
    }

    fn sum(&self, tensor: &Tensor) -> Result<Tensor> {
        differentiable_all_reduce(&self.comm, tensor)
    }
}

impl SyncBatchNorm for DistributedBatchNorm {
    fn batch_norm_train(
        &self,
        input: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        eps: f64,
    ) -> Result<(Tensor, Tensor, Tensor, usize)> {
        let x = match input.dtype() {
            DType::F16 | DType::BF16 => input.to_dtype(DType::F32)?,
            _ => input.clone(),
        };
        let channels = x.size(1)?;
        let mine = x.numel().checked_div(channels).unwrap_or(0);
        let count = self
            .comm
            .all_reduce(&Tensor::from(mine as i64), ReduceOp::Sum)?;
        let count = usize::try_from(count.item::<i64>()?).map_err(Error::custom)?;
        if count < 2 {
            let expected = "more than one value per channel on all ranks together in training";
            return Err(input.shape().error("batch_norm", expected));
        }
        // Every dimension but the channels'.
        let others: Vec<isize> = (0..x.rank() as isize).filter(|&dim| dim != 1).collect();
        let mut wide = vec![1; x.rank()];
        wide[1] = channels;
        let total = 1.0 / count as f64;
        let mean = self.sum(&x.sum(&others[..])?)?.mul(total)?;
        let centered = x.sub(&mean.reshape(&wide[..])?)?;
        let squares = centered.mul(&centered)?.sum(&others[..])?;
        let var = self.sum(&squares)?.mul(total)?;
        let mut scale = var.add(eps)?.rsqrt()?;
        if let Some(weight) = weight {
            scale = scale.mul(&weight.to_dtype(x.dtype())?)?;
        }
        let mut output = centered.mul(&scale.reshape(&wide[..])?)?;
        if let Some(bias) = bias {
            output = output.add(&bias.to_dtype(x.dtype())?.reshape(&wide[..])?)?;
        }
        let output = output.to_dtype(input.dtype())?;
        Ok((output, mean.detach(), var.detach(), count))
    }
}
