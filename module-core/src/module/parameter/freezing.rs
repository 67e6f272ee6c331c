//! Whether a parameter is trained: pausing and freezing.

use super::Parameter;

impl Parameter {
    /// Whether the parameter is trained, and neither paused, frozen nor [packed](Self::set_packed).
    pub fn requires_grad(&self) -> bool {
        let state = self.read();
        state.requires_grad && !state.value.is_packed()
    }

    /// Pauses the training of the parameter, or lets it go on: PyTorch's `requires_grad_`.
    ///
    /// While it is paused, [`tensor`](Self::tensor) is not tracked, a backward pass adds nothing to its
    /// gradient, not even through a graph recorded before, and no optimizer moves it. The gradient that is
    /// there stays, and so does the state that optimizers keep, such as momentum: when training goes on,
    /// it goes on with both. So the two networks of a GAN pause each other in turn. `true` also lets a frozen
    /// parameter be trained again.
    ///
    /// PyTorch's optimizers move a parameter that is paused and still has a gradient; ours do not. What is not
    /// to be trained any more is [frozen](Self::freeze).
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
    /// [`set_requires_grad(false)`](Self::set_requires_grad), its gradient is dropped, and optimizers drop
    /// the state that they keep of it.
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
        // A gradient may hold a graph, and that functions of users, which are dropped without the lock.
        drop(state);
        self.0.leaf.set_grad(None);
    }

    /// Lets the parameter be trained again, whether it was frozen or paused. Optimizers start with no state
    /// of a parameter that was frozen.
    pub fn unfreeze(&self) {
        self.set_requires_grad(true);
    }

    /// Whether the parameter is [frozen](Self::freeze), and not paused only.
    pub fn is_frozen(&self) -> bool {
        self.read().frozen
    }

    /// How often the parameter was [frozen](Self::freeze). An optimizer drops the state of a parameter from
    /// before it was frozen, also where it is trained again by the next step; pauses do not count.
    pub fn freezes(&self) -> u64 {
        self.read().freezes
    }
}
