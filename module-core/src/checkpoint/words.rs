//! Names in messages.

use std::borrow::Cow;

use module_tensor::error::quote;

/// The beginning of a name, which may fill a crafted file, without what steers a terminal.
pub(super) fn shorten(name: &str) -> Cow<'_, str> {
    quote(name).to_string().into()
}
