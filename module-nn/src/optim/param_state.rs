use indexmap::IndexMap;
use module_core::{Result, Tensor};

/// The state that an optimizer keeps for one parameter between steps.
///
/// It is saved as named tensors, with PyTorch's names if PyTorch has such a state. A [`Tensor`] alone is a state, saved as
/// `momentum_buffer`, and `()` is the state of a rule that keeps nothing.
///
/// # Example
///
/// ```
/// use module_core::{Result, Tensor};
/// use module_nn::optim::{ParamState, Slots};
///
/// struct Moments {
///     exp_avg: Tensor,
///     exp_avg_sq: Tensor,
/// }
///
/// impl ParamState for Moments {
///     fn tensor(&self) -> Option<&Tensor> {
///         Some(&self.exp_avg)
///     }
///
///     fn slots(&self) -> Result<Vec<(&'static str, Tensor)>> {
///         let (first, second) = (self.exp_avg.clone(), self.exp_avg_sq.clone());
///         Ok(vec![("exp_avg", first), ("exp_avg_sq", second)])
///     }
///
///     fn from_slots(slots: &mut Slots) -> Result<Self, String> {
///         let (exp_avg, exp_avg_sq) = (slots.take("exp_avg")?, slots.take("exp_avg_sq")?);
///         Ok(Self { exp_avg, exp_avg_sq })
///     }
/// }
/// ```
pub trait ParamState: Sized {
    /// The names of tensors that differ from the parameter in shape or dtype, such as a step count. Loading checks that all
    /// others match the parameter, and leaves these to [`from_slots`](Self::from_slots).
    const UNLIKE_PARAMETER: &'static [&'static str] = &[];

    /// A tensor that matches the parameter in shape, dtype and device, if the state has one. Each step checks that it still
    /// matches after casts and moves of the parameter.
    fn tensor(&self) -> Option<&Tensor> {
        None
    }

    /// The tensors of the state, by name.
    ///
    /// # Errors
    ///
    /// A state that cannot be saved.
    fn slots(&self) -> Result<Vec<(&'static str, Tensor)>>;

    /// Restores the state from these tensors; unused ones are refused afterwards.
    ///
    /// # Errors
    ///
    /// The problem, in words: a tensor that is missing or does not match.
    fn from_slots(slots: &mut Slots<'_>) -> Result<Self, String>;
}

/// The saved tensors of one parameter's state, by name.
///
/// # Example
///
/// ```
/// use module_nn::optim::{ParamState, Slots};
/// use module_nn::prelude::*;
///
/// /// A momentum that only some options keep.
/// struct Momentum(Option<Tensor>);
///
/// impl ParamState for Momentum {
///     fn slots(&self) -> Result<Vec<(&'static str, Tensor)>> {
///         Ok(self.0.iter().map(|momentum| ("momentum_buffer", momentum.clone())).collect())
///     }
///
///     fn from_slots(slots: &mut Slots<'_>) -> Result<Self, String> {
///         Ok(Self(slots.take_optional("momentum_buffer")))
///     }
/// }
///
/// // No tensor was saved.
/// assert!(Momentum::from_slots(&mut Slots::default()).unwrap().0.is_none());
/// assert_eq!(Momentum(Some(Tensor::from(1.0_f32))).slots()?[0].0, "momentum_buffer");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Slots<'a>(pub(super) IndexMap<&'a str, Tensor>);

impl Slots<'_> {
    /// Removes and returns a tensor.
    ///
    /// # Errors
    ///
    /// There is not a tensor with this name.
    pub fn take(&mut self, name: &str) -> Result<Tensor, String> {
        let found = self.take_optional(name);
        found.ok_or_else(|| format!("`{name}` is missing"))
    }

    /// Removes and returns a tensor, if there is one with this name.
    pub fn take_optional(&mut self, name: &str) -> Option<Tensor> {
        self.0.shift_remove(name)
    }
}

impl ParamState for Tensor {
    fn tensor(&self) -> Option<&Tensor> {
        Some(self)
    }

    fn slots(&self) -> Result<Vec<(&'static str, Tensor)>> {
        Ok(vec![("momentum_buffer", self.clone())])
    }

    fn from_slots(slots: &mut Slots<'_>) -> Result<Self, String> {
        slots.take("momentum_buffer")
    }
}

impl ParamState for () {
    fn slots(&self) -> Result<Vec<(&'static str, Tensor)>> {
        Ok(Vec::new())
    }

    fn from_slots(_: &mut Slots<'_>) -> Result<Self, String> {
        Ok(())
    }
}
