//! Names in messages.

use std::borrow::Cow;

use module_tensor::error::quote;

/// The beginning of a name, which could fill a whole crafted file, without terminal control characters.
pub(super) fn shorten(name: &str) -> Cow<'_, str> {
    quote(name).to_string().into()
}
