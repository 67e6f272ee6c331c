//! What arguments must hold, with errors that quote their names and values.

use crate::{Error, Result, Sizes};

/// Refuses a size of 0, with its name and value.
pub(crate) fn positive(layer: &'static str, name: &'static str, size: usize) -> Result<()> {
    if size > 0 {
        return Ok(());
    }
    Err(Error::argument(layer, name, size, "must be at least 1"))
}

/// [`positive`] for each of several sizes.
pub(crate) fn positive_sizes<const N: usize>(
    layer: &'static str,
    name: &'static str,
    sizes: Sizes<N>,
) -> Result<()> {
    if !sizes.get().contains(&0) {
        return Ok(());
    }
    let problem = "each must be at least 1";
    Err(Error::argument(layer, name, sizes, problem))
}

/// Refuses a number outside `[low, high]`, and NaN.
pub(crate) fn between(
    layer: &'static str,
    name: &'static str,
    value: f64,
    [low, high]: [f64; 2],
) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    let problem = match high.is_finite() {
        true => format!("must be between {low} and {high}"),
        false => format!("must be at least {low}"),
    };
    Err(Error::argument(layer, name, value, problem))
}

/// Refuses a number that is not above 0, and NaN.
pub(crate) fn above_0(layer: &'static str, name: &'static str, value: f64) -> Result<()> {
    if value > 0.0 {
        return Ok(());
    }
    Err(Error::argument(layer, name, value, "must be above 0"))
}
