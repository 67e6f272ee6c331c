//! The thread's state around a call, which a recomputation restores.

use crate::hooks::Tensors;
use crate::module::overrides::Captured;
use crate::rng::{default_generator, initial_seed};
use crate::{AutocastState, Device, Result, fork_rng};

/// The thread-local scopes in which a call first runs.
///
/// **Any thread-local scope that changes what operations compute belongs here**: `of` records it, and `restored` enters it.
pub(super) struct Surroundings {
    /// The states of the default generators: the CPU's, and those of other devices.
    cpu: Vec<u8>,
    others: Vec<(Device, Vec<u8>)>,
    /// The dtype of mixed precision.
    autocast: AutocastState,
    /// The values that a functional call gives to parameters and buffers.
    overrides: Captured,
}

impl Surroundings {
    /// The scopes of a call with these inputs.
    pub(super) fn of(inputs: &dyn Tensors) -> Self {
        let mut devices = Vec::new();
        inputs.for_each(&mut |x| {
            let device = x.device();
            if device != Device::cpu() && !devices.contains(&device) {
                devices.push(device);
            }
        });
        let state = |device: Device| {
            let generator = device.default_generator();
            // For a device without a generator, the CPU's draws.
            let own = generator.device() == device;
            own.then(|| (device, generator.get_state()))
        };
        Self {
            cpu: default_generator().get_state(),
            others: devices.into_iter().filter_map(state).collect(),
            autocast: AutocastState::current(),
            overrides: Captured::of_now(),
        }
    }

    /// Runs `f` in the scopes in which the call was run.
    pub(super) fn restored(&self, f: impl FnOnce() -> Result<()>) -> Result<()> {
        fork_rng(initial_seed(), || {
            default_generator().set_state(&self.cpu)?;
            for (device, state) in &self.others {
                device.default_generator().set_state(state)?;
            }
            self.autocast.run(|| self.overrides.run(f))
        })
    }
}
