//! A formula of an average, and the list of tensors that it averages.

use std::collections::HashMap;

use module_core::{ErrorKind, Module, ModuleExt, Result, StateDict, SwappedState, Tensor, no_grad};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::AveragingError;
use super::tensors::{Kept, Role, Tensors};

/// The formula of an average and its options: everything that a custom average needs, like PyTorch's `avg_fn`.
///
/// [`build`](Self::build) makes the average of a model from it, with checkpoints and all checks ([`AveragedModel`]). The
/// options are saved with the state, so they are `Serialize` and `Deserialize`.
///
/// # Example
///
/// The maximum value that each element ever had:
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
///     // No options to check, and running statistics are averaged too.
///     fn check(&self) -> Result<()> {
///         Ok(())
///     }
///
///     fn use_buffers(&self) -> bool {
///         true
///     }
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

    /// Refuses options outside their ranges. Called before an average is built or loaded.
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

    /// The next average of a tensor, from the current one and the model's value, after `n_averaged` updates, at least one.
    /// The result is cast to the dtype of the average. Nothing is tracked.
    ///
    /// # Errors
    ///
    /// Any error of the computation.
    fn average(&self, averaged: &Tensor, value: &Tensor, n_averaged: u64) -> Result<Tensor>;

    /// The average of a model, which starts with the model's values at the first update.
    ///
    /// # Errors
    ///
    /// Options that [`check`](Self::check) refuses; parameters without values yet.
    fn build(&self, model: &dyn Module) -> Result<AveragedModel<Self>> {
        self.check()?;
        AveragedModel::of(self.clone(), model)
    }
}

/// The average of a model's values over training, computed by an [`AveragingRule`]: PyTorch's `AveragedModel`.
///
/// [`EMA`](super::EMA) and [`SWA`](super::SWA) are such averages. Only the averaged values are kept, by path, and no second
/// model:
///
/// - [`update`](Self::update) adds the model's current values to the average,
/// - [`swap_in`](Self::swap_in) gives the model the averaged values until a guard is dropped,
/// - [`state_dict`](Self::state_dict) is for any model, a file or a [`functional_call`](module_core::functional_call).
///
/// As in PyTorch, all parameters are averaged, whether they are trained or not, and a tied one once. Buffers are the
/// model's at the last update, or averaged if the options say so; integer buffers are then computed in the default dtype
/// and truncated. Extra states are the model's at the last update.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut ema = EMA::new(&model, 0.9)?;
/// ema.update(&model)?;
///
/// // In a checkpoint of training, beside the optimizer.
/// # #[cfg(feature = "fs")]
/// # {
/// let checkpoint = TrainingCheckpoint::new(0, 1).with("ema", &ema)?;
/// let mut resumed = EMA::new(&model, 0.9)?;
/// checkpoint.restore("ema", &mut resumed)?;
/// assert_eq!(resumed.n_averaged(), 1);
/// # }
///
/// // In a model of its own.
/// let averaged = Linear::new(2, 1)?;
/// averaged.load_state_dict(&ema.state_dict())?;
/// let averages: AveragedModel<EMAConfig> = ema;
/// assert_eq!(averages.rule().decay, 0.9);
/// # Ok::<(), Error>(())
/// ```
pub struct AveragedModel<R: AveragingRule> {
    pub(super) rule: R,
    pub(super) n_averaged: u64,
    pub(super) tensors: Tensors,
}

impl<R: AveragingRule> AveragedModel<R> {
    pub(super) fn of(rule: R, model: &dyn Module) -> Result<Self> {
        let tensors = Tensors::of(model);
        check_own(R::NAME, &tensors)?;
        if let Some((name, _)) = tensors.named().find(|(_, kept)| !kept.value.has_values()) {
            let what = format!("`{name}`");
            return Err(ErrorKind::NoValues { what }.into());
        }
        let n_averaged = 0;
        Ok(Self {
            rule,
            n_averaged,
            tensors,
        })
    }

    /// The options.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// The number of updates.
    pub fn n_averaged(&self) -> u64 {
        self.n_averaged
    }

