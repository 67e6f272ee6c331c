#[cfg(feature = "fs")]
use std::collections::HashSet;

use module_core::Result;
#[cfg(feature = "fs")]
use module_core::{Error, error::quote};

/// Takes the named values of a step, such as losses and metrics.
///
/// # Example
///
/// ```
/// use module_nn::log::{JSONLinesLogger, Logger};
/// use module_nn::prelude::*;
///
/// let path = std::env::temp_dir().join("doc-logger.jsonl");
/// # let _ = std::fs::remove_file(&path);
/// let mut loggers: Vec<Box<dyn Logger>> = vec![Box::new(JSONLinesLogger::new(&path)?)];
/// for logger in &mut loggers {
///     logger.log(1, &[("loss", 0.5), ("lr", 1e-3)])?;
///     logger.flush()?;
/// }
/// assert_eq!(std::fs::read_to_string(path).unwrap(), "{\"step\":1,\"loss\":0.5,\"lr\":0.001}\n");
/// # Ok::<(), Error>(())
/// ```
pub trait Logger {
    /// Records the values of a step.
    ///
    /// # Errors
    ///
    /// A name that occurs twice, or is `step`; a file that cannot be written. Then nothing is recorded.
    fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<()>;

    /// Syncs the records to disk, so that they also survive a system crash.
    ///
    /// # Errors
    ///
    /// A disk error.
    fn flush(&mut self) -> Result<()>;
}

/// The name of the step in rows.
#[cfg(feature = "fs")]
pub(super) const STEP: &str = "step";

/// Refuses names that occur twice, or equal that of the step.
#[cfg(feature = "fs")]
pub(super) fn check_names(values: &[(&str, f64)]) -> Result<()> {
    let mut seen = HashSet::from([STEP]);
    match values.iter().find(|(name, _)| !seen.insert(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let problem = match *name {
                STEP => "is the name of the step; give another one",
                _ => "occurs twice; give each value a name of its own",
            };
            Err(Error::argument("log", "name", quote(name), problem))
        }
    }
}
