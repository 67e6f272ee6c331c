use std::time::Duration;

use super::flow::Flow;
use super::tensor_info::TensorInfo;
use crate::TensorId;

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
