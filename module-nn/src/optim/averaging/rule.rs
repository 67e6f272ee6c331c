use module_core::{Module, Result, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::AveragedModel;

/// The formula of an average and its options: all that an average of your own needs, PyTorch's `avg_fn`.
///
/// [`build`](Self::build) makes an average of a model of it, with checkpoints and all checks ([`AveragedModel`]).
/// The options are saved with the state, so they are `Serialize` and `Deserialize`.
///
/// # Example
///
/// The greatest value that each element ever had:
///
/// ```
/// use module_nn::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Greatest;
///
/// impl AveragingRule for Greatest {
///     const NAME: &'static str = "Greatest";
///
///     fn average(&self, averaged: &Tensor, value: &Tensor, _: u64) -> Result<Tensor> {
///         averaged.maximum(value)
///     }
/// }
///
/// let model = [Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
/// let mut greatest = Greatest.build(&model)?;
/// greatest.update(&model)?;
/// model[0].set(Tensor::from([3.0_f32, 0.0]))?;
/// greatest.update(&model)?;
/// assert_eq!(greatest.state_dict().get("0").unwrap().to_vec::<f32>()?, [3.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
pub trait AveragingRule: Clone + Serialize + DeserializeOwned {
    /// The name of the average, which is saved with its state: a state is loaded only by an average of this name.
    const NAME: &'static str;

    /// Refuses options outside their ranges. It is asked before an average is built or loaded.
    ///
    /// # Errors
    ///
    /// The option, its value and its range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Whether buffers are averaged too. Otherwise they are the model's at the last update.
    fn use_buffers(&self) -> bool {
        false
    }

    /// The next average of a tensor, of the one so far and the model's value, when `n_averaged` updates, at least
    /// one, have gone into it. The result is cast to the dtype of the average. Nothing is tracked.
    ///
    /// # Errors
    ///
    /// Whatever the computation raises.
    fn average(&self, averaged: &Tensor, value: &Tensor, n_averaged: u64) -> Result<Tensor>;

    /// The average of a model, which begins with the values that it has at the first update.
    ///
    /// # Errors
    ///
    /// Options that [`check`](Self::check) refuses; parameters without values yet.
    fn build(&self, model: &dyn Module) -> Result<AveragedModel<Self>> {
        self.check()?;
        AveragedModel::of(self.clone(), model)
    }
}
