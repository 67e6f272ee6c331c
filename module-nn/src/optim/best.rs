//! The best metric so far.

use serde::{Deserialize, Serialize};

use super::PlateauMode;

/// The best metric so far, and whether higher or lower is better.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Best {
    pub(super) mode: PlateauMode,
    pub(super) min_delta: f64,
    #[serde(with = "super::as_text")]
    value: f64,
    /// Whether there has been a metric.
    is_some: bool,
}

impl Best {
    pub(super) fn new(mode: PlateauMode, min_delta: f64) -> Self {
        let value = match mode {
            PlateauMode::Min => f64::INFINITY,
            PlateauMode::Max => f64::NEG_INFINITY,
        };
        let is_some = false;
        Self {
            mode,
            min_delta,
            value,
            is_some,
        }
    }

    pub(super) fn get(&self) -> Option<f64> {
        self.is_some.then_some(self.value)
    }

    /// Whether a metric is better than the best; NaN never is.
    pub(super) fn is_better(&self, metric: f64) -> bool {
        match self.mode {
            PlateauMode::Min => metric < self.value - self.min_delta,
            PlateauMode::Max => metric > self.value + self.min_delta,
        }
    }

    pub(super) fn set(&mut self, metric: f64) {
        self.value = metric;
        self.is_some = true;
    }
}
