use module_nn::prelude::*;

use super::{Entry, loss, triple};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        triple("CosineEmbeddingLoss", CosineEmbeddingLossConfig::build),
        loss("HingeEmbeddingLoss", HingeEmbeddingLossConfig::build),
        triple("MarginRankingLoss", MarginRankingLossConfig::build),
        loss("MultiLabelMarginLoss", MultiLabelMarginLossConfig::build),
        loss(
            "MultiLabelSoftMarginLoss",
            MultiLabelSoftMarginLossConfig::build,
        ),
        loss("MultiMarginLoss", MultiMarginLossConfig::build),
        loss("NLLLoss", NLLLossConfig::build),
        loss("SoftMarginLoss", SoftMarginLossConfig::build),
        triple("TripletMarginLoss", TripletMarginLossConfig::build),
        triple(
            "TripletMarginWithDistanceLoss",
            TripletMarginWithDistanceLossConfig::build,
        ),
    ]
}
