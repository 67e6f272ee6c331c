use std::borrow::Borrow;

use crate::hooks::{Call, Tensors};
use crate::module::overrides::Overrides;
use crate::module::{Forward, Module};
use crate::state::{self, Held, StateDict, StateTensor};
use crate::{Result, Tensor};

/// Calls a module with other values of its parameters and buffers: PyTorch's `torch.func.functional_call`.
///
/// `state` holds values by key: a [`StateDict`], an `IndexMap` or `HashMap` by reference, or pairs. Values that are not
/// given are the module's own; a tied tensor is given under one of its names or, with the same value, under several.
/// Gradients flow to the given tensors, so that a step on parameters can be part of a differentiated computation
/// (meta-learning), and one module can be called with the states of many (ensembles, averages).
///
/// The module is unchanged, even if the call fails or panics: buffers that the pass sets, such as running statistics, are
/// set in place of its own, given or not, and then discarded; [`FunctionalCall::call_with_buffers`] returns them. PyTorch
/// sets buffers that are not given in the module. Everything that is not a value, such as gradients and modes, belongs to
/// the module: the pass changes it there.
///
/// Only the calling thread sees the values, and only during the call; other threads that use the module meanwhile see its
/// own values. So do threads that its `forward` starts. Hooks run as usual. Calls may be nested: values that the inner call
/// is not given come from the outer one.
///
/// Outside such calls, reading a parameter costs one additional check of a thread-local flag.
///
/// # Errors
///
/// Keys that the module lacks (which PyTorch ignores), other shapes, different values for a tied tensor: all of them in one
/// [`ValueProblems`](crate::ValueProblems), and then nothing runs; the errors of the call. Dtypes and devices may differ
/// from the module's.
///
/// # Example
///
/// A step of gradient descent that is itself differentiated:
///
/// ```
/// use module_core::{BackwardOptions, Forward, Module, Parameter, Result, Tensor, autograd, functional_call};
///
/// #[derive(Module)]
/// struct Scale {
///     weight: Parameter,
/// }
///
/// impl Forward for Scale {
///     type Output = Tensor;
///
///     fn forward(&self, input: Tensor) -> Result<Tensor> {
///         input.mul(&self.weight.tensor())
///     }
/// }
///
/// let model = Scale { weight: Parameter::new(Tensor::from(3.0_f32))? };
/// let weight = model.weight.tensor();
/// // d/dw (2w)² = 8w, of which the step keeps the graph.
/// let inner = functional_call(&model, [("weight", &weight)], Tensor::from(2.0_f32))?.square()?;
/// let keep = BackwardOptions::new().create_graph(true);
/// let grad = autograd::grad(&[&inner], &[&weight], keep)?.remove(0).unwrap();
/// let step = grad.mul(-0.1)?;
/// let moved = weight.add(&step)?;
/// // w - 0.8w = 0.2w, and (0.2w)² has the derivative 0.08w, which is 0.24.
/// functional_call(&model, [("weight", &moved)], Tensor::from(1.0_f32))?.square()?.backward()?;
/// assert!((model.weight.grad().unwrap().item::<f32>()? - 0.24).abs() < 1e-6);
/// assert_eq!(model.weight.detach().item::<f32>()?, 3.0);
/// # Ok::<(), module_core::Error>(())
/// ```
pub fn functional_call<M, I, K, T>(
    module: &M,
    state: impl IntoIterator<Item = (K, T)>,
    input: I,
) -> Result<M::Output>
where
    M: Forward<I, Output: Tensors> + ?Sized,
    I: Tensors,
    K: AsRef<str>,
    T: Borrow<Tensor>,
{
    FunctionalCall::new(module).call(state, input)
}

