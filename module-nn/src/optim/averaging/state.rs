//! How an average is saved: under the names of PyTorch's `AveragedModel`.

use module_core::{Error, Result, Snapshot, StateDict, Stateful, Tensor};

use super::averaged_model::{fit, is_persistent};
use super::tensors::Role;
use super::{AveragedModel, AveragingError, AveragingRule};

/// PyTorch's name of the count.
const N_AVERAGED: &str = "n_averaged";

/// The prefix of PyTorch's names of the values.
const PREFIX: &str = "module.";

impl<R: AveragingRule> AveragedModel<R> {
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

    /// Restores a state with the names of PyTorch's `AveragedModel`. Values are cast to the dtypes that they replace; one
    /// name of a tied tensor is enough, and non-persistent buffers may be missing.
    ///
    /// # Errors
    ///
    /// Other keys or shapes ([`AveragingError::State`]), a count that is not an integer; then nothing is changed.
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

/// The options; the count and the values under PyTorch's names, including those of non-persistent buffers.
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
