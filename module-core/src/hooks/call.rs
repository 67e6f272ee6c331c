use super::{Tensors, registry};
use crate::error::Trace;
use crate::module::{Forward, Module, ModuleId, walk::path_to};
use crate::{Error, Result, Tensor};

/// What users invoke on a module: PyTorch's `__call__`.
///
/// It comes with every [`Forward`] and is implemented by nobody: `call` runs the hooks around
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
pub trait Call<Input>: Forward<Input> {
    /// Runs the hooks and [`forward`](Forward::forward).
    ///
    /// # Errors
    ///
    /// Those of `forward` and of the hooks, with the path of the module.
    fn call(&self, input: Input) -> Result<Self::Output>;
}

impl<I, M> Call<I> for M
where
    I: Tensors,
    M: Forward<I, Output: Tensors> + ?Sized,
{
    #[inline]
    fn call(&self, input: I) -> Result<Self::Output> {
        let result = if registry::any() {
            call_hooked(self, input)
        } else {
            self.forward(input)
        };
        match result {
            Ok(output) => Ok(output),
            Err(error) => Err(located(self.as_module(), error)),
        }
    }
}

fn call_hooked<I, M>(module: &M, mut input: I) -> Result<M::Output>
where
    I: Tensors,
    M: Forward<I, Output: Tensors> + ?Sized,
{
    let id = module.id();
    if !registry::kinds(id).0 {
        return module.forward(input);
    }
    for hook in registry::forward_pre_hooks(id) {
        hook(&mut ForwardPreCall {
            module: module.as_module(),
            input: &mut input,
        })?;
    }
    // A pre-hook may have added or removed others.
    if !registry::kinds(id).1 {
        return module.forward(input);
    }
    let inputs = tensors(&input);
    let mut output = module.forward(input)?;
    for hook in registry::forward_hooks(id) {
        let module = module.as_module();
        hook(&mut ForwardCall {
            module,
            inputs: &inputs,
            output: &mut output,
        })?;
    }
    Ok(output)
}

/// The path grows from the inside out, each `call` adding its part as the error leaves it.
#[cold]
fn located(module: &dyn Module, mut error: Error) -> Error {
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

fn tensors(value: &impl Tensors) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    value.for_each(&mut |tensor| tensors.push(tensor.clone()));
    tensors
}

/// What a hook returns: nothing, or a [`Result`] whose error fails the call.
pub trait HookResult {
    /// The same as a `Result`.
    ///
    /// # Errors
    ///
    /// Those of the hook.
    fn into_result(self) -> Result<()>;
}

impl HookResult for () {
    fn into_result(self) -> Result<()> {
        Ok(())
    }
}

impl HookResult for Result<()> {
    fn into_result(self) -> Result<()> {
        self
    }
}

/// A call that is about to happen, as a forward pre-hook sees it.
pub struct ForwardPreCall<'c> {
    module: &'c dyn Module,
    input: &'c mut dyn Tensors,
}

impl ForwardPreCall<'_> {
    /// The module that is called.
    pub fn module(&self) -> &dyn Module {
        self.module
    }

    /// The tensors of the input, detached.
    pub fn inputs(&self) -> Vec<Tensor> {
        self.tracked_inputs().iter().map(Tensor::detach).collect()
    }

    /// The tensors of the input as they are, with their graph.
    pub fn tracked_inputs(&self) -> Vec<Tensor> {
        let mut tensors = Vec::new();
        self.input
            .for_each(&mut |tensor| tensors.push(tensor.clone()));
        tensors
    }

    /// Replaces the tensors of the input, in their order; later hooks and `forward` see these.
    ///
    /// # Errors
    ///
    /// Another number of tensors than the input has, or borrowed ones; nothing is replaced.
    pub fn set_inputs(&mut self, inputs: Vec<Tensor>) -> Result<()> {
        replace("set_inputs", self.input, inputs)
    }
}

/// A call that has happened, as a forward hook sees it.
pub struct ForwardCall<'c> {
    module: &'c dyn Module,
    inputs: &'c [Tensor],
    output: &'c mut dyn Tensors,
}

impl ForwardCall<'_> {
    /// The module that was called.
    pub fn module(&self) -> &dyn Module {
        self.module
    }

    /// The tensors of the input, detached.
    pub fn inputs(&self) -> Vec<Tensor> {
        self.inputs.iter().map(Tensor::detach).collect()
    }

    /// The tensors of the output, detached, so that a hook that keeps them keeps no graph alive.
    pub fn outputs(&self) -> Vec<Tensor> {
        self.tracked_outputs().iter().map(Tensor::detach).collect()
    }

    /// The first tensor of the output, detached.
    ///
    /// # Errors
    ///
    /// An output without tensors.
    pub fn output(&self) -> Result<Tensor> {
        let first = self.outputs().into_iter().next();
        first.ok_or_else(|| Error::argument("output", "index", 0, "the output holds no tensor"))
    }

    /// The tensors of the output as they are, with their graph.
    pub fn tracked_outputs(&self) -> Vec<Tensor> {
        let mut tensors = Vec::new();
        self.output
            .for_each(&mut |tensor| tensors.push(tensor.clone()));
        tensors
    }

    /// Replaces the tensors of the output, in their order; later hooks and the caller see these.
    ///
    /// # Errors
    ///
    /// Another number of tensors than the output has, or borrowed ones; nothing is replaced.
    pub fn set_outputs(&mut self, outputs: Vec<Tensor>) -> Result<()> {
        replace("set_outputs", self.output, outputs)
    }
}

fn replace(op: &'static str, value: &mut dyn Tensors, with: Vec<Tensor>) -> Result<()> {
    let mut expected = 0;
    value.for_each(&mut |_| expected += 1);
    if with.len() != expected {
        let problem = format!("must be the number of tensors, {expected}");
        return Err(Error::argument(op, "count", with.len(), problem));
    }
    let mut replaceable = 0;
    value.for_each_mut(&mut |_| replaceable += 1);
    if replaceable != expected {
        let problem = format!("only {replaceable} of them can be replaced; the rest is borrowed");
        return Err(Error::argument(op, "count", expected, problem));
    }
    let mut with = with.into_iter();
    value.for_each_mut(&mut |tensor| {
        if let Some(replacement) = with.next() {
            *tensor = replacement;
        }
    });
    Ok(())
}
