//! The rule of an optimizer, and the optimizer that it makes.

use module_core::{Module, Result, Select, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::param_groups::find_scales;
use super::{Optimizer, OptimizerError, ParamGroup, ParamGroups, ParamState, ParamStates};

/// The rule by which an optimizer moves a parameter, and its options: everything that a custom optimizer needs.
///
/// [`build`](Self::build) makes an optimizer from it, with parameter groups, states, checkpoints and all checks
/// ([`RuleOptimizer`]). The options are saved with the state, so they are `Serialize` and `Deserialize`.
///
/// # Example
///
/// Sign gradient descent:
///
/// ```
/// use module_nn::Tolerance;
/// use module_nn::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct SignSGD {
///     lr: f64,
/// }
///
/// impl UpdateRule for SignSGD {
///     const NAME: &'static str = "SignSGD";
///     type State = ();
///
///     fn lr(&self) -> f64 {
///         self.lr
///     }
///
///     fn set_lr(&mut self, lr: f64) {
///         self.lr = lr;
///     }
///
///     // Ranks may each move a part of a parameter.
///     fn is_elementwise(&self) -> bool {
///         true
///     }
///
///     fn update(&self, value: &Tensor, grad: &Tensor, _: &mut Option<()>) -> Result<Tensor> {
///         value.add_scaled(&grad.sign()?, -self.lr)
///     }
/// }
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = SignSGD { lr: 0.5 }.build(&model)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// let before = model.weight().detach();
/// optimizer.step(&model)?;
/// let moved = model.weight().detach().sub(&before)?;
/// assert!(moved.allclose(&Tensor::full([1, 2], -0.5, DType::F32)?, Tolerance::new().atol(1e-6))?);
/// # Ok::<(), Error>(())
/// ```
///
/// A rule with a momentum, which schedules may move, and which refuses what it cannot do:
///
/// ```
/// use module_nn::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Heavy {
///     lr: f64,
///     momentum: f64,
/// }
///
/// impl UpdateRule for Heavy {
///     const NAME: &'static str = "Heavy";
///     type State = Tensor;
///
///     fn check_parameter(&self, path: &str, value: &Tensor) -> Result<()> {
///         match value.rank() {
///             2 => Ok(()),
///             _ => Err(Error::argument("Heavy", "parameter", path, "must be a matrix")),
///         }
///     }
///
///     fn check_states(&self, states: &[&Tensor]) -> Result<()> {
///         if self.momentum == 0.0 && !states.is_empty() {
///             let problem = "must be above 0, because there are states";
///             return Err(Error::argument("Heavy", "momentum", self.momentum, problem));
///         }
///         Ok(())
///     }
///
///     fn lr(&self) -> f64 {
///         self.lr
///     }
///
///     fn set_lr(&mut self, lr: f64) {
///         self.lr = lr;
///     }
///
///     fn momentum(&self) -> Option<f64> {
///         Some(self.momentum)
///     }
///
///     fn set_momentum(&mut self, momentum: f64) {
///         self.momentum = momentum;
///     }
///
///     fn update(&self, value: &Tensor, grad: &Tensor, state: &mut Option<Tensor>) -> Result<Tensor> {
///         let momentum = match state.take() {
///             Some(before) => grad.add_scaled(&before, self.momentum)?,
///             None => grad.clone(),
///         };
///         *state = Some(momentum.clone());
///         value.add_scaled(&momentum, -self.lr)
///     }
/// }
///
/// let mut heavy = Heavy { lr: 0.1, momentum: 0.9 };
/// let matrix = Tensor::zeros([2, 2], DType::F32)?;
/// assert!(heavy.check_parameter("bias", &matrix.select(0, 0)?).is_err());
/// assert!(heavy.build(&Linear::new(2, 1)?).is_err()); // Its bias is a vector.
/// heavy.set_momentum(0.0);
/// assert!(heavy.check_states(&[&matrix]).is_err());
/// # Ok::<(), Error>(())
/// ```
pub trait UpdateRule: Clone + Serialize + DeserializeOwned {
    /// The name of the optimizer, which is saved with its state: a state can be loaded only by an optimizer with this name.
    const NAME: &'static str;

    /// The state of each parameter between steps.
    type State: ParamState;

    /// Refuses options outside their ranges. Called before an optimizer is built, and before options are set or loaded.
    ///
    /// # Errors
    ///
    /// The option, its value and its range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Refuses a parameter that the rule cannot move. Called for each one when an optimizer is built.
    ///
    /// # Errors
    ///
    /// A parameter that the rule cannot move.
    fn check_parameter(&self, path: &str, value: &Tensor) -> Result<()> {
        let _ = (path, value);
        Ok(())
    }

    /// Refuses states made with options from which these cannot continue. Called with the states of all parameters that
    /// have the options, before options are set or loaded.
    ///
    /// # Errors
    ///
    /// The option that does not fit.
    fn check_states(&self, states: &[&Self::State]) -> Result<()> {
        let _ = states;
        Ok(())
    }

    /// The learning rate.
    fn lr(&self) -> f64;

    /// Sets the learning rate.
    fn set_lr(&mut self, lr: f64);

    /// The momentum, if there is one: [`CyclicLR`](super::CyclicLR) and [`OneCycleLR`](super::OneCycleLR) move it inversely
    /// to the learning rate.
    fn momentum(&self) -> Option<f64> {
        None
    }

    /// Sets the momentum, if there is one.
    fn set_momentum(&mut self, momentum: f64) {
        let _ = momentum;
    }

    /// Whether each element moves by its own gradient and state alone, whatever the parameter's shape, so that ranks can each
    /// move a part of it; by default, whether the rule is one formula ([`update_in_place`](Self::update_in_place)).
    fn is_elementwise(&self) -> bool {
        Self::update_in_place().is_some()
    }

    /// The next value of a parameter, from its value, its gradient and its state, which is `None` at the first step and
    /// after the parameter was frozen. Nothing is tracked.
    ///
    /// # Errors
    ///
    /// Any error of the computation; then the state must be unchanged.
    fn update(
        &self,
        value: &Tensor,
        grad: &Tensor,
        state: &mut Option<Self::State>,
    ) -> Result<Tensor>;

    /// The same as a kernel, for the optimizers of this crate.
    #[doc(hidden)]
    fn update_in_place() -> Option<UpdateInPlace<Self>> {
        None
    }

    /// An optimizer of all parameters of a model.
    ///
    /// # Errors
    ///
    /// Options that [`check`](Self::check) refuses, parameters that [`check_parameter`](Self::check_parameter) refuses.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// assert_eq!(optimizer.lr(), 0.1);
    /// assert!(SGDConfig::new(-0.1).build(&model).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    fn build(&self, model: &dyn Module) -> Result<RuleOptimizer<Self>> {
        ParamGroups::new(self.clone()).build(model)
    }

    /// Different options for the parameters that `select` covers; these options are the defaults. Add more groups, and then
    /// call `build`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // Biases and norms do not decay.
    /// let config = AdamWConfig::new(1e-3).group("**.{bias,norm*.weight}", |g| g.weight_decay(0.0));
    /// let optimizer = config.build(&Linear::new(2, 1)?)?;
    /// assert_eq!(optimizer.groups()[1].parameters, ["bias"]);
    /// let model = [Linear::new(2, 2)?, Linear::new(2, 1)?];
    /// let config = SGDConfig::new(0.1).group("0", |g| SGDConfig { lr: 0.01, ..g });
    /// assert_eq!(config.build(&model)?.group_lrs(), [0.1, 0.01]);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    fn group(
        self,
        select: impl Into<Select>,
        change: impl FnOnce(Self) -> Self,
    ) -> ParamGroups<Self> {
        ParamGroups::new(self).group(select, change)
    }
}

