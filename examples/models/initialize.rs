//! Initialization that several libraries share.

use module_nn::init::zeros;
use module_nn::prelude::*;

/// Initializes a layer's weight, and sets its bias, if any, to 0.
///
/// # Errors
///
/// None for a newly built layer.
pub fn draw(weight: &Parameter, bias: &Bias, init: impl Init) -> Result<()> {
    weight.initialize(init)?;
    bias.get().map_or(Ok(()), |bias| bias.initialize(zeros()))
}
