//! Clipping of gradients that are divided.

use module_nn::optim::clip_grad_norm;
use module_nn::prelude::*;

use super::sharded::members;
use super::{Sharded, ShardingStage};
use crate::ReduceOp;

impl Sharded<'_> {
    /// Scales the gradients so that their norm, over all parameters as one vector, is at most `max_norm`, and returns the
    /// original norm: [`clip_grad_norm`] of the whole model. All ranks call it, between [`backward`](Self::backward) and
    /// [`step`](Self::step).
    ///
    /// # Errors
    ///
    /// No gradients, a `max_norm` that is negative or NaN; those of the collectives.
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::LocalComm;
    /// use module_dist::sharding::{Sharded, ShardingStage};
    /// use module_nn::prelude::*;
    ///
    /// let norms = LocalComm::run(2, |comm| {
    ///     let model = LinearConfig::new(2, 1).bias(false).build()?;
    ///     let sharded = Sharded::new(&model, comm, ShardingStage::Gradients)?;
    ///     sharded.backward(&model.call(Tensor::from([[3.0_f32, 4.0]]))?.sum(..)?)?;
    ///     sharded.clip_grad_norm(1.0)
    /// })?;
    /// assert_eq!(norms, [5.0, 5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn clip_grad_norm(&self, max_norm: f64) -> Result<f64> {
        if self.stage() == ShardingStage::OptimizerState {
            // They are whole on every rank.
            return clip_grad_norm(self.model, max_norm);
        }
        // The arguments are checked, and the gradients looked for, as in one process.
        let infinite = f64::INFINITY;
        clip_grad_norm(
            self.shards(),
            if max_norm >= 0.0 { infinite } else { max_norm },
        )?;
        let shards = || members(&self.core).map(|member| &member.shard);
        let mut sum = 0.0;
        for grad in shards().filter_map(Parameter::grad) {
            let norm = no_grad(|| grad.norm(2.0, ..))?;
            let norm: f64 = norm.to_dtype(DType::F64)?.item()?;
            sum += norm * norm;
        }
        let sum = self
            .core
            .comm
            .all_reduce(&Tensor::from(sum), ReduceOp::Sum)?;
        let total = sum.item::<f64>()?.sqrt();
        let factor = max_norm / (total + 1e-6);
        // A NaN factor reaches the gradients, as in one process.
        if factor >= 1.0 {
            return Ok(total);
        }
        for shard in shards() {
            if let Some(grad) = shard.grad() {
                shard.set_grad(no_grad(|| grad.mul(factor))?)?;
            }
        }
        Ok(total)
    }
}
