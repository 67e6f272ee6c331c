use std::fmt;

use module_core::{Error, Result, Snapshot, Stateful, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::totals::Totals;

/// One or several numbers that say how good predictions are, over all batches since the last reset.
///
/// The state is the configuration and the totals. A metric restores only a state with its own name and configuration.
///
/// # Example
///
/// ```
/// use module_nn::metrics::{MeanAbsoluteError, Metric};
/// use module_nn::prelude::*;
///
/// // What two ranks have seen, as one.
/// let (mut here, mut there) = (MeanAbsoluteError::default(), MeanAbsoluteError::default());
/// here.update(&Tensor::from([1.0_f32, 2.0]), &Tensor::from([1.0_f32, 1.0]))?;
/// there.update(&Tensor::from([5.0_f32]), &Tensor::from([0.0_f32]))?;
/// here.merge_state(&there.state()?)?;
/// assert_eq!(here.value()?, 2.0);
/// here.merge(&there)?;
/// assert_eq!(here.value()?, 2.75);
/// // The next epoch.
/// here.reset();
/// assert!(here.compute().is_err());
/// assert_eq!(here.name(), "MeanAbsoluteError");
/// # Ok::<(), Error>(())
/// ```
pub trait Metric: Stateful {
    /// The name, such as `Accuracy`.
    fn name(&self) -> &'static str;

    /// Adds a batch.
    ///
    /// # Errors
    ///
    /// Incompatible predictions and targets, unsuitable dtypes, classes that do not exist; then nothing is added.
    fn update(&mut self, preds: &Tensor, target: &Tensor) -> Result<()>;

    /// The value over all batches.
    ///
    /// # Errors
    ///
    /// No data ([`MetricError::Empty`](super::MetricError::Empty)), or too little for the metric to be defined.
    fn compute(&self) -> Result<Tensor>;

    /// The value as one number.
    ///
    /// # Errors
    ///
    /// Those of [`compute`](Self::compute); a value of several numbers.
    fn value(&self) -> Result<f64> {
        self.compute()?.item()
    }

    /// Resets the metric.
    fn reset(&mut self);

    /// Adds the data of another metric with the same configuration from its [`state`](Stateful::state), for example from
    /// another worker or rank.
    ///
    /// # Errors
    ///
    /// The state of something else; then nothing is added.
    fn merge_state(&mut self, state: &Snapshot) -> Result<()>;

    /// Adds the data of another metric with the same configuration.
    ///
    /// # Errors
    ///
    /// A different configuration; then nothing is added.
    fn merge(&mut self, other: &Self) -> Result<()>
    where
        Self: Sized,
    {
        self.merge_state(&other.state()?)
    }
}

const METRIC: &str = "metric";
const CONFIG: &str = "config";

/// The basis of [`Stateful`] and of merging.
pub(super) trait Accumulator {
    const NAME: &'static str;

    type Config: Serialize + DeserializeOwned + PartialEq + fmt::Debug;
    type Totals: Totals;

    fn parts(&self) -> (&Self::Config, &Self::Totals);

    fn snapshot(&self) -> Result<Snapshot> {
        let (config, totals) = self.parts();
        Snapshot::new(totals.tensors()?)
            .with(METRIC, &Self::NAME)?
            .with(CONFIG, config)
    }

    fn options(&self) -> Result<Snapshot> {
        Snapshot::default().with(CONFIG, self.parts().0)
    }

    /// The totals in a snapshot of the same configuration.
    fn read(&self, op: &'static str, snapshot: &Snapshot) -> Result<Self::Totals> {
        let (config, totals) = self.parts();
        let name: String = snapshot.get(METRIC)?;
        if name != Self::NAME {
            let problem = format!("this is {}; give the state of one", Self::NAME);
            return Err(Error::argument(op, METRIC, name, problem));
        }
        let saved: Self::Config = snapshot.get(CONFIG)?;
        if saved != *config {
            let problem = format!("this one has {config:?}; build both alike");
            return Err(Error::argument(
                op,
                CONFIG,
                format_args!("{saved:?}"),
                problem,
            ));
        }
        totals.read(op, snapshot.tensors())
    }
}

/// [`Stateful`] by the [`Accumulator`] whose fields are `config` and `totals`.
macro_rules! stateful {
    ($metric:ident, $config:ty, $totals:ty) => {
        impl $crate::metrics::metric::Accumulator for $metric {
            const NAME: &'static str = stringify!($metric);

            type Config = $config;
            type Totals = $totals;

            fn parts(&self) -> (&$config, &$totals) {
                (&self.config, &self.totals)
            }
        }

        /// The configuration and the totals.
        impl module_core::Stateful for $metric {
            fn state(&self) -> module_core::Result<module_core::Snapshot> {
                $crate::metrics::metric::Accumulator::snapshot(self)
            }

            fn load_state(&mut self, state: &module_core::Snapshot) -> module_core::Result<()> {
                self.totals =
                    $crate::metrics::metric::Accumulator::read(self, "load_state", state)?;
                Ok(())
            }

            fn hyperparameters(&self) -> module_core::Result<module_core::Snapshot> {
                $crate::metrics::metric::Accumulator::options(self)
            }
        }
    };
}

/// [`Metric`] by the [`Accumulator`] and the functions `add` and `result`.
macro_rules! metric {
    ($metric:ident, $config:ty, $totals:ty) => {
        $crate::metrics::metric::stateful!($metric, $config, $totals);

        impl $crate::metrics::Metric for $metric {
            fn name(&self) -> &'static str {
                stringify!($metric)
            }

            fn update(
                &mut self,
                preds: &module_core::Tensor,
                target: &module_core::Tensor,
            ) -> module_core::Result<()> {
                module_core::no_grad(|| self.add(preds, target))
            }

            fn compute(&self) -> module_core::Result<module_core::Tensor> {
                self.result()
            }

            fn reset(&mut self) {
                $crate::metrics::totals::Totals::reset(&mut self.totals);
            }

            fn merge_state(&mut self, state: &module_core::Snapshot) -> module_core::Result<()> {
                let other = $crate::metrics::metric::Accumulator::read(self, "merge_state", state)?;
                $crate::metrics::totals::Totals::merge(&mut self.totals, other)
            }
        }
    };
}

pub(super) use {metric, stateful};
