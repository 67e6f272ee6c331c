use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("ChannelShuffle", ChannelShuffleConfig::build),
        layer("Flatten", FlattenConfig::build),
        layer("Fold", FoldConfig::build),
        layer("PixelShuffle", PixelShuffleConfig::build),
        layer("PixelUnshuffle", PixelUnshuffleConfig::build),
        layer("Unflatten", UnflattenConfig::build),
        layer("Unfold", UnfoldConfig::build),
        layer("Upsample", UpsampleConfig::build),
        layer("UpsamplingBilinear2d", UpsamplingBilinear2dConfig::build),
        layer("UpsamplingNearest2d", UpsamplingNearest2dConfig::build),
    ]
}
