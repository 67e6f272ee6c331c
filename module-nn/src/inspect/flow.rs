//! Where the inputs of a call come from.

use std::collections::{HashMap, HashSet, VecDeque};

use super::tensor_info::TensorInfo;
use crate::Tensor;

/// A tensor that went from one place to another, as it was when it left the first.
///
/// Calls here are those without inner calls. Operations between two calls are not recorded: a tensor that was added to
/// another leads, like that other one, to where their sum went.
///
/// # Example
///
/// ```
/// use module_nn::inspect::{Endpoint, Flow, Trace};
/// use module_nn::prelude::*;
///
/// let model = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new());
/// let trace = Trace::record_flows(&model, Tensor::randn([2, 4], DType::F32)?)?;
/// let flows: &[Flow] = trace.flows();
/// let ends: Vec<_> = flows.iter().map(|flow| (flow.from, flow.to)).collect();
/// // Call 0 is that of the model.
/// assert_eq!(ends, [
///     (Endpoint::Input(0), Endpoint::Call(1)),
///     (Endpoint::Call(1), Endpoint::Call(2)),
///     (Endpoint::Call(2), Endpoint::Output(0)),
/// ]);
/// assert_eq!(flows[1].tensor.shape.to_string(), "[2, 8]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Flow {
    /// Where it came from.
    pub from: Endpoint,
    /// Where it went.
    pub to: Endpoint,
    /// The shape and dtype of the tensor.
    pub tensor: TensorInfo,
}

/// An end of a [`Flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// An input of the model, by its number.
    Input(usize),
    /// A call, as an index into [`Trace::calls`](super::Trace::calls).
    Call(usize),
    /// An output of the model, by its number.
    Output(usize),
}

/// The origins of known tensors.
#[derive(Default)]
pub(super) struct Origins {
    /// Of tracked tensors, by their node.
    nodes: HashMap<u64, (Endpoint, TensorInfo)>,
    /// Of the others, by their memory, which this keeps from being reused.
    untracked: Vec<(Tensor, Endpoint)>,
}

impl Origins {
    /// Records a tensor that came out of `place`; for a tensor that is passed on unchanged, the last place counts.
    pub(super) fn add(&mut self, place: Endpoint, tensor: &Tensor) {
        match tensor.graph_node() {
            Some(node) => {
                self.nodes
                    .insert(node.id(), (place, TensorInfo::of(tensor)));
            }
            None => self.untracked.push((tensor.clone(), place)),
        }
    }

    /// The places that a tensor was made from, nearest first, with the tensors that left them.
    pub(super) fn of(&self, tensor: &Tensor) -> Vec<(Endpoint, TensorInfo)> {
        let mut found: Vec<(Endpoint, TensorInfo)> = Vec::new();
        let Some(node) = tensor.graph_node() else {
            let mut made = self.untracked.iter().rev();
            let same = made.find(|(known, _)| known.shares_memory_with(tensor));
            return same
                .map(|(known, place)| (*place, TensorInfo::of(known)))
                .into_iter()
                .collect();
        };
        let mut seen = HashSet::from([node.id()]);
        let mut queue = VecDeque::from([node]);
        while let Some(node) = queue.pop_front() {
            match self.nodes.get(&node.id()) {
                Some(origin) => found.push(origin.clone()),
                None => {
                    let next = node.next_functions().into_iter().flatten();
                    queue.extend(next.filter(|node| seen.insert(node.id())));
                }
            }
        }
        found
    }
}
