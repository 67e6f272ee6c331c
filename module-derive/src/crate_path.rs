//! Finds the path of the framework's crate.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::Path;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;

use crate::attr::ContainerAttrs;
use crate::dependency;

/// The path of the framework as seen by the user's crate: the value of `#[module(crate = "…")]`, otherwise `module-nn` if
/// the user depends on it, otherwise `module-core`. Both name themselves by `extern crate self as …`, so that the same path
/// works for them, their tests and their documentation.
pub(crate) fn crate_path(attrs: &ContainerAttrs) -> TokenStream {
    if let Some(given) = &attrs.krate {
        let path = &given.value;
        return quote!(#path);
    }
    let found = found();
    // If there is no manifest, the most common name gives the best error.
    let ident = Ident::new(found.as_deref().unwrap_or("module_nn"), Span::call_site());
    quote!(::#ident)
}

thread_local! {
    /// The folder of the manifest that was last read, and the result.
    static LAST: RefCell<Option<(OsString, Option<String>)>> = const { RefCell::new(None) };
}

/// The name of the framework in the manifest of the crate being compiled.
///
/// It is looked up once: a crate has many modules and one manifest, and accessing the file system costs as much as writing
/// an implementation. The compiler expands one crate per process; editors restart theirs when a manifest changes.
fn found() -> Option<String> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR")?;
    LAST.with_borrow_mut(|last| match last {
        Some((known, name)) if *known == folder => name.clone(),
        _ => {
            let name = dependency::find(&["module-nn", "module-core"], Path::new(&folder));
            *last = Some((folder, name.clone()));
            name
        }
    })
}
