//! How L-BFGS is saved: each of its vectors is split by parameter, under the parameters' paths.

use std::collections::VecDeque;

use module_core::{Error, Result, Snapshot, StateDict, Stateful, Tensor};
use serde::{Deserialize, Serialize};

use super::super::config_of::config_of;
use super::history::{History, Pair};
use super::{LBFGS, LBFGSConfig, check_lr};

/// The numbers of a history.
#[derive(Serialize, Deserialize)]
struct Numbers {
    func_evals: u64,
    n_iter: u64,
    t: f64,
    h_diag: f64,
    ro: Vec<f64>,
}

impl LBFGS {
    /// A vector in its parts.
    fn split(&self, name: &str, vector: &Tensor, tensors: &mut StateDict) -> Result<()> {
        let mut start = 0;
        for (path, value) in self.parameters.values() {
            let end = start + value.numel();
            let part = vector.narrow(0, start..end)?.reshape(value.shape())?;
            tensors.insert(format!("{path}.{name}"), part);
            start = end;
        }
        Ok(())
    }

    /// The vector that was split, or none if it was not there.
    fn join(&self, name: &str, tensors: &StateDict) -> Result<Option<Tensor>> {
        let mut parts = Vec::new();
        for (path, value) in self.parameters.values() {
            let key = format!("{path}.{name}");
            let Some(part) = tensors.get(&key) else {
                continue;
            };
            let part = part.to_device(&value.device())?;
            if part.shape() != value.shape() || part.dtype() != value.dtype() {
                let problem = format!(
                    "it is {} of shape {}, the parameter {} of shape {}",
                    part.dtype(),
                    part.shape(),
                    value.dtype(),
                    value.shape()
                );
                return Err(Error::argument("load_state", "state", key, problem));
            }
            parts.push(part.reshape([-1])?);
        }
        let all = self.parameters.len();
        match parts.len() {
            0 => Ok(None),
            n if n == all => Tensor::cat(&parts, 0).map(Some),
            n => {
                let problem = format!("it is there for {n} of {all} parameters");
                Err(Error::argument(
                    "load_state",
                    "state",
                    name.to_owned(),
                    problem,
                ))
            }
        }
    }
}

/// The options, the last gradients and steps, and the numbers that go with them.
impl Stateful for LBFGS {
    fn state(&self) -> Result<Snapshot> {
        let history = &self.history;
        let mut tensors = StateDict::new();
        let single = [
            ("d", &history.direction),
            ("prev_flat_grad", &history.last_grad),
        ];
        for (name, vector) in single {
            if let Some(vector) = vector {
                self.split(name, vector, &mut tensors)?;
            }
        }
        for (number, pair) in history.pairs.iter().enumerate() {
            self.split(&format!("old_dirs.{number}"), &pair.grads, &mut tensors)?;
            self.split(&format!("old_stps.{number}"), &pair.step, &mut tensors)?;
        }
        let numbers = Numbers {
            func_evals: history.func_evals,
            n_iter: history.n_iter,
            t: history.step,
            h_diag: history.diagonal,
            ro: history.pairs.iter().map(|pair| pair.rho).collect(),
        };
        let paths: Vec<&str> = self.parameters.paths().collect();
        Snapshot::new(tensors)
            .with("parameters", &paths)?
            .with("optimizer", &Self::NAME)?
            .with("config", &self.config)?
            .with("history", &numbers)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.config)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let config: LBFGSConfig = config_of(Self::NAME, state)?;
        check_lr(config.lr)?;
        self.parameters.check_paths(state)?;
        let numbers: Numbers = state.get("history")?;
        let tensors = state.tensors();
        let mut pairs = VecDeque::new();
        for (number, rho) in numbers.ro.into_iter().enumerate() {
            let find = |name: String| {
                let vector = self.join(&name, tensors)?;
                let missing = || Error::argument("load_state", "state", name, "it is missing");
                vector.ok_or_else(missing)
            };
            let grads = find(format!("old_dirs.{number}"))?;
            let step = find(format!("old_stps.{number}"))?;
            pairs.push_back(Pair { grads, step, rho });
        }
        let history = History {
            func_evals: numbers.func_evals,
            n_iter: numbers.n_iter,
            direction: self.join("d", tensors)?,
            last_grad: self.join("prev_flat_grad", tensors)?,
            step: numbers.t,
            diagonal: numbers.h_diag,
            pairs,
        };
        (self.config, self.history) = (config, history);
        Ok(())
    }
}
