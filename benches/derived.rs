//! The source that `peers/compile_cost.py` repeats to measure what a derived struct costs to compile. The two comment lines
//! that end with a colon divide it into the part that occurs once, the part for each struct, and the part that `--reload`
//! adds.

use module_nn::{Linear, Module, ModuleExt, Parameter, ReLU, Result};

/// The nested struct.
#[derive(Module)]
pub struct Block {
    linear: Linear,
}

// Each struct:

/// A struct of eight fields.
#[derive(Module)]
pub struct Net {
    first: Linear,
    second: Linear,
    third: Linear,
    block: Block,
    activation: ReLU,
    scale: Parameter,
    size: usize,
    rate: f64,
}

/// Uses it: counts its parameters.
pub fn count_net(net: &Net) -> usize {
    net.num_parameters()
}

// Saved and loaded:

/// Uses it: saves and loads it.
///
/// # Errors
///
/// None, because the state is the module's own.
pub fn reload_net(net: &Net) -> Result<()> {
    net.load_state_dict(&net.state_dict()?).map(drop)
}
