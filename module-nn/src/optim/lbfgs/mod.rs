//! L-BFGS.

pub(super) mod history;
mod line_search;
mod state;

use module_core::{DType, Module, ModuleExt, Parameter, Result, Tensor, no_grad};
use serde::{Deserialize, Serialize};

use self::history::{History, item};
use self::line_search::{LineSearch, Trial};
use super::range::at_least_0;
use super::{OptimizerError, ParamStates};
use crate::config::config;

/// A quasi-Newton method: steps along the gradient, multiplied by an estimate of the inverse Hessian from the last
/// gradients and steps.
///
/// ```text
/// d = -H·g      p ← p + t·d
/// ```
///
/// `H` is computed from the last `history_size` differences of parameters and of gradients by the two-loop recursion. `t`
/// is the learning rate, or satisfies the strong Wolfe conditions if a line search is chosen. It needs the loss of all
/// samples, without dropout or other randomness.
///
/// One call of [`step`](Self::step) evaluates the loss several times, so it takes a closure and does not implement
/// [`Optimizer`](super::Optimizer), whose steps evaluate nothing. It has no groups.
///
/// Source: `torch.optim.LBFGS`; Liu and Nocedal, *On the limited memory BFGS method for large scale optimization*
/// (1989).
///
/// # Example
///
/// ```
/// use module_nn::functional::{Reduction, mse_loss};
/// use module_nn::optim::{LBFGSConfig, LineSearchFn};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(1, 1)?;
/// let (x, y) = (Tensor::from([[0.0_f32], [1.0], [2.0]]), Tensor::from([[1.0_f32], [3.0], [5.0]]));
/// let config = LBFGSConfig::new(1.0).line_search_fn(LineSearchFn::StrongWolfe);
/// let mut optimizer = config.build(&model)?;
/// optimizer.step(&model, || mse_loss(&model.call(x.clone())?, &y, Reduction::Mean))?;
/// assert!((model.weight().tensor().item::<f32>()? - 2.0).abs() < 1e-3);
/// # Ok::<(), Error>(())
/// ```
pub struct LBFGS {
    pub(super) config: LBFGSConfig,
    pub(super) parameters: ParamStates<()>,
    pub(super) history: History,
}

/// How [`LBFGS`] determines the length of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LineSearchFn {
    /// The learning rate: PyTorch's `None`.
    #[default]
    Fixed,
    /// A line search for a step that satisfies the strong Wolfe conditions.
    StrongWolfe,
}

config! {
    /// The arguments of [`LBFGS`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::optim::LBFGSConfig;
    /// use module_nn::prelude::*;
    ///
    /// // The maximum of -(x - 3)², from 0.
    /// let model = [Parameter::new(Tensor::from([0.0_f64]))?];
    /// let config = LBFGSConfig::new(0.5)
    ///     .max_iter(50)
    ///     .max_eval(60)
    ///     .tolerance_grad(1e-9)
    ///     .tolerance_change(1e-12)
    ///     .history_size(10)
    ///     .maximize(true);
    /// let mut optimizer = config.build(&model)?;
    /// let first = optimizer.step(&model, || model[0].tensor().sub(3.0)?.square()?.neg()?.sum(..))?;
    /// assert!((model[0].detach().item::<f64>()? - 3.0).abs() < 1e-6);
    /// optimizer.set_lr(0.1)?;
    /// assert_eq!(optimizer.lr(), 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LBFGSConfig {
        required {
            /// The learning rate, which scales the first trial of a step; PyTorch's is 1 if none is given.
            lr: f64,
        }
        optional {
            /// The maximum number of iterations per step.
            max_iter: usize = 20,
            /// The maximum number of loss evaluations per step; by default 1.25 times `max_iter`.
            max_eval: Option<usize> = None,
            /// A step ends if no gradient element exceeds this.
            tolerance_grad: f64 = 1e-7,
            /// A step ends if the change of the parameters or of the loss is below this.
            tolerance_change: f64 = 1e-9,
            /// The number of differences kept.
            history_size: usize = 100,
            /// How the length of a step is determined.
            line_search_fn: LineSearchFn = LineSearchFn::Fixed,
            /// Whether to maximize instead of minimize.
            maximize: bool = false,
        }
    }
}

impl LBFGSConfig {
    /// An optimizer of all parameters of a model.
    ///
    /// # Errors
    ///
    /// A learning rate that is negative or not a number.
    pub fn build(&self, model: &dyn Module) -> Result<LBFGS> {
        check_lr(self.lr)?;
        Ok(LBFGS {
            config: self.clone(),
            parameters: ParamStates::new(model),
            history: History::default(),
        })
    }

    fn sign(&self) -> f64 {
        if self.maximize { -1.0 } else { 1.0 }
    }
}

impl LBFGS {
    const NAME: &'static str = "LBFGS";

    /// Makes the optimizer with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// A learning rate that is negative or not a number.
    pub fn new(model: &dyn Module, lr: f64) -> Result<Self> {
        LBFGSConfig::new(lr).build(model)
    }

    /// The learning rate.
    pub fn lr(&self) -> f64 {
        self.config.lr
    }

    /// Sets the learning rate.
    ///
    /// # Errors
    ///
    /// A learning rate that is negative or not a number; then it is unchanged.
    pub fn set_lr(&mut self, lr: f64) -> Result<()> {
        check_lr(lr)?;
        self.config.lr = lr;
        Ok(())
    }

