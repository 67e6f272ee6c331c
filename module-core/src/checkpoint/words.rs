//! Names in messages.

use std::borrow::Cow;

/// The beginning of a name, which may fill a crafted file.
pub(super) fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &name[..end]).into(),
        None => name.into(),
    }
}
