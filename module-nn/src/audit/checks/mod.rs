//! What is looked for: one file for each check.

mod unreached;

use super::check::Check;

/// Every check, in the order in which their findings are reported: causes before what follows from them.
pub(super) const CHECKS: &[&dyn Check] = &[&unreached::UnreachedParameter];
