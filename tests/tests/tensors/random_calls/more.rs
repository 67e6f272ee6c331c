//! Operations that PyTorch's database does not have.

use module_core::hooks::Tensors;
use module_core::{Forward, FunctionalCall, Tensor};
use module_nn::{Build, GRUConfig, LSTMConfig, RNNConfig};
use serde::de::DeserializeOwned;

use crate::peer_databases::tables::arguments::{Call, Op, Stop, not_ours};

/// The arguments of recurrent layers.
const SIZES: [&str; 7] = [
    "input_size",
    "hidden_size",
    "num_layers",
    "bias",
    "batch_first",
    "bidirectional",
    "proj_size",
];

pub(super) const OPS: &[Op] = &[
    ("erfc", |c| c.map(Tensor::erfc)),
    ("to", |c| Ok(vec![c.cast()?])),
    ("nn.LSTM", |c| {
        let (output, (hidden, cell)) = recurrent::<LSTMConfig, _>(c)?;
        Ok(vec![output, hidden, cell])
    }),
    ("nn.GRU", |c| {
        let (output, hidden) = recurrent::<GRUConfig, _>(c)?;
        Ok(vec![output, hidden])
    }),
    ("nn.RNN", |c| {
        let (output, hidden) = recurrent::<RNNConfig, _>(c)?;
        Ok(vec![output, hidden])
    }),
];

/// A recurrent layer as a function of its input and its weights, which are given by their names.
fn recurrent<C, S>(c: &Call<'_>) -> Result<(Tensor, S), Stop>
where
    C: Build + DeserializeOwned,
    C::Output: Forward<Tensor, Output = (Tensor, S)>,
    (Tensor, S): Tensors,
{
    let layer = c.config::<C>(&SIZES)?.build()?;
    let Some(weights) = c.value(1, "weights").as_object() else {
        return not_ours("no weights");
    };
    let weights = weights.iter();
    let weights: Vec<(&String, &Tensor)> = weights
        .filter_map(|(name, value)| Some((name, c.tensor_of(value)?)))
        .collect();
    let calls = FunctionalCall::new(&layer).strict(true);
    Ok(calls.call(weights, c.x()?.clone())?)
}
