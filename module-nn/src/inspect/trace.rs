use std::time::Duration;

use super::flow::Flow;
use super::tensor_info::TensorInfo;
use crate::TensorId;

/// One recorded forward pass: every `call` of the model's modules, in the order in which they began.
///
/// It records inputs and outputs, time, cost, and where tensors went next. A module that is called twice is listed twice.
/// Only `call` is seen, as with every hook.
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
/// assert_eq!(trace.inputs()[0].shape.to_string(), "[2, 4]");
/// assert_eq!(trace.outputs()[0].shape.to_string(), "[2, 8]");
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
///
/// # Example
///
/// ```
/// use module_nn::inspect::{Trace, TracedCall};
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new());
/// let trace = Trace::record(&model, Tensor::randn([2, 4], DType::F32)?)?;
/// let (_, whole) = trace.children(None).next().unwrap();
/// let layers: Vec<(usize, &TracedCall)> = trace.children(Some(0)).collect();
/// assert_eq!((layers[0].1.kind, layers[0].1.output_bytes()), ("Linear", 2 * 8 * 4));
/// assert!(whole.time >= layers.iter().map(|(_, call)| call.time).sum());
/// assert!(trace.own_time(0) <= trace.time());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TracedCall {
    /// The first path of the module; empty for the model itself.
    pub path: String,
    /// The name of its type.
    pub kind: &'static str,
    /// The call that made this one, as an index into [`Trace::calls`].
    pub parent: Option<usize>,
    /// The input tensors of `forward`.
    pub inputs: Vec<TensorInfo>,
    /// The output tensors of the call; none if it failed.
    pub outputs: Vec<TensorInfo>,
    /// The module's own parameters, without those of its children.
    pub parameters: Vec<ParameterInfo>,
    /// `kernel_size`, if the module prints one.
    pub kernel: Option<String>,
    /// Whether the module has no submodules.
    pub is_leaf: bool,
    /// Whether torchinfo counts its cost: it has no submodules, and PyTorch calls it. Attention uses the weights of its
    /// output projection there without calling it.
    pub is_counted: bool,
    /// Whether the same module was called before.
    pub is_repeat: bool,
    /// Whether the call failed.
    pub failed: bool,
    /// When it began, since the start of the recording.
    pub start: Duration,
    /// How long it took, including the calls it made and other hooks.
    pub time: Duration,
    /// Multiply-adds as torchinfo counts them: see [`Trace::mult_adds`]. Zero unless it is counted.
    pub mult_adds: u64,
}

/// A parameter's properties.
///
/// # Example
///
/// ```
/// use module_nn::inspect::{ParameterInfo, Trace};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(4, 8)?;
/// model.weight().freeze();
/// let trace = Trace::record(&model, Tensor::randn([2, 4], DType::F32)?)?;
/// let parameters: &[ParameterInfo] = &trace.calls()[0].parameters;
/// let weight = &parameters[0];
/// assert_eq!((weight.name.as_str(), weight.trainable, weight.tensor.bytes()), ("weight", false, 128));
/// assert_eq!(weight.id, model.weight().id());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// Its name in its module.
    pub name: String,
    /// Its identity, equal for tied ones.
    pub id: TensorId,
    /// Its shape and dtype.
    pub tensor: TensorInfo,
    /// Whether it is trainable.
    pub trainable: bool,
}

impl TracedCall {
    /// The bytes of the output tensors.
    pub fn output_bytes(&self) -> usize {
        self.outputs.iter().map(TensorInfo::bytes).sum()
    }
}

impl Trace {
    /// The calls, in the order in which they began.
    pub fn calls(&self) -> &[TracedCall] {
        &self.calls
    }

    /// The calls made by a call, or the outermost ones.
    pub fn children(&self, of: Option<usize>) -> impl Iterator<Item = (usize, &TracedCall)> {
        let calls = self.calls.iter().enumerate();
        calls.filter(move |(_, call)| call.parent == of)
    }

    /// The flows of tensors between calls; empty unless recorded by [`record_flows`](Self::record_flows).
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

    /// The duration of the outermost calls.
    pub fn time(&self) -> Duration {
        self.children(None).map(|(_, call)| call.time).sum()
    }

    /// The duration of a call without the calls that it made.
    pub fn own_time(&self, index: usize) -> Duration {
        let within: Duration = self.children(Some(index)).map(|(_, call)| call.time).sum();
        let time = self.calls.get(index).map(|call| call.time);
        time.unwrap_or_default().saturating_sub(within)
    }

    /// Multiply-adds as [torchinfo](https://github.com/TylerYep/torchinfo) counts them: those of parameters, for modules
    /// without submodules.
    ///
    /// With `n` elements and the first output `[N, C, …]`, a `weight` or `bias` costs `n · N · …` in a convolution (a
    /// module whose weight has three dimensions or more), and `n · N` elsewhere; another parameter that is a weight or a
    /// bias by its name, like those of an LSTM, costs `n · N · C`. Products of activations, as in attention, are not
    /// counted, nor are the weights that a module with submodules holds itself, as attention does, nor attention's output
    /// projection.
    pub fn mult_adds(&self) -> u64 {
        let calls = self.calls.iter();
        calls.fold(0, |sum, call| sum.saturating_add(call.mult_adds))
    }
}
