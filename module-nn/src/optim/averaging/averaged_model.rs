use std::collections::HashMap;

use module_core::{Error, ErrorKind, Module, ModuleExt, Result, Snapshot, StateDict, Stateful};
use module_core::{SwappedState, Tensor, no_grad};

use super::tensors::{Kept, Role, Tensors};
use super::{AveragingError, AveragingRule};

/// The average of a model's values over training, by an [`AveragingRule`]: PyTorch's `AveragedModel`.
///
/// [`EMA`](super::EMA) and [`SWA`](super::SWA) are such averages. What is kept are the averaged values by their
/// paths, and no second model:
///
/// - [`update`](Self::update) takes the model's present values into the average,
/// - [`swap_in`](Self::swap_in) gives the averaged values to the model until a guard is dropped,
/// - [`state_dict`](Self::state_dict) gives them to any model, a file or a [`functional_call`](module_core::functional_call).
///
/// As in PyTorch, all parameters are averaged, whether they are trained or not, and a tied one once. Buffers are the
/// model's at the last update, or averaged if the options say so; then those of integers are computed in the default
/// dtype and lose their fractions. Extra states are the model's at the last update.
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
/// # Ok::<(), Error>(())
/// ```
pub struct AveragedModel<R: AveragingRule> {
    rule: R,
    n_averaged: u64,
    tensors: Tensors,
}

/// PyTorch's name of the count.
const N_AVERAGED: &str = "n_averaged";

/// What PyTorch's names of the values begin with.
const PREFIX: &str = "module.";

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

    /// How many updates there were.
    pub fn n_averaged(&self) -> u64 {
        self.n_averaged
    }

    /// Takes the present values of the model into the average: PyTorch's `update_parameters`. The first update copies
    /// them.
    ///
    /// # Errors
    ///
    /// A model with other tensors than the average was built with ([`AveragingError::Tensors`]), one that has other
    /// values for a while ([`AveragingError::Swapped`]), not enough memory; then the average is as it was.
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

    /// The next value of a tensor, of the dtype and on the device that it has.
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

    /// The averaged values under the model's keys, which any such model loads. Before the first update they are those
    /// that the model was built with.
    pub fn state_dict(&self) -> StateDict {
        let named = self.tensors.named();
        let persistent = named.filter(|(_, kept)| is_persistent(kept));
        persistent
            .map(|(name, kept)| (name.to_owned(), kept.value.clone()))
            .collect()
    }

    /// All averaged values, those of buffers that are not persistent too.
    fn values(&self) -> StateDict {
        let named = self.tensors.named();
        named
            .map(|(name, kept)| (name.to_owned(), kept.value.clone()))
            .collect()
    }

    /// Gives the averaged values to the model until the guard is dropped, which gives the model's own back on every
    /// path, also by an error or a panic: see [`swap_state_dict`](module_core::ModuleExt::swap_state_dict).
    ///
    /// What happens to the values meanwhile is undone. For batch normalizations whose statistics are to be those of the
    /// averaged values, call [`update_bn`](super::update_bn) first thing.
    ///
    /// # Errors
    ///
    /// A model with other keys or shapes, one whose values are swapped already; then nothing is changed.
    pub fn swap_in<'m>(&self, model: &'m dyn Module) -> Result<SwappedState<'m>> {
        model.swap_state_dict(&self.values())
    }

    /// Runs `f` while the model has the averaged values: [`swap_in`](Self::swap_in) for a closure.
    ///
    /// # Errors
    ///
    /// As [`swap_in`](Self::swap_in), and those of `f`; the model has its own values then, too.
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

    /// The state under the names of PyTorch's `AveragedModel`: `n_averaged`, and `module.<key>` for each value.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub fn torch_state_dict(&self) -> Result<StateDict> {
        let count = Tensor::from(i64::try_from(self.n_averaged).unwrap_or(i64::MAX));
        let mut state = StateDict::from_iter([(N_AVERAGED, count)]);
        for (name, value) in self.state_dict() {
            state.insert(format!("{PREFIX}{name}"), value);
        }
        Ok(state)
    }

    /// Takes up a state under the names of PyTorch's `AveragedModel`. Values are cast to the dtypes that they replace; of a tied
    /// tensor one name is enough, and buffers that are not persistent may be missing.
    ///
    /// # Errors
    ///
    /// Other keys or shapes ([`AveragingError::State`]), a count that is no whole number; then nothing is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut swa = SWA::new(&model)?;
    /// swa.update(&model)?;
    /// let state = swa.torch_state_dict()?;
    /// assert!(state.keys().eq(["n_averaged", "module.weight", "module.bias"]));
    /// SWA::new(&model)?.load_torch_state_dict(&state)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn load_torch_state_dict(&mut self, state: &StateDict) -> Result<()> {
        let (n_averaged, values) = self.read(state)?;
        self.put(n_averaged, values);
        Ok(())
    }

    /// The count and the value of each tensor that a state has.
    fn read(&self, state: &StateDict) -> Result<(u64, Vec<Option<Tensor>>)> {
        let (mut missing, mut mismatched) = (Vec::new(), Vec::new());
        let mut values: Vec<Option<Tensor>> = vec![None; self.tensors.kept.len()];
        let mut known = vec![N_AVERAGED.to_owned()];
        for (name, index) in &self.tensors.names {
            let key = format!("{PREFIX}{name}");
            let place = (self.tensors.kept.get(*index), values.get_mut(*index));
            if let (Some(kept), Some(place), Some(value)) = (place.0, place.1, state.get(&key)) {
                if kept.role == Role::Extra {
                    *place = Some(value.clone());
                } else if value.shape() != kept.value.shape() {
                    mismatched.push(key.clone());
                } else if place.is_none() {
                    *place = Some(fit(value, &kept.value)?);
                }
            }
            known.push(key);
        }
        let came = |index: usize| values.get(index).is_some_and(Option::is_some);
        for (name, index) in &self.tensors.names {
            let key = format!("{PREFIX}{name}");
            let is_needed = self.tensors.kept.get(*index).is_some_and(is_persistent);
            if is_needed && !came(*index) && !mismatched.contains(&key) {
                missing.push(key);
            }
        }
        if !state.contains_key(N_AVERAGED) {
            missing.insert(0, N_AVERAGED.to_owned());
        }
        let keys = state.keys().filter(|key| !known.iter().any(|k| k == key));
        let unexpected: Vec<String> = keys.map(str::to_owned).collect();
        if !(missing.is_empty() && unexpected.is_empty() && mismatched.is_empty()) {
            return Err(AveragingError::State {
                name: R::NAME,
                missing,
                unexpected,
                mismatched,
            }
            .into());
        }
        let count = state.get(N_AVERAGED).map(Tensor::item::<i64>).transpose()?;
        let count = count.unwrap_or_default();
        let n_averaged = u64::try_from(count)
            .map_err(|_| Error::argument("load_state", N_AVERAGED, count, "must be at least 0"))?;
        Ok((n_averaged, values))
    }

    fn put(&mut self, n_averaged: u64, values: Vec<Option<Tensor>>) {
        self.n_averaged = n_averaged;
        for (kept, value) in self.tensors.kept.iter_mut().zip(values) {
            if let Some(value) = value {
                kept.value = value;
            }
        }
    }
}