/// A [`functional_call`] with options.
///
/// # Example
///
/// ```
/// use module_core::{FunctionalCall, Identity, ModuleExt, Sequential, Tensor};
///
/// let model = Sequential::new().push(Identity::new());
/// let calls = FunctionalCall::new(&model).strict(true);
/// let output = calls.call(&model.state_dict()?, Tensor::from(2.0_f32))?;
/// assert_eq!(output.item::<f32>()?, 2.0);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::{Buffer, Call, Forward, FunctionalCall, Module, Result, Tensor};
///
/// #[derive(Module)]
/// struct Counter {
///     steps: Buffer,
/// }
///
/// impl Forward for Counter {
///     type Output = Tensor;
///
///     fn forward(&self, x: Tensor) -> Result<Tensor> {
///         self.steps.set(self.steps.tensor().add(1)?)?;
///         Ok(x)
///     }
/// }
///
/// let counter = Counter { steps: Buffer::new(Tensor::from(0_i64)) };
/// let given = Tensor::from(10_i64);
/// let calls = FunctionalCall::new(&counter).strict(true);
/// let (_, buffers) = calls.call_with_buffers([("steps", &given)], Tensor::from(1.0_f32))?;
/// assert_eq!(buffers.get("steps").unwrap().item::<i64>()?, 11);
///
/// // Two calls that see each other's steps.
/// let steps = calls.run([("steps", &given)], || {
///     counter.call(Tensor::from(1.0_f32))?;
///     counter.call(Tensor::from(1.0_f32))?;
///     counter.steps.tensor().item::<i64>()
/// })?;
/// assert_eq!((steps, counter.steps.tensor().item::<i64>()?), (12, 0));
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Debug)]
pub struct FunctionalCall<'m, M: ?Sized> {
    module: &'m M,
    strict: bool,
}

impl<'m, M: Module + ?Sized> FunctionalCall<'m, M> {
    /// Calls of this module in which values may be omitted.
    pub fn new(module: &'m M) -> Self {
        let strict = false;
        Self { module, strict }
    }

    /// Whether every parameter and buffer must be given, including buffers that are not persistent.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Calls the module with these values.
    ///
    /// # Errors
    ///
    /// Those of [`functional_call`]; if strict, also parameters and buffers that are not given.
    pub fn call<I, K, T>(
        &self,
        state: impl IntoIterator<Item = (K, T)>,
        input: I,
    ) -> Result<M::Output>
    where
        M: Forward<I, Output: Tensors>,
        I: Tensors,
        K: AsRef<str>,
        T: Borrow<Tensor>,
    {
        self.run(state, || self.module.call(input))
    }

    /// Calls the module with these values, and returns the output and all buffers of the module after the pass, by key.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call).
    pub fn call_with_buffers<I, K, T>(
        &self,
        state: impl IntoIterator<Item = (K, T)>,
        input: I,
    ) -> Result<(M::Output, StateDict)>
    where
        M: Forward<I, Output: Tensors>,
        I: Tensors,
        K: AsRef<str>,
        T: Borrow<Tensor>,
    {
        self.run(state, || {
            let output = self.module.call(input)?;
            Ok((output, buffers(self.module.as_module())))
        })
    }

    /// Runs `f` on this thread with these values in place of the module's: for several calls, and for methods of the module
    /// other than `call`.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call), and those of `f`.
    pub fn run<R, K, T>(
        &self,
        state: impl IntoIterator<Item = (K, T)>,
        f: impl FnOnce() -> Result<R>,
    ) -> Result<R>
    where
        K: AsRef<str>,
        T: Borrow<Tensor>,
    {
        let state = state.into_iter();
        let given = state.map(|(key, value)| (key.as_ref().to_owned(), value.borrow().clone()));
        let _values = enter(self.module.as_module(), given.collect(), self.strict)?;
        f()
    }
}

/// Overrides all of the module's values, so that none is set in the module.
fn enter(root: &dyn Module, given: Vec<(String, Tensor)>, strict: bool) -> Result<Overrides> {
    let held = state::resolve("functional_call", root, given, strict)?;
    let values = held.into_iter().map(|Held { tensor, given, .. }| {
        let value = given.unwrap_or_else(|| match tensor {
            StateTensor::Parameter(parameter) => parameter.tensor(),
            StateTensor::Buffer(buffer) => buffer.tensor(),
            StateTensor::Extra(state) => state.tensor(),
        });
        (tensor.id(), value)
    });
    // Read from the enclosing scope, before this one begins.
    let values: Vec<_> = values.collect();
    Ok(Overrides::new(values))
}

fn buffers(root: &dyn Module) -> StateDict {
    let buffers = super::walk::buffers(root, &crate::Walk::new()).into_iter();
    buffers
        .map(|(path, buffer)| (path, buffer.tensor()))
        .collect()
}
