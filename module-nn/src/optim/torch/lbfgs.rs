//! The state of PyTorch's L-BFGS, whose vectors concatenate the elements of all parameters.

use std::collections::VecDeque;
#[cfg(feature = "fs")]
use std::path::Path;

#[cfg(feature = "fs")]
use module_core::ReadOptions;
use module_core::{Error, RestoreReport, Result, Stateful, Tensor, TorchObject};

use super::values::{number, steps};
use crate::optim::lbfgs::history::{History, Pair};
use crate::optim::{LBFGS, LBFGSConfig, LineSearchFn, OptimizerError};

const OPTIMIZER: &str = "LBFGS";

fn error(op: &'static str, problem: String) -> Error {
    let optimizer = OPTIMIZER;
    OptimizerError::TorchState {
        op,
        optimizer,
        problem,
    }
    .into()
}

impl LBFGS {
    /// PyTorch's `optimizer.state_dict()`, from which `torch.optim.LBFGS(model.parameters())` can resume.
    ///
    /// # Errors
    ///
    /// None are expected.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::optim::LBFGS;
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = LBFGS::new(&model, 0.5)?;
    /// let x = Tensor::from([[1.0_f32, 2.0], [0.5, -1.0]]);
    /// optimizer.step(&model, || model.call(x.clone())?.square()?.sum(..))?;
    ///
    /// let saved = optimizer.torch_state_dict()?;
    /// let mut resumed = LBFGS::new(&model, 1.0)?;
    /// let report = resumed.load_torch_state_dict(&saved)?.to_string();
    /// assert!(report.starts_with("restored; lr was 1.0 and is 0.5"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn torch_state_dict(&self) -> Result<TorchObject> {
        let positions = 0..self.parameters.len() as i64;
        let mut group = self.options();
        group.push((
            "params",
            TorchObject::List(positions.map(TorchObject::Int).collect()),
        ));
        let state = match self.history.n_iter {
            0 => Vec::new(),
            _ => vec![(TorchObject::Int(0), self.kept()?)],
        };
        Ok([
            ("state", TorchObject::Dict(state)),
            (
                "param_groups",
                TorchObject::List(vec![group.into_iter().collect()]),
            ),
        ]
        .into_iter()
        .collect())
    }

    fn options(&self) -> Vec<(&'static str, TorchObject)> {
        let LBFGSConfig {
            lr,
            max_iter,
            max_eval,
            tolerance_grad,
            tolerance_change,
            history_size,
            line_search_fn,
            maximize,
        } = self.config;
        let count = |n: usize| TorchObject::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let line_search_fn = match line_search_fn {
            LineSearchFn::Fixed => TorchObject::None,
            LineSearchFn::StrongWolfe => TorchObject::from("strong_wolfe"),
        };
        vec![
            ("lr", lr.into()),
            ("max_iter", count(max_iter)),
            ("max_eval", count(max_eval.unwrap_or(max_iter * 5 / 4))),
            ("tolerance_grad", tolerance_grad.into()),
            ("tolerance_change", tolerance_change.into()),
            ("history_size", count(history_size)),
            ("line_search_fn", line_search_fn),
            ("maximize", TorchObject::Bool(maximize)),
        ]
    }

    /// The values that are kept between iterations.
    fn kept(&self) -> Result<TorchObject> {
        let history = &self.history;
        let count = |n: u64| TorchObject::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let vector = |x: &Option<Tensor>| x.clone().map_or(TorchObject::None, TorchObject::Tensor);
        let like = history.direction.as_ref().map(Tensor::dtype);
        let single = |x: f64| -> Result<TorchObject> {
            let x = Tensor::from(x);
            Ok(TorchObject::Tensor(match like {
                Some(dtype) => x.to_dtype(dtype)?,
                None => x,
            }))
        };
        let list = |f: fn(&Pair) -> &Tensor| {
            let vectors = history.pairs.iter().map(|pair| f(pair).clone());
            TorchObject::List(vectors.map(TorchObject::Tensor).collect())
        };
        let ro = history.pairs.iter().map(|pair| single(pair.rho));
        Ok([
            ("func_evals", count(history.func_evals)),
            ("n_iter", count(history.n_iter)),
            ("d", vector(&history.direction)),
            ("t", history.step.into()),
            ("old_dirs", list(|pair| &pair.grads)),
            ("old_stps", list(|pair| &pair.step)),
            ("ro", TorchObject::List(ro.collect::<Result<_>>()?)),
            ("H_diag", single(history.diagonal)?),
            ("prev_flat_grad", vector(&history.last_grad)),
        ]
        .into_iter()
        .collect())
    }

    /// Restores a state of PyTorch's `LBFGS`, and reports which options it has changed.
    ///
    /// # Errors
    ///
    /// A state of another optimizer or with another number of elements, invalid options. Then nothing is changed.
    pub fn load_torch_state_dict(&mut self, state: &TorchObject) -> Result<RestoreReport> {
        const OP: &str = "load_torch";
        let read = self.read(state).map_err(|problem| error(OP, problem));
        let (config, history) = read?;
        let before = self.hyperparameters()?;
        (self.config, self.history) = (config, history);
        Ok(RestoreReport::new(&before, &self.hyperparameters()?))
    }

    fn read(&self, object: &TorchObject) -> Result<(LBFGSConfig, History), String> {
        let (Some(TorchObject::Dict(states)), Some(TorchObject::List(groups))) =
            (object.get("state"), object.get("param_groups"))
        else {
            return Err(format!(
                "{object} is not an `optimizer.state_dict()`, which has `state` and `param_groups`"
            ));
        };
        let [group] = groups.as_slice() else {
            let groups = groups.len();
            return Err(format!("the state has {groups} groups, and L-BFGS has one"));
        };
        let own = self.parameters.len();
        match group.get("params") {
            Some(TorchObject::List(params)) if params.len() == own => {}
            Some(TorchObject::List(params)) => {
                let saved = params.len();
                return Err(format!(
                    "the state is of {saved} parameter(s), and this optimizer has {own}"
                ));
            }
            _ => return Err("the group has no list `params`".to_owned()),
        }
        let config = self.read_options(group)?;
        match states.as_slice() {
            [] => Ok((config, History::default())),
            [(_, state)] => Ok((config, self.read_history(state)?)),
            more => Err(format!(
                "there are {} states, and L-BFGS has one",
                more.len()
            )),
        }
    }

    fn read_options(&self, group: &TorchObject) -> Result<LBFGSConfig, String> {
        let named = |name: &str, problem: String| format!("`{name}`: {problem}");
        let get = |name: &str| {
            group
                .get(name)
                .ok_or_else(|| named(name, "it is missing".to_owned()))
        };
        let float = |name: &str| number(get(name)?).map_err(|problem| named(name, problem));
        let count = |name: &str| {
            let count = steps(get(name)?).map_err(|problem| named(name, problem))?;
            usize::try_from(count).map_err(|problem| named(name, problem.to_string()))
        };
        let lr = float("lr")?;
        if lr.is_nan() || lr < 0.0 {
            return Err(named("lr", format!("{lr} is below 0 or not a number")));
        }
        let line_search_fn = match get("line_search_fn")? {
            TorchObject::None => LineSearchFn::Fixed,
            TorchObject::Text(name) if name == "strong_wolfe" => LineSearchFn::StrongWolfe,
            other => return Err(named("line_search_fn", format!("{other} is not known"))),
        };
        Ok(LBFGSConfig {
            lr,
            max_iter: count("max_iter")?,
            max_eval: Some(count("max_eval")?),
            tolerance_grad: float("tolerance_grad")?,
            tolerance_change: float("tolerance_change")?,
            history_size: count("history_size")?,
            line_search_fn,
            // Files of older releases lack it.
            maximize: matches!(group.get("maximize"), Some(TorchObject::Bool(true))),
        })
    }

    fn read_history(&self, state: &TorchObject) -> Result<History, String> {
        let named = |name: &str, problem: String| format!("`{name}`: {problem}");
        let get = |name: &str| {
            state
                .get(name)
                .ok_or_else(|| named(name, "it is missing".to_owned()))
        };
        let count = |name: &str| {
            let count = steps(get(name)?).map_err(|problem| named(name, problem))?;
            u64::try_from(count).map_err(|problem| named(name, problem.to_string()))
        };
        let float = |name: &str| number(get(name)?).map_err(|problem| named(name, problem));
        let vector = |name: &str| match get(name)? {
            TorchObject::None => Ok(None),
            other => self
                .vector(other)
                .map(Some)
                .map_err(|problem| named(name, problem)),
        };
        let list = |name: &str| match get(name)? {
            TorchObject::List(items) => Ok(items),
            other => Err(named(name, format!("it is {other}, not a list"))),
        };
        let (grads, steps, rhos) = (list("old_dirs")?, list("old_stps")?, list("ro")?);
        if grads.len() != steps.len() || grads.len() != rhos.len() {
            let lengths = [grads.len(), steps.len(), rhos.len()];
            return Err(format!(
                "`old_dirs`, `old_stps` and `ro` have {lengths:?} elements"
            ));
        }
        let mut pairs = VecDeque::new();
        for ((grads, step), rho) in grads.iter().zip(steps).zip(rhos) {
            pairs.push_back(Pair {
                grads: self
                    .vector(grads)
                    .map_err(|problem| named("old_dirs", problem))?,
                step: self
                    .vector(step)
                    .map_err(|problem| named("old_stps", problem))?,
                rho: number(rho).map_err(|problem| named("ro", problem))?,
            });
        }
        Ok(History {
            func_evals: count("func_evals")?,
            n_iter: count("n_iter")?,
            direction: vector("d")?,
            last_grad: vector("prev_flat_grad")?,
            step: float("t")?,
            diagonal: float("H_diag")?,
            pairs,
        })
    }

    /// A vector of all parameters, in their dtype.
    fn vector(&self, object: &TorchObject) -> Result<Tensor, String> {
        let TorchObject::Tensor(x) = object else {
            return Err(format!("it is {object}, not a tensor"));
        };
        let all: usize = self
            .parameters
            .values()
            .map(|(_, value)| value.numel())
            .sum();
        if **x.shape() != [all] {
            let shape = x.shape();
            return Err(format!(
                "it has the shape {shape}, and the parameters have {all} elements"
            ));
        }
        let Some((_, first)) = self.parameters.values().next() else {
            return Ok(x.clone());
        };
        let moved = x
            .to_dtype(first.dtype())
            .and_then(|x| x.to_device(&first.device()));
        moved.map_err(|error| error.to_string())
    }

    /// Restores the state in a `torch.save(optimizer.state_dict(), path)` file, or in the entry that `options` names.
    ///
    /// # Errors
    ///
    /// Those of [`load_torch_state_dict`](Self::load_torch_state_dict); a file that cannot be read or was not written by
    /// `torch.save`.
    #[cfg(feature = "fs")]
    pub fn load_torch_with(
        &mut self,
        path: impl AsRef<Path>,
        options: &ReadOptions,
    ) -> Result<RestoreReport> {
        self.load_torch_state_dict(&TorchObject::load_with(path, options)?)
    }

    /// [`load_torch_with`](Self::load_torch_with) for the whole file.
    ///
    /// # Errors
    ///
    /// The same.
    #[cfg(feature = "fs")]
    pub fn load_torch(&mut self, path: impl AsRef<Path>) -> Result<RestoreReport> {
        self.load_torch_with(path, &ReadOptions::new())
    }

    /// Writes a file for PyTorch's `optimizer.load_state_dict(torch.load(path))`.
    ///
    /// # Errors
    ///
    /// Those of [`torch_state_dict`](Self::torch_state_dict), and a file that cannot be written; then the old one is
    /// unchanged.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::optim::LBFGS;
    /// use module_nn::prelude::*;
    ///
    /// let path = std::env::temp_dir().join(format!("doc-lbfgs-{}.pt", std::process::id()));
    /// let model = [Parameter::new(Tensor::from([1.0_f64]))?];
    /// let mut optimizer = LBFGS::new(&model, 0.5)?;
    /// optimizer.step(&model, || model[0].tensor().square()?.sum(..))?;
    /// optimizer.save_torch(&path)?;
    /// let mut resumed = LBFGS::new(&model, 1.0)?;
    /// resumed.load_torch(&path)?;
    /// assert_eq!(resumed.lr(), 0.5);
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg(feature = "fs")]
    pub fn save_torch(&self, path: impl AsRef<Path>) -> Result<()> {
        self.torch_state_dict()?.save(path)
    }
}
