//! Finds the crate that the expansion names.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;

use crate::attr::ContainerAttrs;

/// The path of the framework as the user's crate sees it: what `#[module(crate = "…")]` says, else
/// `module-nn` if the user depends on it, else `module-core`.
pub(crate) fn crate_path(attrs: &ContainerAttrs) -> TokenStream {
    if let Some(given) = &attrs.krate {
        let path = &given.value;
        return quote!(#path);
    }
    let found = ["module-nn", "module-core"]
        .into_iter()
        .find_map(|name| match crate_name(name) {
            Ok(FoundCrate::Name(name)) => Some(name),
            // Both crates name themselves by `extern crate self as …`, so that the same path serves
            // them, their tests and their documentation.
            Ok(FoundCrate::Itself) => Some(name.replace('-', "_")),
            Err(_) => None,
        });
    // Without a manifest to read, the name that most users have gives the best error.
    let ident = Ident::new(found.as_deref().unwrap_or("module_nn"), Span::call_site());
    quote!(::#ident)
}
