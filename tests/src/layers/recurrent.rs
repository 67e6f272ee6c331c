use module_nn::hooks::Tensors;
use module_nn::prelude::*;
use module_nn::rnn::{PackOptions, PackedSequence, pack_padded_sequence};
use serde_json::Value;

use super::{Arguments, Entry, module};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        module("GRU", GRU::config, layer),
        module("GRUCell", GRUCell::config, cell),
        module("LSTM", LSTM::config, layer),
        module("LSTMCell", LSTMCell::config, cell),
        module("RNN", RNN::config, layer),
        module("RNNCell", RNNCell::config, cell),
    ]
}

/// The states that a layer takes and returns: one tensor, or two for an LSTM.
trait States: Tensors + Sized {
    fn given(arguments: &Arguments<'_>) -> Option<Self>;
}

impl States for Tensor {
    fn given(arguments: &Arguments<'_>) -> Option<Self> {
        arguments.maybe_tensor(1, "hx")
    }
}

impl States for (Tensor, Tensor) {
    fn given(arguments: &Arguments<'_>) -> Option<Self> {
        let mut states = arguments.tuple(1).into_iter();
        states.next().zip(states.next())
    }
}

fn layer<M, S>(layer: &M, arguments: &Arguments<'_>) -> Result<Vec<Tensor>>
where
    M: Forward<Tensor, Output = (Tensor, S)> + Forward<(Tensor, S), Output = (Tensor, S)>,
    M: Forward<PackedSequence, Output = (PackedSequence, S)>,
    M: Forward<(PackedSequence, S), Output = (PackedSequence, S)>,
    S: States,
{
    let first = S::given(arguments);
    if let Some(packed) = packed(arguments)? {
        let (output, last) = match first {
            Some(first) => layer.call((packed, first))?,
            None => layer.call(packed)?,
        };
        let sizes = output.batch_sizes().iter().map(|&size| size as i64);
        let sizes = Tensor::from_vec(sizes.collect(), output.batch_sizes().len())?;
        let indices = [output.sorted_indices(), output.unsorted_indices()];
        let mut tensors = vec![output.data().clone(), sizes];
        tensors.extend(indices.into_iter().flatten().cloned());
        return Ok(followed_by(tensors, &last));
    }
    let input = arguments.tensor(0)?;
    let (output, last) = match first {
        Some(first) => layer.call((input, first))?,
        None => layer.call(input)?,
    };
    Ok(followed_by(vec![output], &last))
}

fn cell<M, S>(cell: &M, arguments: &Arguments<'_>) -> Result<Vec<Tensor>>
where
    M: Forward<Tensor, Output = S> + Forward<(Tensor, S), Output = S>,
    S: States,
{
    let input = arguments.tensor(0)?;
    let next = match S::given(arguments) {
        Some(state) => cell.call((input, state))?,
        None => cell.call(input)?,
    };
    Ok(followed_by(Vec::new(), &next))
}

fn followed_by(mut tensors: Vec<Tensor>, states: &impl Tensors) -> Vec<Tensor> {
    states.for_each(&mut |state| tensors.push(state.clone()));
    tensors
}

/// The packed sequences at the beginning of a call, if there are any.
fn packed(arguments: &Arguments<'_>) -> Result<Option<PackedSequence>> {
    let description = &arguments.positional[0];
    let Some(padded) = arguments.optional(&description["packed"]) else {
        return Ok(None);
    };
    let lengths = description["lengths"].as_array().into_iter().flatten();
    let lengths: Vec<usize> = lengths
        .filter_map(Value::as_u64)
        .map(|length| length as usize)
        .collect();
    let options = PackOptions::new().enforce_sorted(description["enforce_sorted"] == true);
    pack_padded_sequence(&padded, &lengths, options).map(Some)
}
