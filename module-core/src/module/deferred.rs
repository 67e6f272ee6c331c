use std::cell::Cell;

thread_local! {
    static DEFERRED: Cell<bool> = const { Cell::new(false) };
}

/// Builds a model whose parameters have no values until they are loaded or drawn.
///
/// During the call, on this thread, [`Parameter::with_init`](crate::Parameter::with_init) and
/// [`Parameter::initialize`](crate::Parameter::initialize) record the shape, the dtype and the initializer, and neither
/// allocate nor draw, so that the generator is unchanged; a reset with a seed gives, bit for bit, the values of a
/// construction with that seed. Parameters and buffers made from tensors have their values as usual. Then
/// [`load`](crate::ModuleExt::load) gives each parameter the file's values without an extra copy, and
/// [`reset_parameters`](crate::ModuleExt::reset_parameters), or
/// [`LoadReport::reset_not_loaded`](crate::LoadReport::reset_not_loaded) after a partial load, draws them.
///
/// Shapes, dtypes, casts, `num_parameters` and the module tree work before that; computing with a parameter that has no
/// values, or saving it, is an error.
///
/// # Example
///
/// ```
/// use module_core::module::ConstantInit;
/// use module_core::{ModuleExt, Parameter, deferred};
///
/// let weights = deferred(|| Parameter::with_init([1000, 1000], ConstantInit(0.5)).map(|w| [w]))?;
/// assert_eq!(weights.num_parameters(), 1_000_000);
/// assert_eq!(
///     weights[0].tensor().sum(..).unwrap_err().to_string(),
///     "a parameter of shape [1000, 1000] has no values yet; load a checkpoint or call \
///      `reset_parameters`"
/// );
/// weights.reset_parameters()?;
/// assert_eq!(weights[0].tensor().mean(..)?.item::<f32>()?, 0.5);
/// # Ok::<(), module_core::Error>(())
/// ```
#[doc(alias = "skip_init")]
pub fn deferred<R>(build: impl FnOnce() -> R) -> R {
    /// Ends the mode even if `build` panics.
    struct Before(bool);

    impl Drop for Before {
        fn drop(&mut self) {
            DEFERRED.set(self.0);
        }
    }

    let _before = Before(DEFERRED.replace(true));
    build()
}

pub(super) fn is_deferred() -> bool {
    DEFERRED.get()
}
