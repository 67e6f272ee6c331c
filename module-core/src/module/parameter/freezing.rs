//! Whether a parameter is trained: pausing and freezing.

use super::Parameter;

impl Parameter {
    /// Whether the parameter is trained: not paused, frozen or [packed](Self::set_packed).
    pub fn requires_grad(&self) -> bool {
        let state = self.read();
        state.requires_grad && !state.value.is_packed()
    }

    /// Pauses or resumes the training of the parameter: PyTorch's `requires_grad_`.
    ///
    /// While it is paused, [`tensor`](Self::tensor) is not tracked, a backward pass adds nothing to its gradient, not even
    /// through a graph recorded before, and no optimizer moves it. The existing gradient stays, and so does the optimizers'
    /// state, such as momentum: training resumes with both. The two networks of a GAN pause each other this way. `true`
    /// also unfreezes a frozen parameter.
    ///
    /// PyTorch's optimizers move a parameter that is paused and still has a gradient; ours do not. To stop training a
    /// parameter for good, [freeze](Self::freeze) it.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Parameter, Tensor};
    ///
    /// let weight = Parameter::new(Tensor::from([1.0_f32, 2.0]))?;
    /// let loss = weight.tensor().sum(..)?;
    /// loss.backward()?;
    /// weight.set_requires_grad(false);
    /// assert!(!weight.tensor().requires_grad());
    /// assert_eq!(weight.grad().unwrap().to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn set_requires_grad(&self, requires_grad: bool) {
        let mut state = self.write();
        state.requires_grad = requires_grad;
        state.frozen &= !requires_grad;
        self.0.leaf.set_requires_grad(requires_grad);
    }

    /// Ends the training of the parameter until [`unfreeze`](Self::unfreeze): it is paused as by
    /// [`set_requires_grad(false)`](Self::set_requires_grad), its gradient is dropped, and optimizers drop the state that
    /// they keep of it.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Parameter, Tensor};
    ///
    /// let weight = Parameter::new(Tensor::from([1.0_f32, 2.0]))?;
    /// weight.tensor().sum(..)?.backward()?;
    /// weight.freeze();
    /// assert!(weight.is_frozen() && !weight.requires_grad() && weight.grad().is_none());
    /// weight.unfreeze();
    /// assert!(!weight.is_frozen() && weight.requires_grad());
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn freeze(&self) {
        let mut state = self.write();
        state.requires_grad = false;
        state.frozen = true;
        state.freezes = state.freezes.wrapping_add(1);
        self.0.leaf.set_requires_grad(false);
        // A gradient may hold a graph with users' functions, which are dropped without holding the lock.
        drop(state);
        self.0.leaf.set_grad(None);
    }

    /// Resumes the training of the parameter, whether it was frozen or paused. Optimizers start without state for a
    /// parameter that was frozen.
    pub fn unfreeze(&self) {
        self.set_requires_grad(true);
    }

    /// Whether the parameter is [frozen](Self::freeze), not just paused.
    pub fn is_frozen(&self) -> bool {
        self.read().frozen
    }

    /// How often the parameter was [frozen](Self::freeze). An optimizer drops the state of a parameter from before it was
    /// frozen, even if it is trained again by the next step; pauses do not count.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Parameter, Tensor};
    ///
    /// let weight = Parameter::new(Tensor::from(1.0_f32))?;
    /// let before = weight.freezes();
    /// weight.set_requires_grad(false); // A pause.
    /// weight.unfreeze();
    /// assert_eq!(weight.freezes(), before);
    /// weight.freeze();
    /// weight.unfreeze();
    /// assert_eq!(weight.freezes(), before + 1);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn freezes(&self) -> u64 {
        self.read().freezes
    }
}