/// [`UpdateRule::update`] in place, if no other handle shares the value's memory. It must keep shape, dtype and device, and
/// must not access the parameter, which is locked meanwhile: only this crate can make one.
#[doc(hidden)]
pub struct UpdateInPlace<R: UpdateRule>(pub(super) StepInPlace<R>);

/// A function of the options, the value, its gradient and its state.
type StepInPlace<R> =
    fn(&R, &mut Tensor, &Tensor, &mut Option<<R as UpdateRule>::State>) -> Result<()>;

/// An in-place step, on a copy of the value.
pub(super) fn update_copy<R: UpdateRule>(
    step: StepInPlace<R>,
    rule: &R,
    value: &Tensor,
    grad: &Tensor,
    state: &mut Option<R::State>,
) -> Result<Tensor> {
    let mut value = value.clone();
    step(rule, &mut value, grad, state)?;
    Ok(value)
}

/// An optimizer that moves each parameter by an [`UpdateRule`], with the options of its group.
///
/// [`SGD`](super::SGD) and [`AdamW`](super::AdamW) are such optimizers. [`ParamGroups::build`] makes one.
///
/// # Example
///
/// ```
/// use module_nn::optim::RuleOptimizer;
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let config = SGDConfig::new(0.1).group("bias", |options| SGDConfig { lr: 0.2, ..options });
/// let mut optimizer: RuleOptimizer<SGDConfig> = config.build(&model)?; // This is `SGD`.
/// optimizer.set_lr(0.05)?;
/// assert_eq!(optimizer.group_lrs(), [0.05, 0.1]);
/// optimizer.set_group_lr(1, 0.3)?;
/// assert_eq!(optimizer.groups()[1].options.lr, 0.3);
/// // All options of a group at once, such as after a warm-up.
/// optimizer.set_group_options(0, SGDConfig::new(0.1).momentum(0.9))?;
/// assert_eq!(optimizer.group_momentums(), [Some(0.9), Some(0.0)]);
/// assert!(optimizer.set_group_options(0, SGDConfig::new(-1.0)).is_err());
/// # Ok::<(), Error>(())
/// ```
pub struct RuleOptimizer<R: UpdateRule> {
    pub(super) groups: Vec<ParamGroup<R>>,
    /// The learning rate of each group as a multiple of that of the first.
    pub(super) lr_scales: Vec<f64>,
    /// The learning rate of each group from before the first schedule.
    pub(super) initial_lrs: Option<Vec<f64>>,
    /// The number of the group of each parameter, in the model's order.
    pub(super) group_of: Vec<usize>,
    pub(super) states: ParamStates<R::State>,
}

