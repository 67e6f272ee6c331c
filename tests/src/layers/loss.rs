use module_nn::prelude::*;

use super::{Entry, loss, triple};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        loss("BCELoss", BCELossConfig::build),
        loss("BCEWithLogitsLoss", BCEWithLogitsLossConfig::build),
        triple("GaussianNLLLoss", GaussianNLLLossConfig::build),
        loss("HuberLoss", HuberLossConfig::build),
        loss("KLDivLoss", KLDivLossConfig::build),
        loss("L1Loss", L1LossConfig::build),
        loss("MSELoss", MSELossConfig::build),
        loss("PoissonNLLLoss", PoissonNLLLossConfig::build),
        loss("SmoothL1Loss", SmoothL1LossConfig::build),
    ]
}
