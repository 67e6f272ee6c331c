//! State dicts of all stages.

use module_nn::prelude::*;

use super::Pipeline;

impl Pipeline {
    /// The state dict of the whole container, on every rank. All ranks call it.
    ///
    /// # Errors
    ///
    /// Those of [`ModuleExt::state_dict`] and of the collectives.
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::LocalComm;
    /// use module_dist::parallel::Pipeline;
    /// use module_nn::prelude::*;
    ///
    /// let keys = LocalComm::run(2, |comm| {
    ///     let net: Sequential = [Linear::new(2, 2)?, Linear::new(2, 2)?].into_iter().collect();
    ///     let pipeline = Pipeline::new(net, comm, 1)?;
    ///     let state = pipeline.state_dict()?;
    ///     pipeline.load_state_dict(&state)?;
    ///     Ok(state.keys().map(str::to_owned).collect::<Vec<_>>())
    /// })?;
    /// assert_eq!(keys[0], ["0.weight", "0.bias", "1.weight", "1.bias"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn state_dict(&self) -> Result<StateDict> {
        let own = self.layers.state_dict()?;
        let keys: Vec<&str> = own.keys().collect();
        let names = serde_json::to_vec(&keys).map_err(Error::custom)?;
        let length = names.len();
        let names = self.comm.all_gather(&Tensor::from_vec(names, length)?)?;
        let names = names.iter().map(|names| {
            let names = names.to_vec::<u8>()?;
            serde_json::from_slice(&names).map_err(Error::custom)
        });
        let names = names.collect::<Result<Vec<Vec<String>>>>()?;
        // The ranks have different numbers of tensors; one that has no more gives an empty one.
        let rounds = names.iter().map(Vec::len).max().unwrap_or_default();
        let mut tensors = own.iter().map(|(_, tensor)| tensor.clone());
        let mut gathered = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let next = tensors.next().unwrap_or_else(|| Tensor::from([0_u8; 0]));
            gathered.push(self.comm.all_gather(&next)?);
        }
        let mut whole = StateDict::new();
        for (rank, names) in names.into_iter().enumerate() {
            for (name, round) in names.into_iter().zip(&gathered) {
                if let Some(tensor) = round.get(rank) {
                    whole.insert(name, tensor.clone());
                }
            }
        }
        Ok(whole)
    }

    /// Loads this rank's part of the state dict of the whole container, strictly.
    ///
    /// # Errors
    ///
    /// Those of [`ModuleExt::load_state_dict`]; keys of no stage are unexpected ones.
    pub fn load_state_dict(&self, state: &StateDict) -> Result<LoadReport> {
        let is_of_another = |key: &str| {
            let layer = key.split('.').next().unwrap_or(key);
            let position = self.keys.iter().position(|known| known == layer);
            position.is_some_and(|position| !self.own.contains(&position))
        };
        let own = state.iter().filter(|(key, _)| !is_of_another(key));
        let own = own.map(|(key, tensor)| (key.to_owned(), tensor.clone()));
        self.layers.load_state_dict(&own.collect())
    }
}