impl<R: UpdateRule> ParamGroups<R> {
    /// An optimizer of all parameters of a model.
    ///
    /// # Errors
    ///
    /// Options and parameters that the rule refuses, and those of [`resolve`](Self::resolve).
    pub fn build(&self, model: &dyn Module) -> Result<RuleOptimizer<R>> {
        for options in self.options() {
            options.check()?;
        }
        let (groups, group_of) = self.resolve_numbered(model)?;
        let states = ParamStates::new(model);
        for ((path, value), &group) in states.values().zip(&group_of) {
            groups[group].options.check_parameter(path, &value)?;
        }
        let mut optimizer = RuleOptimizer {
            group_of,
            lr_scales: vec![1.0; groups.len()],
            initial_lrs: None,
            groups,
            states,
        };
        optimizer.find_lr_scales(0);
        Ok(optimizer)
    }
}

impl<R: UpdateRule> RuleOptimizer<R> {
    /// The parameter groups with their options; the first one holds the parameters that no selection covers.
    pub fn groups(&self) -> &[ParamGroup<R>] {
        &self.groups
    }

    /// Replaces the options of a group.
    ///
    /// # Errors
    ///
    /// A group that does not exist, options that the rule refuses, also because of existing states; then nothing is
    /// changed.
    pub fn set_group_options(&mut self, group: usize, options: R) -> Result<()> {
        options.check()?;
        self.check_states(group, &options, self.states.all())?;
        self.group_mut("set_group_options", group)?.options = options;
        self.find_lr_scales(group);
        Ok(())
    }

    /// The states of the parameters.
    pub fn states(&self) -> &ParamStates<R::State> {
        &self.states
    }

    /// Checks the options of a group against the states of its parameters, out of those of all parameters.
    pub(super) fn check_states<'a>(
        &self,
        group: usize,
        options: &R,
        states: impl Iterator<Item = Option<&'a R::State>>,
    ) -> Result<()>
    where
        R::State: 'a,
    {
        let states = self.group_of.iter().zip(states);
        let own = states.filter(|(number, _)| **number == group);
        let own: Vec<&R::State> = own.filter_map(|(_, state)| state).collect();
        options.check_states(&own)
    }

    pub(super) fn group_mut(
        &mut self,
        op: &'static str,
        group: usize,
    ) -> Result<&mut ParamGroup<R>> {
        let groups = self.groups.len();
        let found = self.groups.get_mut(group);
        found.ok_or_else(|| OptimizerError::NoGroup { op, group, groups }.into())
    }

    /// Computes the ratio of a group's learning rate to that of the first group, or those of all groups. There is no ratio
    /// to a rate of 0; the ratio then stays the same.
    pub(super) fn find_lr_scales(&mut self, changed: usize) {
        let lrs = self.group_lrs();
        find_scales(&lrs, &mut self.lr_scales, changed);
    }
}
