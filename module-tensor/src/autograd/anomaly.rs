use std::cell::Cell;

use crate::tensor::{Tensor, no_grad};
use crate::{AutogradError, DType, Error, Result};

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(false) };
}

/// Whether backward passes on this thread look for gradients that are not finite.
///
/// # Example
///
/// ```
/// use module_tensor::autograd::{detect_anomaly, is_anomaly_enabled};
///
/// assert!(!is_anomaly_enabled());
/// assert!(detect_anomaly(is_anomaly_enabled));
/// ```
pub fn is_anomaly_enabled() -> bool {
    ENABLED.with(Cell::get)
}

/// Runs `f` with backward passes on this thread stopping where a gradient with a NaN or an infinity
/// first appears: PyTorch's `torch.autograd.detect_anomaly`.
///
/// Such a pass is [`AutogradError::NonFinite`], which names the operation in whose backward it
/// appeared and the input whose gradient it is, and changes no leaf; a gradient that the pass was
/// given, or that a hook put in, is an [`ErrorKind::Argument`](crate::ErrorKind::Argument). PyTorch
/// lets infinities pass, and names the operation where they turn into NaN, which is rarely the one at fault.
///
/// Every gradient is read once more, so use this only to find a fault; other passes only read a flag.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, autograd::detect_anomaly};
///
/// let x = Tensor::from([4.0_f32, 0.0]).with_grad()?;
/// let y = x.sqrt()?.mul(&x)?.sum(..)?;
/// let error = detect_anomaly(|| y.backward()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "backward: `sqrt` gave input 0, of shape [2], a gradient of NaN at element 1, the first that \
///      is not finite"
/// );
/// assert!(x.grad().is_none());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[doc(alias = "set_anomaly_enabled")]
pub fn detect_anomaly<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            ENABLED.set(self.0);
        }
    }

    let _restore = Restore(ENABLED.replace(true));
    f()
}

/// The first element that is a NaN or an infinity, and its index.
fn first(grad: &Tensor) -> Result<Option<(usize, f64)>> {
    no_grad(|| {
        let grad = grad.detach();
        if grad.isfinite()?.all(..)?.item::<bool>()? {
            return Ok(None);
        }
        let values = grad.to_dtype(DType::F64)?.to_vec::<f64>()?;
        let found = values.iter().enumerate().find(|(_, v)| !v.is_finite());
        Ok(found.map(|(i, &value)| (i, value)))
    })
}

/// Checks the gradient that `op` gave its input.
pub(super) fn check_input(op: &'static str, input: usize, grad: &Tensor) -> Result<()> {
    let Some((element, value)) = first(grad)? else {
        return Ok(());
    };
    Err(AutogradError::NonFinite {
        op,
        input,
        shape: grad.shape().clone(),
        element,
        value,
    }
    .into())
}

/// Checks a gradient that came from outside the graph.
pub(super) fn check_given(grad: &Tensor) -> Result<()> {
    let Some((element, value)) = first(grad)? else {
        return Ok(());
    };
    let shape = grad.shape();
    let problem = format!("element {element} of the gradient of shape {shape} is not finite");
    Err(Error::argument("backward", "grad", value, problem))
}
