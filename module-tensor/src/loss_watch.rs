use std::rc::Rc;

use crate::tensor::Tensor;
use crate::watchers::{Watchers, watch_while, watching};

/// A loss that is about to be computed, as [`watch_losses`] shows it.
///
/// Losses of other crates call [`show`](Self::show), so that watchers see their targets too.
#[derive(Clone, Copy, Debug)]
pub struct LossCall<'l> {
    /// The name of the function, such as `cross_entropy`.
    pub name: &'static str,
    /// The prediction: logits, probabilities or numbers.
    pub input: &'l Tensor,
    /// The target.
    pub target: &'l Tensor,
    /// The ignored class, if targets are classes.
    pub ignore_index: Option<i64>,
}

thread_local! {
    static WATCHERS: Watchers<dyn Fn(LossCall<'_>)> = const { Watchers::new() };
}

impl<'l> LossCall<'l> {
    /// A classification loss.
    pub(crate) fn of_classes(
        name: &'static str,
        [input, target]: [&'l Tensor; 2],
        ignore_index: i64,
    ) -> Self {
        Self {
            name,
            input,
            target,
            ignore_index: Some(ignore_index),
        }
    }

    /// Shows it to the watchers; without watchers this only checks a flag.
    ///
    /// # Example
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    ///
    /// use module_tensor::{LossCall, Result, Tensor, watch_losses};
    ///
    /// fn log_cosh_loss(input: &Tensor, target: &Tensor) -> Result<Tensor> {
    ///     let ignore_index = None;
    ///     LossCall { name: "log_cosh_loss", input, target, ignore_index }.show();
    ///     input.sub(target)?.cosh()?.log()?.mean(..)
    /// }
    ///
    /// let name = Rc::new(Cell::new(""));
    /// let seen = name.clone();
    /// let x = Tensor::from([1.0_f32, 2.0]);
    /// watch_losses(move |loss| seen.set(loss.name), || log_cosh_loss(&x, &x))?;
    /// assert_eq!(name.get(), "log_cosh_loss");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn show(self) {
        for watch in watching(&WATCHERS).unwrap_or_default() {
            watch(self);
        }
    }
}

/// Runs `f`, and calls `watch` before each loss that a function of a prediction and a target computes on this thread, such
/// as [`Tensor::cross_entropy`].
///
/// Inside `autocast`, the tensors have the dtype in which the loss is computed. Without watchers, a loss only checks a
/// flag.
///
/// # Example
///
/// ```
/// use std::{cell::RefCell, rc::Rc};
///
/// use module_tensor::{Tensor, watch_losses};
///
/// let targets = Rc::new(RefCell::new(Vec::new()));
/// let seen = targets.clone();
/// let (logits, classes) = (Tensor::from([[0.0_f32, 1.0]]), Tensor::from([1_i64]));
/// watch_losses(
///     move |loss| seen.borrow_mut().push((loss.name, loss.target.clone(), loss.ignore_index)),
///     || logits.cross_entropy(&classes, Default::default()),
/// )?;
/// logits.cross_entropy(&classes, Default::default())?;
/// let targets = targets.borrow();
/// let [(name, target, ignored)] = &targets[..] else { panic!("{targets:?}") };
/// assert_eq!((*name, *ignored), ("cross_entropy", Some(-100)));
/// assert!(target.equal(&classes)?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn watch_losses<R>(watch: impl Fn(LossCall<'_>) + 'static, f: impl FnOnce() -> R) -> R {
    watch_while(&WATCHERS, Rc::new(watch), f)
}
