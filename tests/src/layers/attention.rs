//! The entries of attention.

use module_nn::prelude::*;

use super::{Arguments, Entry, module};

pub(super) fn entries() -> Vec<Entry> {
    vec![module(
        "MultiheadAttention",
        MultiheadAttention::config,
        multihead_attention,
    )]
}

fn multihead_attention(layer: &MultiheadAttention, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let [query, key, value] = [0, 1, 2].map(|place| given.tensor(place));
    let named = |name| given.optional(&given.named[name]);
    let input = MultiheadAttentionInput::new(query?, key?, value?)
        .key_padding_mask(named("key_padding_mask"))
        .attn_mask(named("attn_mask"))
        .need_weights(given.flag("need_weights", true))
        .average_attn_weights(given.flag("average_attn_weights", true))
        .is_causal(given.flag("is_causal", false));
    let (output, weights) = layer.call(input)?;
    Ok([output].into_iter().chain(weights).collect())
}
