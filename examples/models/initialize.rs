//! Initialization that several libraries share.

use module_nn::init::zeros;
use module_nn::prelude::*;

/// Draws the weight of a layer, and makes its bias, if it has one, 0.
///
/// # Errors
///
/// None for a layer that was just built.
pub fn draw(weight: &Parameter, bias: &Bias, init: impl Init) -> Result<()> {
    weight.initialize(init)?;
    bias.get().map_or(Ok(()), |bias| bias.initialize(zeros()))
}
