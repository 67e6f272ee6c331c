use module_core::{Error, Result};

/// Refuses an argument outside its range, with its name and value.
pub(super) fn check_range(
    optimizer: &'static str,
    name: &'static str,
    value: f64,
    fits: bool,
    range: &str,
) -> Result<()> {
    if fits {
        Ok(())
    } else {
        Err(Error::argument(
            optimizer,
            name,
            value,
            format!("must be {range}"),
        ))
    }
}
