//! The entries of embeddings.

use module_nn::prelude::*;

use super::{Arguments, Entry, layer, module};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        module(
            "AdaptiveLogSoftmaxWithLoss",
            AdaptiveLogSoftmaxWithLoss::config,
            |layer, given| {
                let (output, loss) = layer.call(pair(given)?)?;
                Ok(vec![output, loss])
            },
        ),
        module("Bilinear", Bilinear::config, |layer, given| {
            Ok(vec![layer.call(pair(given)?)?])
        }),
        module(
            "CosineSimilarity",
            CosineSimilarity::config,
            |layer, given| Ok(vec![layer.call(pair(given)?)?]),
        ),
        layer("Embedding", Embedding::config),
        module("EmbeddingBag", EmbeddingBag::config, |bag, given| {
            let offsets = given.maybe_tensor(1, "offsets");
            let weights = given.maybe_tensor(2, "per_sample_weights");
            Ok(vec![match (given.tensor(0)?, offsets, weights) {
                (input, None, None) => bag.call(input)?,
                (input, Some(offsets), None) => bag.call((input, offsets))?,
                all => bag.call(all)?,
            }])
        }),
        module(
            "PairwiseDistance",
            PairwiseDistance::config,
            |layer, given| Ok(vec![layer.call(pair(given)?)?]),
        ),
    ]
}

fn pair(given: &Arguments<'_>) -> Result<(Tensor, Tensor)> {
    Ok((given.tensor(0)?, given.tensor(1)?))
}
