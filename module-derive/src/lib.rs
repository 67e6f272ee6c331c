//! The derive macros of modules: `Module`, `Forward` and `Tensors`.
//!
//! `#[derive(Module)]` reads the fields of a struct, or the variants of an enum, and writes the one implementation of `Module`
//! that shows them to visitors in declaration order. It does not decide roles: every field answers through the trait `Field`, so
//! that aliases, generics and nesting register as the types that they are.
//!
//! Users reach it as `module_nn::Module` or `module_core::Module`; the expansion names whichever of the two crates the user
//! depends on. Examples are on the pages of the traits of the same names there, because this crate does not depend on them.
//!
//! # Stages
//!
//! `attr` reads the attributes, `model` brings the input into the form that the later stages use, `validate` refuses types
//! that cannot be modules, `expand` writes the implementation, and `checks` writes the rules that only the compiler can
//! judge. Errors of the first three are collected and reported together, next to a stub implementation, so that one mistake
//! gives one message.

mod attr;
mod checks;
mod crate_path;
mod dependency;
mod errors;
mod expand;
mod forward;
mod manifest;
mod model;
mod pieces;
mod tensors;
mod types;
mod validate;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Implements `Module` for a struct or an enum.
///
/// # Attributes
///
/// | on | attribute | effect |
/// |---|---|---|
/// | field | `#[module(skip)]` | the field is not part of the module; refused on a type that holds parameters, buffers or modules |
/// | field | `#[module(rename = "key")]` | the field registers under `key` |
/// | field | `#[module(flatten)]` | the child's members become this module's own |
/// | type | `#[module(extra_repr = path)]` | `path(&self, &mut Formatter) -> fmt::Result` prints the text between the parentheses in the module tree |
/// | type | `#[module(kind = path)]` | the constant `path`, a `&'static str`, replaces the type's name in the module tree and in errors |
/// | type | `#[module(debug)]` | implements `Debug`, which prints the module tree |
/// | type | `#[module(crate = "path")]` | the path of the framework in the expansion |
///
/// # Keys
///
/// A field registers under its name, or its number, unless it is renamed. Keys must be distinct and not empty, contain no
/// `.`, and start neither with `__`, like names of the safetensors format, nor with `_extra_state`, the key for PyTorch's
/// state other than tensors. The keys of a flattened field are compared with those of the fields next to it, through every
/// level of flattening, as far as types determine their keys: those of lists, maps, `Sequential`, `dyn` modules and the
/// payloads of one-field variants are known only at run time, when `state_dict` reports a key that two members share.
///
/// # `Debug`
///
/// `#[module(debug)]` prints a module like `tree()`, `Linear(in_features=3, out_features=2, bias=True)`, and requires
/// nothing of its fields. All modules of the library print this way; a type that prefers Rust's form, with its fields by
/// name, derives `Debug` instead. It cannot have both.
///
/// # `FIELDS`
///
/// The derive also implements `Describe`, whose constant `FIELDS` gives each field's name, key and role at compile time.
///
/// # Enums
///
/// An enum behaves like its active variant. A variant with one unnamed field is transparent: its payload takes the enum's
/// place, and no variant name appears in a key. Any other variant is a module with its fields as members.
///
/// # Generic types
///
/// Each field type that depends on a type parameter is bound by `Field`, so that you need not write bounds. Skipped types
/// are checked where the type is known: a field that is itself a type parameter can always be skipped.
///
/// A flattened field whose type depends on a type parameter is bound by `Module` and `Describe`, and its keys are compared
/// where the parameter is known.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).into()
}

/// Implements `Forward` for an enum or a newtype by calling its payload.
///
/// Every variant has one unnamed field, and every payload maps one tensor to one tensor. The payload is invoked by `call`,
/// so that its hooks run.
#[proc_macro_derive(Forward, attributes(module))]
pub fn derive_forward(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    forward::derive(&input).into()
}

/// Implements `Tensors` for a struct or an enum, so that it can be the input or the output of a module
/// and hooks see the tensors in it, in the order of the fields.
///
/// `#[module(skip)]` excludes a field that holds no tensors and does not implement `Tensors`; `#[module(crate = "path")]`
/// on the type gives the path of the framework. A field whose type depends on a type parameter is bound by `Tensors`.
#[proc_macro_derive(Tensors, attributes(module))]
pub fn derive_tensors(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tensors::derive(&input).into()
}

/// The stages in order, on a type that unit tests can build.
fn derive(input: &DeriveInput) -> proc_macro2::TokenStream {
    let mut errors = errors::Errors::default();
    let model = model::Input::from_syn(input, &mut errors);
    validate::check(&model, &mut errors);
    match errors.into_compile_errors() {
        None => expand::implementation(&model),
        Some(messages) => {
            let stub = expand::stub(&model);
            quote::quote!(#messages #stub)
        }
    }
}
