use module_core::{Parameter, Result};

use super::error::LoraError;
use super::find::Found;

/// Refuses to change a parameter of the module at `path` that other modules also use.
pub(super) fn check_untied(
    op: &'static str,
    found: &[Found<'_>],
    path: &str,
    parameter: &Parameter,
) -> Result<()> {
    let module = found.iter().find(|found| found.path == path);
    // A module with several paths applies its adapter in all of its calls.
    let is_other = |other: &&Found<'_>| {
        let mut ids = other.parameters.iter().map(|(_, own)| own.id());
        module.is_none_or(|module| module.module.id() != other.module.id())
            && ids.any(|id| id == parameter.id())
    };
    let others: Vec<&str> = found
        .iter()
        .filter(is_other)
        .map(|found| found.path.as_str())
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let (path, others) = (path.to_owned(), others.join("`, `"));
    let reason = format!(
        "is tied to that of `{others}`, whose outputs would change with it; give one of them its own first"
    );
    Err(LoraError::Weight { op, path, reason }.into())
}
