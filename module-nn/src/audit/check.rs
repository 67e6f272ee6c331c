use super::finding::Finding;
use super::record::Record;

/// One kind of problem to look for. A check reads the record and has no state, so the order of checks does not matter.
pub(super) trait Check: Sync {
    /// Adds its findings, in the order of the model or of the calls.
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>);
}
