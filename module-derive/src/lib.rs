//! `#[derive(Module)]`: registers a type's fields as parameters, buffers and child modules.
//!
//! The derive reads the fields of a struct, or the variants of an enum, and writes the one
//! implementation of `Module` that shows them to visitors in declaration order. It decides no
//! role: every field is asked through the trait `Field`, so that aliases, generics and nesting
//! register as the types that they are.
//!
//! Users reach it as `module_nn::Module` or `module_core::Module`, which document it; the
//! expansion names whichever of the two crates the user depends on.
//!
//! # Stages
//!
//! `attr` reads the attributes, `model` gives the input the shape that the rest works on,
//! `validate` refuses what cannot be a module, `expand` writes the implementation, `checks` beside it
//! what only the compiler can judge. Errors of the first three are collected and reported together,
//! beside a stub implementation, so that one mistake gives one message.

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
/// | field | `#[module(skip)]` | the field is no part of the module; refused on a type that holds parameters, buffers or modules |
/// | field | `#[module(rename = "key")]` | the field registers under `key` |
/// | field | `#[module(flatten)]` | the child's members join this module's own |
/// | type | `#[module(extra_repr = path)]` | `path(&self, &mut Formatter) -> fmt::Result` prints what stands between the parentheses in the module tree |
/// | type | `#[module(kind = path)]` | the constant `path`, a `&'static str`, is the name in the module tree and in errors, instead of the type's |
/// | type | `#[module(debug)]` | implements `Debug`, which prints the module tree |
/// | type | `#[module(crate = "path")]` | where the expansion finds the framework |
///
/// # Keys
///
/// A field registers under its name, or its number, unless it is renamed. Keys differ; they are not
/// empty, contain no `.`, and start neither with `__`, as names of the safetensors format do, nor with
/// `_extra_state`, under which PyTorch saves state that is not a tensor. The keys of a flattened field are
/// compared with the keys beside it, through every level of flattening, as far as types tell their keys:
/// those of lists, maps, `Sequential`, `dyn` modules and the payloads of one-field variants are known
/// at run time only, where `state_dict` reports a key that two members have.
///
/// # `Debug`
///
/// `#[module(debug)]` prints a module as `tree()` does, `Linear(in_features=3, out_features=2, bias=True)`, and asks
/// nothing of its fields. All modules of the library print so; a type that prefers the form of Rust, with its fields by
/// name, derives `Debug` instead. It cannot have both.
///
/// # `FIELDS`
///
/// The derive also implements `Describe`, whose constant `FIELDS` tells each field's name, key
/// and role at compile time.
///
/// # Enums
///
/// The active variant answers. A variant with one unnamed field is transparent: its payload takes
/// the enum's place, and no variant name appears in a key. Any other variant is a module with its
/// fields as members.
///
/// # Generic types
///
/// Each field type that depends on a type parameter is bound by `Field`, so that no bounds are
/// written by hand. What `skip` hides is checked where the type is known: a field that is itself a
/// type parameter can be skipped whatever it stands for.
///
/// A flattened field whose type depends on a type parameter is bound by `Module` and `Describe`, and
/// its keys are compared where the parameter is known.
#[proc_macro_derive(Module, attributes(module))]
pub fn derive_module(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).into()
}

/// Implements `Forward` for an enum or a newtype that computes what its payload computes.
///
/// Every variant has one unnamed field, and every payload maps one tensor to one tensor. The payload
/// is invoked by `call`, so that its hooks run.
#[proc_macro_derive(Forward, attributes(module))]
pub fn derive_forward(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    forward::derive(&input).into()
}

/// Implements `Tensors` for a struct or an enum, so that it can be the input or the output of a module
/// and hooks see the tensors in it, in the order of the fields.
///
/// `#[module(skip)]` leaves out a field that holds no tensors and is no `Tensors`;
/// `#[module(crate = "path")]` on the type tells where the expansion finds the framework. A field whose
/// type depends on a type parameter is bound by `Tensors`.
#[proc_macro_derive(Tensors, attributes(module))]
pub fn derive_tensors(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    tensors::derive(&input).into()
}

/// The stages in their order, on a type that unit tests can build.
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
