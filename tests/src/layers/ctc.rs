//! The entries of CTC's loss.

use module_nn::prelude::*;

use super::{Entry, module};

pub(super) fn entries() -> Vec<Entry> {
    vec![module("CTCLoss", CTCLoss::config, |loss, given| {
        let [x, targets] = [given.tensor(0)?, given.tensor(1)?];
        let [moments, letters] = [given.tensor(2)?, given.tensor(3)?];
        Ok(vec![loss.call((x, targets, moments, letters))?])
    })]
}
