use module_core::{Result, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ParamState;

/// The rule by which an optimizer moves a parameter, and its options: all that an optimizer of one's own needs.
///
/// [`ParamGroups::build`](super::ParamGroups::build) makes an optimizer of it, with groups of parameters,
/// states, checkpoints and all checks ([`RuleOptimizer`](super::RuleOptimizer)). The options are saved with
/// the state, so they are `Serialize` and `Deserialize`.
///
/// # Example
///
/// Gradient descent by the sign of the gradient:
///
/// ```
/// use module_nn::Tolerance;
/// use module_nn::optim::{ParamGroups, UpdateRule};
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
///     fn update(&self, value: &Tensor, grad: &Tensor, _: &mut Option<()>) -> Result<Tensor> {
///         value.add_scaled(&grad.sign()?, -self.lr)
///     }
/// }
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = ParamGroups::new(SignSGD { lr: 0.5 }).build(&model)?;
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// let before = model.weight().detach();
/// optimizer.step(&model)?;
/// let moved = model.weight().detach().sub(&before)?;
/// assert!(moved.allclose(&Tensor::full([1, 2], -0.5, DType::F32)?, Tolerance::new().atol(1e-6))?);
/// # Ok::<(), Error>(())
/// ```
pub trait UpdateRule: Clone + Serialize + DeserializeOwned {
    /// The name of the optimizer, which is saved with its state: a state is loaded only by an optimizer of
    /// this name.
    const NAME: &'static str;

    /// What is kept of each parameter between steps.
    type State: ParamState;

    /// Refuses options outside their ranges. It is asked before an optimizer is built, and before options are
    /// set or loaded.
    ///
    /// # Errors
    ///
    /// The option, its value and its range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Refuses states that were made with options that these cannot go on from. It is given those of all
    /// parameters that the options hold for, before options are set or loaded.
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

    /// The next value of a parameter, of its value, its gradient and its state, which is `None` at the first
    /// step, and after the parameter was frozen. Nothing is tracked.
    ///
    /// # Errors
    ///
    /// Whatever the computation raises; then the state must be as it was.
    fn update(
        &self,
        value: &Tensor,
        grad: &Tensor,
        state: &mut Option<Self::State>,
    ) -> Result<Tensor>;
}
