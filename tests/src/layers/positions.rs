use module_nn::prelude::*;

use super::{Arguments, Entry, module};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        module(
            "SinusoidalPositionEmbedding",
            SinusoidalPositionEmbedding::config,
            sinusoidal,
        ),
        module("RotaryEmbedding", RotaryEmbedding::config, rotary),
        module(
            "GroupedQueryAttention",
            GroupedQueryAttention::config,
            grouped,
        ),
    ]
}

/// The position of the first element, if it was given as a number.
fn start(given: &Arguments<'_>) -> Option<usize> {
    let start = given.positional[1].as_u64()?;
    usize::try_from(start).ok()
}

fn sinusoidal(layer: &SinusoidalPositionEmbedding, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let x = given.tensor(0)?;
    let output = match start(given) {
        Some(start) => layer.call((x, start)),
        None => layer.call(x),
    };
    Ok(vec![output?])
}

fn rotary(layer: &RotaryEmbedding, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let x = given.tensor(0)?;
    let output = match (start(given), given.optional(&given.positional[1])) {
        (Some(start), _) => layer.call((x, start)),
        (None, Some(positions)) => layer.call((x, positions)),
        (None, None) => layer.call(x),
    };
    Ok(vec![output?])
}

fn grouped(layer: &GroupedQueryAttention, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let named = |name| given.optional(&given.named[name]);
    let mut cache = KeyValueCache::new();
    if let Some((key, value)) = named("key").zip(named("value")) {
        cache.append(key, value)?;
    }
    let input = GroupedQueryAttentionInput::new(given.tensor(0)?)
        .attn_mask(named("attn_mask"))
        .positions(named("positions"))
        .cache(cache);
    let (y, cache) = layer.call(input)?;
    let seen = [cache.key(), cache.value()].into_iter().flatten();
    Ok([y].into_iter().chain(seen).collect())
}
