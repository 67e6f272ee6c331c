//! The entries of losses of an input and a target.

use module_nn::prelude::*;

use super::{Entry, loss, triple};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        loss("BCELoss", BCELoss::config),
        loss("BCEWithLogitsLoss", BCEWithLogitsLoss::config),
        triple("GaussianNLLLoss", GaussianNLLLoss::config),
        loss("HuberLoss", HuberLoss::config),
        loss("KLDivLoss", KLDivLoss::config),
        loss("L1Loss", L1Loss::config),
        loss("MSELoss", MSELoss::config),
        loss("PoissonNLLLoss", PoissonNLLLoss::config),
        loss("SmoothL1Loss", SmoothL1Loss::config),
    ]
}
