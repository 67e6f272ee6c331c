//! The entries of the transformer.

use module_nn::prelude::*;

use super::{Arguments, Entry, layer_with, module};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer_with(
            "TransformerEncoderLayer",
            TransformerEncoderLayer::config,
            encoder_layer,
        ),
        module(
            "TransformerDecoderLayer",
            TransformerDecoderLayer::config,
            decoder_layer,
        ),
        module(
            "TransformerEncoder",
            |stack: &TransformerEncoder| stack.config().expect("built from it"),
            encoder,
        ),
        module(
            "TransformerDecoder",
            |stack: &TransformerDecoder| stack.config().expect("built from it"),
            decoder,
        ),
        module("Transformer", Transformer::config, transformer),
    ]
}

fn encoder_layer(layer: &TransformerEncoderLayer, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let named = |name| given.optional(&given.named[name]);
    let input = TransformerEncoderLayerInput::new(given.tensor(0)?)
        .src_mask(named("src_mask"))
        .src_key_padding_mask(named("src_key_padding_mask"))
        .is_causal(given.flag("is_causal", false));
    Ok(vec![layer.call(input)?])
}

fn decoder_layer(layer: &TransformerDecoderLayer, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let named = |name| given.optional(&given.named[name]);
    let input = TransformerDecoderLayerInput::new(given.tensor(0)?, given.tensor(1)?)
        .tgt_mask(named("tgt_mask"))
        .memory_mask(named("memory_mask"))
        .tgt_key_padding_mask(named("tgt_key_padding_mask"))
        .memory_key_padding_mask(named("memory_key_padding_mask"))
        .tgt_is_causal(given.flag("tgt_is_causal", false))
        .memory_is_causal(given.flag("memory_is_causal", false));
    Ok(vec![layer.call(input)?])
}

fn encoder(stack: &TransformerEncoder, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let named = |name| given.optional(&given.named[name]);
    let input = TransformerEncoderInput::new(given.tensor(0)?)
        .mask(named("mask"))
        .src_key_padding_mask(named("src_key_padding_mask"))
        .is_causal(given.named["is_causal"].as_bool());
    Ok(vec![stack.call(input)?])
}

fn decoder(stack: &TransformerDecoder, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let named = |name| given.optional(&given.named[name]);
    let input = TransformerDecoderInput::new(given.tensor(0)?, given.tensor(1)?)
        .tgt_mask(named("tgt_mask"))
        .memory_mask(named("memory_mask"))
        .tgt_key_padding_mask(named("tgt_key_padding_mask"))
        .memory_key_padding_mask(named("memory_key_padding_mask"))
        .tgt_is_causal(given.named["tgt_is_causal"].as_bool())
        .memory_is_causal(given.flag("memory_is_causal", false));
    Ok(vec![stack.call(input)?])
}

fn transformer(model: &Transformer, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let named = |name| given.optional(&given.named[name]);
    let input = TransformerInput::new(given.tensor(0)?, given.tensor(1)?)
        .src_mask(named("src_mask"))
        .tgt_mask(named("tgt_mask"))
        .memory_mask(named("memory_mask"))
        .src_key_padding_mask(named("src_key_padding_mask"))
        .tgt_key_padding_mask(named("tgt_key_padding_mask"))
        .memory_key_padding_mask(named("memory_key_padding_mask"))
        .src_is_causal(given.named["src_is_causal"].as_bool())
        .tgt_is_causal(given.named["tgt_is_causal"].as_bool())
        .memory_is_causal(given.flag("memory_is_causal", false));
    Ok(vec![model.call(input)?])
}
