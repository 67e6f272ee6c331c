use std::time::Duration;

use super::flow::Flow;
use super::record::record;
use crate::{Call, DType, Module, Result, Shape, TensorId, Tensors};

/// One recorded forward pass: every `call` of the model's modules, in the order in which they
/// began.
///
/// It says what went in and came out, how long it took, what it cost, and where tensors went next.
/// A module that is called twice is there twice. Only `call` is seen, as by every hook.
///
/// # Example
///
/// ```
/// use module_nn::inspect::Trace;
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new());
/// let trace = Trace::record(&model, Tensor::randn([2, 4], DType::F32)?)?;
/// let paths: Vec<_> = trace.calls().iter().map(|call| call.path.as_str()).collect();
/// assert_eq!(paths, ["", "0", "1"]);
/// assert_eq!(trace.calls()[1].outputs[0].shape.to_string(), "[2, 8]");
/// assert_eq!(trace.mult_adds(), 2 * (4 * 8 + 8));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    pub(super) calls: Vec<TracedCall>,
    pub(super) flows: Vec<Flow>,
    pub(super) inputs: Vec<TensorInfo>,
    pub(super) outputs: Vec<TensorInfo>,
}

/// One call of a module in a [`Trace`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TracedCall {
    /// The first path of the module; empty for the model itself.
    pub path: String,
    /// The name of its type.
    pub kind: &'static str,
    /// The call that made this one, as an index into [`Trace::calls`].
    pub parent: Option<usize>,
    /// The tensors that `forward` got.
    pub inputs: Vec<TensorInfo>,
    /// The tensors that the call gave; none if it failed.
    pub outputs: Vec<TensorInfo>,
    /// The module's own parameters, without those of its children.
    pub parameters: Vec<ParameterInfo>,
    /// `kernel_size`, if the module prints one.
    pub kernel: Option<String>,
    /// Whether the module has no modules in it.
    pub is_leaf: bool,
    /// Whether torchinfo counts what it costs: it has no modules in it, and PyTorch calls it.
    /// Attention uses the weights of its output projection there without calling it.
    pub is_counted: bool,
    /// Whether the same module was called before.
    pub is_repeat: bool,
    /// Whether the call failed.
    pub failed: bool,
    /// When it began, from the beginning of the recording.
    pub start: Duration,
    /// How long it took, with the calls it made and the hooks of others.
    pub time: Duration,
    /// Multiply-adds as torchinfo counts them: see [`Trace::mult_adds`]. Zero unless it is counted.
    pub mult_adds: u64,
}

/// What a tensor was like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TensorInfo {
    /// Its shape.
    pub shape: Shape,
    /// Its dtype.
    pub dtype: DType,
}

impl TensorInfo {
    /// Of a tensor.
    pub fn of(tensor: &crate::Tensor) -> Self {
        Self {
            shape: tensor.shape().clone(),
            dtype: tensor.dtype(),
        }
    }

    /// The bytes of its elements.
    pub fn bytes(&self) -> usize {
        self.shape.numel() * self.dtype.size_in_bytes()
    }
}

/// What a parameter was like.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// Its name in its module.
    pub name: String,
    /// Its identity, equal for tied ones.
    pub id: TensorId,
    /// Its shape and dtype.
    pub tensor: TensorInfo,
    /// Whether it learns.
    pub trainable: bool,
}

impl TracedCall {
    /// The bytes of the tensors that came out.
    pub fn output_bytes(&self) -> usize {
        self.outputs.iter().map(TensorInfo::bytes).sum()
    }
}

impl Trace {
    /// Calls the model under the caller's grad mode and records the pass.
    ///
    /// # Errors
    ///
    /// Those of the model.
    pub fn record<I: Tensors, M>(model: &M, input: I) -> Result<Self>
    where
        M: Call<I, Output: Tensors> + ?Sized,
    {
        let (result, trace) = record(model.as_module(), false, || model.call(input));
        result?;
        Ok(trace)
    }

    /// As [`record`](Self::record), with [`flows`](Self::flows).
    ///
    /// It records the graph of all that is computed, whatever the grad mode, so as to know what
    /// happened to tensors between calls: that two branches were added, say. Its activations stay
    /// in memory until the pass is over.
    ///
    /// # Errors
    ///
    /// Those of the model.
    pub fn record_flows<I: Tensors, M>(model: &M, mut input: I) -> Result<Self>
    where
        M: Call<I, Output: Tensors> + ?Sized,
    {
        crate::enable_grad(|| {
            input.for_each_mut(&mut |tensor| {
                // Indices have no gradient and need none: they are handed over as they are.
                if let (false, Ok(leaf)) = (tensor.requires_grad(), tensor.with_grad()) {
                    *tensor = leaf;
                }
            });
            let (result, trace) = record(model.as_module(), true, || model.call(input));
            result?;
            Ok(trace)
        })
    }

    /// Records the calls that `run` makes of modules of `model`, however many, and whether they
    /// fail or not.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::inspect::Trace;
    /// use module_nn::prelude::*;
    ///
    /// let layer = Linear::new(4, 8)?;
    /// let (result, trace) = Trace::during(&layer, || layer.call(Tensor::from([1.0_f32])));
    /// assert!(result.is_err() && trace.calls()[0].failed);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn during<R>(model: &(impl Module + ?Sized), run: impl FnOnce() -> R) -> (R, Self) {
        record(model.as_module(), false, run)
    }

    /// The calls, in the order in which they began.
    pub fn calls(&self) -> &[TracedCall] {
        &self.calls
    }

    /// The calls that a call made, or the outermost ones.
    pub fn children(&self, of: Option<usize>) -> impl Iterator<Item = (usize, &TracedCall)> {
        let calls = self.calls.iter().enumerate();
        calls.filter(move |(_, call)| call.parent == of)
    }

    /// Where tensors went, from call to call; empty unless it was recorded by
    /// [`record_flows`](Self::record_flows).
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The inputs of the outermost calls.
    pub fn inputs(&self) -> &[TensorInfo] {
        &self.inputs
    }

    /// The outputs of the outermost calls.
    pub fn outputs(&self) -> &[TensorInfo] {
        &self.outputs
    }

    /// How long the outermost calls took.
    pub fn time(&self) -> Duration {
        self.children(None).map(|(_, call)| call.time).sum()
    }

    /// How long a call took without the calls that it made.
    pub fn own_time(&self, index: usize) -> Duration {
        let within: Duration = self.children(Some(index)).map(|(_, call)| call.time).sum();
        let time = self.calls.get(index).map(|call| call.time);
        time.unwrap_or_default().saturating_sub(within)
    }

    /// Multiply-adds as [torchinfo](https://github.com/TylerYep/torchinfo) counts them: those of
    /// parameters, of modules without modules in them.
    ///
    /// With `n` elements and the first output `[N, C, …]`, a `weight` or `bias` costs `n · N · …`
    /// in a convolution (a module whose weight has three dimensions or more), `n · N` elsewhere;
    /// another parameter that is a weight or a bias by its name, as those of an LSTM, `n · N · C`.
    /// Products of activations, as in attention, are not counted, nor are the weights that a module
    /// with modules in it holds itself, as attention does, nor attention's output projection.
    pub fn mult_adds(&self) -> u64 {
        let calls = self.calls.iter();
        calls.fold(0, |sum, call| sum.saturating_add(call.mult_adds))
    }
}
