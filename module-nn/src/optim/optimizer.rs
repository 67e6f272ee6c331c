use module_core::{Module, ModuleExt, Result, Snapshot, Stateful};

use super::OptimizerError;

/// Moves the parameters of a model by their gradients.
///
/// State, such as momentum, is kept under the parameter's path. A model whose parameters differ from those that the
/// optimizer was built with is an error that names the paths, so that a replaced layer cannot silently stay untrained.
///
/// A `Box<dyn Optimizer>` steps, and is saved and restored, like any other.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut model = Linear::new(2, 1)?;
/// let mut optimizer: Box<dyn Optimizer> = Box::new(AdamW::new(&model, 1e-3)?);
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// optimizer.step(&model)?;
///
/// let checkpoint = TrainingCheckpoint::new(0, 1).with("model", &model)?;
/// let checkpoint = checkpoint.with("optimizer", &optimizer)?;
/// checkpoint.restore("model", &mut model)?;
/// checkpoint.restore("optimizer", &mut optimizer)?;
/// # Ok::<(), Error>(())
/// ```
pub trait Optimizer: Stateful {
    /// Moves every parameter that has a gradient; the gradients stay.
    ///
    /// A paused parameter ([`set_requires_grad(false)`](module_core::Parameter::set_requires_grad)) is not moved, even if
    /// it still has a gradient, by which PyTorch would move it; its state stays. A frozen one
    /// ([`freeze`](module_core::Parameter::freeze)) is not moved, and its state is dropped, even if it has been unfrozen
    /// since.
    ///
    /// # Errors
    ///
    /// Parameters that differ from those that the optimizer was built with, no gradients; then nothing is moved.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
    /// optimizer.step(&model)?;
    /// model.zero_grad();
    /// assert!(optimizer.step(&model).is_err()); // There is no gradient.
    /// # Ok::<(), Error>(())
    /// ```
    fn step(&mut self, model: &dyn Module) -> Result<()>;

    /// Whether [`step`](Self::step) moves each element by its own gradient and state alone, so that training that divides
    /// parameters among ranks moves their parts as it would move the whole. For an optimizer that does not say, it is
    /// false.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 2)?;
    /// assert!(AdamW::new(&model, 1e-3)?.is_elementwise());
    /// // It keeps one number for a row and one for a column.
    /// assert!(!Adafactor::new(&model, 1e-2)?.is_elementwise());
    /// # Ok::<(), Error>(())
    /// ```
    fn is_elementwise(&self) -> bool {
        false
    }

    /// Clears every gradient of the model, like `model.zero_grad()`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
    /// optimizer.zero_grad(&model);
    /// assert!(model.weight().grad().is_none());
    /// # Ok::<(), Error>(())
    /// ```
    fn zero_grad(&self, model: &dyn Module) {
        model.zero_grad();
    }

    /// The learning rate, of the first group if there are several.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// assert_eq!(optimizer.lr(), 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    fn lr(&self) -> f64;

    /// Sets the learning rate, as a schedule does. With several groups, this is the first one's, and the others keep their
    /// ratios to it, even through a rate of 0.
    ///
    /// # Errors
    ///
    /// A learning rate that is negative or NaN, for any of the groups; then nothing is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// optimizer.set_lr(0.01)?;
    /// assert_eq!(optimizer.lr(), 0.01);
    /// assert!(optimizer.set_lr(-1.0).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    fn set_lr(&mut self, lr: f64) -> Result<()>;

    /// The learning rate of each group.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// assert_eq!(optimizer.group_lrs(), [0.1]);
    /// # Ok::<(), Error>(())
    /// ```
    fn group_lrs(&self) -> Vec<f64> {
        vec![self.lr()]
    }

    /// Sets the learning rate of one group: PyTorch's `param_groups[i]["lr"]`.
    ///
    /// # Errors
    ///
    /// A group that does not exist, a learning rate that is negative or NaN; then nothing is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// optimizer.set_group_lr(0, 0.2)?;
    /// assert!(optimizer.set_group_lr(1, 0.2).is_err()); // There is one group.
    /// # Ok::<(), Error>(())
    /// ```
    fn set_group_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        if group > 0 {
            let (op, groups) = ("set_group_lr", 1);
            return Err(OptimizerError::NoGroup { op, group, groups }.into());
        }
        self.set_lr(lr)
    }

    /// The learning rate of each group from before the first schedule: PyTorch's `param_groups[i]["initial_lr"]`. `None` if
    /// there has been no schedule, and for an optimizer that does not keep them: every schedule then starts from the
    /// current learning rates.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// assert!(optimizer.initial_lrs().is_none());
    /// let _schedule = StepLRConfig::new(1).build(&mut optimizer)?;
    /// assert_eq!(optimizer.initial_lrs(), Some(vec![0.1]));
    /// # Ok::<(), Error>(())
    /// ```
    fn initial_lrs(&self) -> Option<Vec<f64>> {
        None
    }

    /// Sets the learning rates that [`initial_lrs`](Self::initial_lrs) returns, as the first schedule does. Set these
    /// before building new schedules that should continue from the current learning rates.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// optimizer.set_initial_lrs(&[0.1]);
    /// assert_eq!(optimizer.initial_lrs(), Some(vec![0.1]));
    /// # Ok::<(), Error>(())
    /// ```
    fn set_initial_lrs(&mut self, lrs: &[f64]) {
        let _ = lrs;
    }

    /// The momentum of each group, or the value that a schedule changes instead (`betas.0` of [`AdamW`](super::AdamW));
    /// `None` for a group without one.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// assert_eq!(optimizer.group_momentums(), [Some(0.9)]);
    /// # Ok::<(), Error>(())
    /// ```
    fn group_momentums(&self) -> Vec<Option<f64>> {
        vec![None; self.group_lrs().len()]
    }

    /// Sets the momentum of one group, as a schedule does.
    ///
    /// # Errors
    ///
    /// A group that does not exist, one without momentum, a momentum outside its range; then nothing is
    /// changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// optimizer.set_group_momentum(0, 0.5)?;
    /// assert_eq!(optimizer.group_momentums(), [Some(0.5)]);
    /// # Ok::<(), Error>(())
    /// ```
    fn set_group_momentum(&mut self, group: usize, momentum: f64) -> Result<()> {
        let (op, groups) = ("set_group_momentum", self.group_lrs().len());
        if group >= groups {
            return Err(OptimizerError::NoGroup { op, group, groups }.into());
        }
        let _ = momentum;
        Err(OptimizerError::NoMomentum { op, group }.into())
    }
}

impl Stateful for Box<dyn Optimizer> {
    fn state(&self) -> Result<Snapshot> {
        (**self).state()
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        (**self).load_state(state)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        (**self).hyperparameters()
    }
}
