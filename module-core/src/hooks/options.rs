/// Where a hook goes among others, and when else it runs: PyTorch's keyword arguments.
///
/// # Example
///
/// ```
/// use std::{cell::RefCell, rc::Rc};
///
/// use module_core::hooks::HookOptions;
/// use module_core::{Call, Identity, ModuleExt, Tensor};
///
/// let (layer, order) = (Identity::new(), Rc::new(RefCell::new(Vec::new())));
/// let (a, b) = (order.clone(), order.clone());
/// let _a = layer.register_forward_hook(move |_| a.borrow_mut().push("a"));
/// let first = HookOptions::new().prepend(true);
/// let _b = layer.register_forward_hook_with(first, move |_| b.borrow_mut().push("b"));
/// layer.call(Tensor::from(1.0_f32))?;
/// assert_eq!(order.take(), ["b", "a"]);
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookOptions {
    pub(super) prepend: bool,
    pub(super) always_call: bool,
    pub(super) this_thread: bool,
}

impl HookOptions {
    /// After those that are registered, and only where the call succeeds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it runs before those of its kind that are registered on the same module.
    #[must_use]
    pub fn prepend(self, prepend: bool) -> Self {
        Self { prepend, ..self }
    }

    /// Whether a forward hook also runs, once, when the call fails by an error or a panic; it has no
    /// meaning for the other kinds, as in PyTorch.
    #[must_use]
    pub fn always_call(self, always_call: bool) -> Self {
        Self {
            always_call,
            ..self
        }
    }
}

impl HookOptions {
    /// Turns off the report of calls on other threads that [miss](super::missed_hooks) the hook. A hook runs on
    /// its own thread in any case.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::hooks::HookOptions;
    /// use module_core::{Call, Error, Identity, ModuleExt, Tensor};
    ///
    /// let layer = Identity::new();
    /// let own = HookOptions::new().this_thread(true);
    /// let _hook = layer.register_forward_hook_with(own, |_| Err::<(), _>(Error::custom("refused")));
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| layer.call(Tensor::from([1.0_f32])).unwrap());
    /// });
    /// assert!(!module_core::hooks::missed_hooks().iter().any(|missed| missed.module == "Identity"));
    /// ```
    #[must_use]
    pub fn this_thread(self, this_thread: bool) -> Self {
        Self {
            this_thread,
            ..self
        }
    }
}
