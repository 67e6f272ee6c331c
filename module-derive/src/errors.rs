//! Collects errors, so that one compilation shows every mistake of a type.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds an error on `tokens` that says what is wrong and how to fix it.
    pub(crate) fn add(&mut self, tokens: impl ToTokens, wrong: impl Display, cure: impl Display) {
        self.push(error(tokens, wrong, cure));
    }

    /// Adds an existing error.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            None => self.0 = Some(error),
            Some(first) => first.combine(error),
        }
    }

    /// The errors, in the order in which they were found.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = syn::Error> {
        self.0.clone().into_iter().flatten()
    }

    /// One `compile_error!` for each error, or nothing.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.0.map(|error| error.to_compile_error())
    }
}

/// An error on `tokens`, in the form that all messages of the derive have.
pub(crate) fn error(tokens: impl ToTokens, wrong: impl Display, cure: impl Display) -> syn::Error {
    syn::Error::new_spanned(tokens, format_args!("{wrong}\nhelp: {cure}"))
}