    /// Adds the model's current values to the average: PyTorch's `update_parameters`. The first update copies them.
    ///
    /// # Errors
    ///
    /// A model whose tensors differ from those that the average was built with ([`AveragingError::Tensors`]), one whose
    /// values are swapped ([`AveragingError::Swapped`]), not enough memory; then the average is unchanged.
    #[doc(alias = "update_parameters")]
    pub fn update(&mut self, model: &dyn Module) -> Result<()> {
        let now = Tensors::of(model);
        check_own(R::NAME, &now)?;
        let keys = self.tensors.differences(&now);
        if !keys.is_empty() {
            let name = R::NAME;
            return Err(AveragingError::Tensors { name, keys }.into());
        }
        let place: HashMap<&str, &Kept> = now.named().collect();
        let mut next: Vec<Option<Tensor>> = vec![None; self.tensors.kept.len()];
        for (name, index) in &self.tensors.names {
            let found = (self.tensors.kept.get(*index), place.get(name.as_str()));
            if let ((Some(kept), Some(model)), Some(next @ None)) = (found, next.get_mut(*index)) {
                *next = Some(no_grad(|| self.next(kept, &model.value))?);
            }
        }
        for (kept, next) in self.tensors.kept.iter_mut().zip(next) {
            if let Some(next) = next {
                kept.value = next;
            }
        }
        self.n_averaged = self.n_averaged.saturating_add(1);
        Ok(())
    }

    /// The next value of a tensor, in its dtype and on its device.
    fn next(&self, kept: &Kept, value: &Tensor) -> Result<Tensor> {
        if kept.role == Role::Extra {
            return Ok(value.clone());
        }
        let value = fit(value, &kept.value)?;
        let is_averaged = match kept.role {
            Role::Parameter => true,
            Role::Buffer { .. } => self.rule.use_buffers(),
            Role::Extra => false,
        };
        if self.n_averaged == 0 || !is_averaged {
            return Ok(value);
        }
        let next = self.rule.average(&kept.value, &value, self.n_averaged)?;
        fit(&next, &kept.value)
    }

    /// The averaged values under the model's keys, which any such model can load. Before the first update, they are those
    /// with which the model was built.
    pub fn state_dict(&self) -> StateDict {
        let named = self.tensors.named();
        let persistent = named.filter(|(_, kept)| is_persistent(kept));
        persistent
            .map(|(name, kept)| (name.to_owned(), kept.value.clone()))
            .collect()
    }

    /// All averaged values, including those of non-persistent buffers.
    pub(super) fn values(&self) -> StateDict {
        let named = self.tensors.named();
        named
            .map(|(name, kept)| (name.to_owned(), kept.value.clone()))
            .collect()
    }

    /// Gives the model the averaged values until the guard is dropped, which restores the model's own in all cases,
    /// including errors and panics: see [`swap_state_dict`](module_core::ModuleExt::swap_state_dict).
    ///
    /// Changes of the values meanwhile are undone. If batch normalizations should use statistics of the averaged values,
    /// call [`update_bn`](super::update_bn) first.
    ///
    /// # Errors
    ///
    /// A model with other keys or shapes, one whose values are already swapped; then nothing is changed.
    pub fn swap_in<'m>(&self, model: &'m dyn Module) -> Result<SwappedState<'m>> {
        model.swap_state_dict(&self.values())
    }

    /// Runs `f` while the model has the averaged values: [`swap_in`](Self::swap_in) with a closure.
    ///
    /// # Errors
    ///
    /// Those of [`swap_in`](Self::swap_in) and of `f`; the model then has its own values, too.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut swa = SWA::new(&model)?;
    /// swa.update(&model)?;
    /// let output = swa.with_averages(&model, || model.call(Tensor::from([[1.0_f32, 2.0]])))?;
    /// assert_eq!(output.shape().to_string(), "[1, 1]");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn with_averages<T>(&self, model: &dyn Module, f: impl FnOnce() -> Result<T>) -> Result<T> {
        let _averaged = self.swap_in(model)?;
        f()
    }
}

/// Whether a state dict contains it.
pub(super) fn is_persistent(kept: &Kept) -> bool {
    kept.role != Role::Buffer { persistent: false }
}

/// The value in the dtype and on the device of another, detached.
pub(super) fn fit(value: &Tensor, like: &Tensor) -> Result<Tensor> {
    let value = value.to_dtype(like.dtype())?.to_device(&like.device())?;
    Ok(value.detach())
}

/// Refuses swapped values.
fn check_own(name: &'static str, tensors: &Tensors) -> Result<()> {
    match &tensors.swapped {
        Some(key) => {
            let key = key.clone();
            Err(AveragingError::Swapped { name, key }.into())
        }
        None => Ok(()),
    }
}
