use super::run::Hooked;
use super::{Tensors, count, registry};
use crate::module::{Forward, Module, ModuleId, walk::path_to};
use crate::{Error, Result};
use module_tensor::error::Trace;

/// The method that users call on a module: PyTorch's `__call__`.
///
/// Every [`Forward`] has it, and nobody implements it by hand: `call` runs the hooks around
/// `forward`, and an error that leaves it carries the path of the module in which it happened.
///
/// # Example
///
/// ```
/// use module_core::{Call, Forward, Module, Parameter, Result, Tensor};
///
/// #[derive(Module)]
/// struct Head {
///     weight: Parameter,
/// }
///
/// impl Forward for Head {
///     type Output = Tensor;
///
///     fn forward(&self, input: Tensor) -> Result<Tensor> {
///         input.matmul(&self.weight.tensor())
///     }
/// }
///
/// #[derive(Module)]
/// struct Net {
///     head: Head,
/// }
///
/// impl Forward for Net {
///     type Output = Tensor;
///
///     fn forward(&self, input: Tensor) -> Result<Tensor> {
///         self.head.call(input)
///     }
/// }
///
/// let net = Net { head: Head { weight: Parameter::new(Tensor::from([[1.0_f32, 2.0]]))? } };
/// let error = net.call(Tensor::from([[1.0_f32, 2.0]])).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "head (Head): matmul: [1, 2] and [1, 2] do not fit: the inner sizes 2 and 1 must be equal"
/// );
/// # Ok::<(), module_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be called with `{Input}`",
    label = "no `Forward<{Input}>`"
)]
pub trait Call<Input>: Forward<Input> {
    /// Runs the hooks and [`forward`](Forward::forward).
    ///
    /// # Errors
    ///
    /// Those of `forward` and of the hooks, with the path of the module.
    fn call(&self, input: impl PassedAs<Input>) -> Result<Self::Output>;
}

/// The input itself; any other type is refused with the cure, which no plain argument could say.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is passed where the module takes `{Input}`",
    label = "not `{Input}`",
    note = "inputs are passed by value: write `x.clone()` for a tensor `x` that is needed later, which copies no elements"
)]
pub trait PassedAs<Input> {
    fn pass(self) -> Input;
}

#[diagnostic::do_not_recommend]
impl<I> PassedAs<I> for I {
    #[inline]
    fn pass(self) -> I {
        self
    }
}

impl<I, M> Call<I> for M
where
    I: Tensors,
    M: Forward<I, Output: Tensors> + ?Sized,
{
    #[inline]
    fn call(&self, input: impl PassedAs<I>) -> Result<Self::Output> {
        let input = input.pass();
        let result = if count::has_hooks() && registry::may_have_hooks(self.id()) {
            call_hooked(self, input)
        } else {
            self.forward(input)
        };
        match result {
            Ok(output) => Ok(output),
            Err(error) => Err(locate(self.as_module(), error)),
        }
    }
}

// Never inlined: a call without hooks would set up its frame.
#[inline(never)]
fn call_hooked<I, M>(module: &M, mut input: I) -> Result<M::Output>
where
    I: Tensors,
    M: Forward<I, Output: Tensors> + ?Sized,
{
    let mut hooked = Hooked::new(module.id(), module.as_module());
    if let Some(hooked) = &mut hooked {
        hooked.run_pre_hooks(&mut input)?;
    }
    // In one place, because it is compiled into each.
    let mut output = module.forward(input)?;
    if let Some(hooked) = &mut hooked {
        hooked.run_hooks(&mut output)?;
    }
    Ok(output)
}

/// The path grows from the inside out, each `call` adding its part as the error leaves it.
#[cold]
fn locate(module: &dyn Module, mut error: Error) -> Error {
    let id: ModuleId = module.id();
    let trace = error.trace_mut();
    match trace {
        None => *trace = Some(Trace::new(module.kind(), id.parts())),
        Some(trace) if trace.anchor() == id.parts() => {}
        Some(trace) => match path_to(module, trace.anchor()) {
            Some(path) => trace.extend(&path, id.parts()),
            None => trace.leave_unregistered(id.parts()),
        },
    }
    error
}
