use module_core::rng::{Generator, default_generator};
use module_core::{Result, fork_rng};

use super::random::set_generator;
use super::{Sampler, draw};

/// The order of an epoch.
pub(super) struct Plan {
    /// Together with the number of a batch, determines what is drawn while the batch is loaded.
    pub(super) base_seed: u64,
    /// The indices of each batch.
    pub(super) batches: Vec<Vec<usize>>,
}

/// The sources of an epoch's order.
pub(super) struct Source {
    pub(super) sampler: Box<dyn Sampler<Index = Vec<usize>>>,
    pub(super) generator: Option<Generator>,
}

/// The generators and the sampler that a loader will draw from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SourceState {
    /// Empty for a loader without a generator.
    pub(super) generator: Vec<u8>,
    pub(super) sampler: Vec<u8>,
}

/// Everything that an epoch is drawn from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EpochStart {
    pub(super) default_generator: Vec<u8>,
    pub(super) source: SourceState,
}

impl Source {
    pub(super) fn state(&self) -> SourceState {
        let generator = self.generator.as_ref().map(Generator::get_state);
        SourceState {
            generator: generator.unwrap_or_default(),
            sampler: self.sampler.get_state(),
        }
    }

    /// Restores a state; on an error, nothing is changed.
    pub(super) fn set_state(&self, state: &SourceState) -> Result<()> {
        // The sampler refuses a state without changing anything, and its generator may be the loader's.
        let before = self.sampler.get_state();
        self.sampler.set_state(&state.sampler)?;
        let set = set_generator(self.generator.as_ref(), &state.generator);
        if set.is_err() {
            self.sampler.set_state(&before)?;
        }
        set
    }

    pub(super) fn start(&self) -> EpochStart {
        EpochStart {
            default_generator: default_generator().get_state(),
            source: self.state(),
        }
    }

    /// Draws the next epoch: as in PyTorch first the base seed, then the order.
    pub(super) fn draw(&self) -> Result<Plan> {
        let generator = self.generator.clone().unwrap_or_else(default_generator);
        let base_seed = draw::seed(&generator)?;
        let batches = self.sampler.indices()?;
        Ok(Plan { base_seed, batches })
    }

    /// Draws the epoch that began in this state; all generators are unchanged.
    pub(super) fn draw_again(&self, start: &EpochStart) -> Result<Plan> {
        let before = self.state();
        let drawn = fork_rng(0, || {
            default_generator().set_state(&start.default_generator)?;
            self.set_state(&start.source)?;
            self.draw()
        });
        self.set_state(&before)?;
        drawn
    }
}
