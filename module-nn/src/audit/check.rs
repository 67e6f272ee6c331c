use super::finding::Finding;
use super::record::Record;

/// One thing to look for. A check reads what was seen and has no state, so that the order of checks does not
/// matter.
pub(super) trait Check: Sync {
    /// Adds what it finds, in the order of the model or of the calls.
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>);
}