    /// Moves the parameters by up to `max_iter` iterations, and returns the loss before the first. `closure` computes the
    /// loss of the model as it is; gradients are cleared before each evaluation and computed after it. Those of the last
    /// evaluation stay.
    ///
    /// # Errors
    ///
    /// Parameters that differ from those that the optimizer was built with, several dtypes or devices among them, no
    /// gradients, and errors of `closure`: then the parameters are those of the last evaluated iteration, and further steps
    /// continue from there.
    pub fn step(
        &mut self,
        model: &dyn Module,
        mut closure: impl FnMut() -> Result<Tensor>,
    ) -> Result<f64> {
        self.parameters.check_step(model)?;
        let mut problem = Problem {
            model,
            parameters: model.parameters().collect(),
            sign: self.config.sign(),
            closure: &mut closure,
        };
        iterate(&self.config, &mut self.history, &mut problem)
    }
}

fn check_lr(lr: f64) -> Result<()> {
    at_least_0(LBFGS::NAME, "lr", lr)
}

/// The loss as a function of all parameters as one vector.
struct Problem<'a> {
    model: &'a dyn Module,
    parameters: Vec<&'a Parameter>,
    /// -1 to maximize.
    sign: f64,
    closure: &'a mut dyn FnMut() -> Result<Tensor>,
}

impl Problem<'_> {
    /// The loss and its gradient, to minimize.
    fn evaluate(&mut self) -> Result<(f64, Tensor)> {
        self.model.zero_grad();
        let loss = (self.closure)()?;
        loss.backward()?;
        let loss: f64 = loss.detach().to_dtype(DType::F64)?.item()?;
        if self.parameters.iter().all(|p| p.grad().is_none()) {
            return Err(OptimizerError::NoGradients { op: "step" }.into());
        }
        let flat = self.parameters.iter().map(|parameter| {
            let grad = match parameter.grad().filter(|_| parameter.requires_grad()) {
                Some(grad) => grad.detach(),
                None => parameter.detach().zeros_like()?,
            };
            grad.reshape([-1])
        });
        let flat = flat.collect::<Result<Vec<Tensor>>>()?;
        let grad = Tensor::cat(&flat, 0)?;
        let grad = if self.sign < 0.0 { grad.neg()? } else { grad };
        Ok((self.sign * loss, grad))
    }

    fn values(&self) -> Vec<Tensor> {
        self.parameters.iter().map(|p| p.detach()).collect()
    }

    /// Sets the parameters to `values + step·direction`.
    fn set(&self, values: &[Tensor], step: f64, direction: &Tensor) -> Result<()> {
        let mut start = 0;
        for (parameter, value) in self.parameters.iter().zip(values) {
            let end = start + value.numel();
            let part = direction.narrow(0, start..end)?.reshape(value.shape())?;
            if parameter.requires_grad() {
                parameter.set(value.add_scaled(&part, step)?)?;
            }
            start = end;
        }
        Ok(())
    }
}

/// The greatest size of an element.
fn greatest(x: &Tensor) -> Result<f64> {
    match x.numel() {
        0 => Ok(0.0),
        _ => item(&x.abs()?.max(..)?),
    }
}

fn iterate(config: &LBFGSConfig, history: &mut History, problem: &mut Problem<'_>) -> Result<f64> {
    let (mut loss, mut grad) = problem.evaluate()?;
    let first_loss = config.sign() * loss;
    let max_eval = config.max_eval.unwrap_or(config.max_iter * 5 / 4);
    let mut evals = 1;
    history.func_evals += 1;
    if greatest(&grad)? <= config.tolerance_grad {
        return Ok(first_loss);
    }
    for iteration in 1..=config.max_iter {
        history.n_iter += 1;
        no_grad(|| history.turn(&grad, config.history_size))?;
        let last_loss = loss;
        let is_first = history.n_iter == 1;
        let scale = if is_first {
            (1.0 / item(&grad.abs()?.sum(..)?)?).min(1.0)
        } else {
            1.0
        };
        let mut step = scale * config.lr;
        let Some(direction) = history.direction.clone() else {
            break;
        };
        let slope = item(&grad.dot(&direction)?)?;
        history.step = step;
        if slope > -config.tolerance_change {
            break;
        }
        let values = problem.values();
        let mut new_evals = 0;
        match config.line_search_fn {
            LineSearchFn::StrongWolfe => {
                let mut evaluate = |step: f64| {
                    problem.set(&values, step, &direction)?;
                    let evaluated = problem.evaluate();
                    problem.set(&values, 0.0, &direction)?;
                    let (loss, grad) = evaluated?;
                    let slope = item(&grad.dot(&direction)?)?;
                    Ok(Trial {
                        step,
                        loss,
                        grad,
                        slope,
                    })
                };
                let start = Trial {
                    step: 0.0,
                    loss,
                    grad,
                    slope,
                };
                let mut search = LineSearch {
                    start,
                    greatest: greatest(&direction)?,
                    tolerance_change: config.tolerance_change,
                    max_trials: max_eval.saturating_sub(evals),
                    evaluate: &mut evaluate,
                };
                let (best, trials) = search.run(step)?;
                (step, loss, grad, new_evals) = (best.step, best.loss, best.grad, trials);
                problem.set(&values, step, &direction)?;
            }
            LineSearchFn::Fixed => {
                problem.set(&values, step, &direction)?;
                if iteration != config.max_iter {
                    (loss, grad) = problem.evaluate()?;
                    new_evals = 1;
                }
            }
        }
        history.step = step;
        evals += new_evals;
        history.func_evals += new_evals as u64;
        let is_done = evals >= max_eval
            || greatest(&grad)? <= config.tolerance_grad
            || greatest(&direction.mul(step)?)? <= config.tolerance_change
            || (loss - last_loss).abs() < config.tolerance_change;
        if is_done {
            break;
        }
    }
    Ok(first_loss)
}
