use module_nn::metrics::Metric;
use module_nn::{Result, Snapshot, Tensor};

use crate::Comm;
use crate::comm::gather_bytes;

/// The value of a metric over the data of all ranks, on every rank. The metric itself keeps this rank's data. It is a
/// collective.
///
/// # Errors
///
/// Those of [`Metric::compute`]; metrics with different configurations; a [`RankFailure`](crate::RankFailure).
///
/// # Example
///
/// ```
/// use module_dist::{Comm, LocalComm, compute_metric};
/// use module_nn::metrics::{MeanAbsoluteError, Metric};
/// use module_nn::prelude::*;
///
/// let values = LocalComm::run(2, |comm| {
///     let mut metric = MeanAbsoluteError::default();
///     metric.update(&Tensor::from([2.0 * comm.rank() as f32]), &Tensor::from([0.0_f32]))?;
///     compute_metric(&*comm, &mut metric)?.item::<f64>()
/// })?;
/// assert_eq!(values, [1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn compute_metric(comm: &dyn Comm, metric: &mut (impl Metric + ?Sized)) -> Result<Tensor> {
    let mine = metric.state()?;
    let all = gather_bytes(comm, &mine.to_bytes()?)?;
    metric.reset();
    let mut merge = || {
        for state in &all {
            metric.merge_state(&Snapshot::from_bytes(state)?)?;
        }
        metric.compute()
    };
    let value = merge();
    metric.load_state(&mine)?;
    value
}
