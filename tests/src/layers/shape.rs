//! The entries of layers that change only the shape.

use module_nn::prelude::*;

use super::{Entry, layer};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("ChannelShuffle", ChannelShuffle::config),
        layer("Flatten", Flatten::config),
        layer("Fold", Fold::config),
        layer("PixelShuffle", PixelShuffle::config),
        layer("PixelUnshuffle", PixelUnshuffle::config),
        layer("Unflatten", Unflatten::config),
        layer("Unfold", Unfold::config),
        layer("Upsample", Upsample::config),
        layer("UpsamplingBilinear2d", UpsamplingBilinear2d::config),
        layer("UpsamplingNearest2d", UpsamplingNearest2d::config),
    ]
}
