//! The ranges of options.

use module_core::{Error, Result};

/// Refuses an option below 0, with its name and value.
pub(super) fn at_least_0(optimizer: &'static str, name: &'static str, value: f64) -> Result<()> {
    check_range(optimizer, name, value, value >= 0.0, "at least 0")
}

/// Refuses an option outside `[0, 1)`, with its name and value.
pub(super) fn below_1(optimizer: &'static str, name: &'static str, value: f64) -> Result<()> {
    let fits = (0.0..1.0).contains(&value);
    check_range(optimizer, name, value, fits, "at least 0 and below 1")
}

/// Refuses an option outside `[0, 1]`, with its name and value.
pub(super) fn from_0_to_1(optimizer: &'static str, name: &'static str, value: f64) -> Result<()> {
    let fits = (0.0..=1.0).contains(&value);
    check_range(optimizer, name, value, fits, "from 0 to 1")
}

fn check_range(
    optimizer: &'static str,
    name: &'static str,
    value: f64,
    fits: bool,
    range: &str,
) -> Result<()> {
    match fits {
        true => Ok(()),
        false => {
            let problem = format!("must be {range}");
            Err(Error::argument(optimizer, name, value, problem))
        }
    }
}
