use std::fmt;

/// The result of [`quantize`](super::quantize()).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// use module_nn::quantize::{QuantizeReport, Scheme, quantize};
///
/// let report: QuantizeReport = quantize(&Linear::new(64, 32)?, Select::all(), Scheme::Int8)?;
/// assert_eq!((report.quantized.len(), report.bytes_before), (1, 4 * 64 * 32));
/// let text = format!("1 weight(s) packed, 8192 bytes before, {} now; 1 parameter(s) as they were", report.bytes_after);
/// assert_eq!(report.to_string(), text);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuantizeReport {
    /// The paths of the weights that are now packed.
    pub quantized: Vec<String>,
    /// The paths of selected parameters that are unchanged, with the type of their module.
    pub skipped: Vec<(String, &'static str)>,
    /// The bytes of the packed weights before.
    pub bytes_before: usize,
    /// The bytes of the packed weights now.
    pub bytes_after: usize,
}

impl fmt::Display for QuantizeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, skipped) = (self.quantized.len(), self.skipped.len());
        let (before, after) = (self.bytes_before, self.bytes_after);
        write!(
            f,
            "{count} weight(s) packed, {before} bytes before, {after} now; {skipped} parameter(s) as they were"
        )
    }
}