/// Whether a state dict holds it.
fn is_persistent(kept: &Kept) -> bool {
    kept.role != Role::Buffer { persistent: false }
}

/// The value in the dtype and on the device of another, detached.
fn fit(value: &Tensor, like: &Tensor) -> Result<Tensor> {
    let value = value.to_dtype(like.dtype())?.to_device(&like.device())?;
    Ok(value.detach())
}

/// Refuses values that are not the model's own.
fn check_own(name: &'static str, tensors: &Tensors) -> Result<()> {
    match &tensors.swapped {
        Some(key) => {
            let key = key.clone();
            Err(AveragingError::Swapped { name, key }.into())
        }
        None => Ok(()),
    }
}

/// The options; the count and the values under PyTorch's names, those of buffers that are not persistent too.
impl<R: AveragingRule> Stateful for AveragedModel<R> {
    fn state(&self) -> Result<Snapshot> {
        let mut tensors = self.torch_state_dict()?;
        for (name, value) in self.values() {
            tensors.insert(format!("{PREFIX}{name}"), value);
        }
        Snapshot::new(tensors)
            .with("average", &R::NAME)?
            .with("config", &self.rule)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.rule)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let saved = state.get::<String>("average");
        if saved.as_ref().map(String::as_str).ok() != Some(R::NAME) {
            let what = saved.map_or("of no average".to_owned(), |saved| format!("of {saved}"));
            let problem = format!(
                "it is the state {what}, and this is {}; build the average that was saved, or start this \
                 one without a state",
                R::NAME
            );
            return Err(Error::argument("load_state", "state", what, problem));
        }
        let rule: R = state.get("config")?;
        rule.check()?;
        let (n_averaged, values) = self.read(state.tensors())?;
        self.rule = rule;
        self.put(n_averaged, values);
        Ok(())
    }
}
