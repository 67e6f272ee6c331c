//! The entries of margin losses.

use module_nn::prelude::*;

use super::{Entry, loss, triple};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        triple("CosineEmbeddingLoss", CosineEmbeddingLoss::config),
        loss("HingeEmbeddingLoss", HingeEmbeddingLoss::config),
        triple("MarginRankingLoss", MarginRankingLoss::config),
        loss("MultiLabelMarginLoss", MultiLabelMarginLoss::config),
        loss("MultiLabelSoftMarginLoss", MultiLabelSoftMarginLoss::config),
        loss("MultiMarginLoss", MultiMarginLoss::config),
        loss("NLLLoss", NLLLoss::config),
        loss("SoftMarginLoss", SoftMarginLoss::config),
        triple("TripletMarginLoss", TripletMarginLoss::config),
        triple(
            "TripletMarginWithDistanceLoss",
            TripletMarginWithDistanceLoss::config,
        ),
    ]
}
