//! `#[derive(Forward)]`: an enum or a newtype that calls its payload.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Type};

use crate::crate_path::crate_path;
use crate::errors::Errors;
use crate::model::{Body, Input};
use crate::types::{self, Params};

/// The implementation of `Forward`, or the errors that prevent it.
///
/// Problems of the type as a module are reported by the derive of `Module`.
pub(crate) fn derive(syntax: &DeriveInput) -> TokenStream {
    let input = Input::from_syn(syntax, &mut Errors::default());
    let mut errors = Errors::default();
    let payloads = payloads(&input, &mut errors);
    match errors.into_compile_errors() {
        Some(messages) => messages,
        None => implementation(&input, &payloads),
    }
}

/// A pattern that binds the payload as `__0`, and the payload's type.
struct Payload<'a> {
    pattern: TokenStream,
    ty: &'a Type,
}

/// Every variant must have one field, which computes.
fn payloads<'a>(input: &'a Input<'_>, errors: &mut Errors) -> Vec<Payload<'a>> {
    let mut payloads = Vec::new();
    match &input.body {
        Body::Struct(members) => match members.as_slice() {
            [member] if member.attrs.skip.is_none() => {
                let access = &member.access;
                payloads.push(Payload {
                    pattern: quote!(Self { #access: __0 }),
                    ty: member.ty,
                });
            }
            _ => errors.add(
                input.ident,
                "only a struct with one field can derive `Forward`",
                format_args!(
                    "write `impl Forward for {}`, which says how its members work together",
                    input.ident
                ),
            ),
        },
        Body::Enum(variants) => {
            for variant in variants {
                let ident = variant.ident;
                match variant.payload() {
                    Some(payload) => {
                        payloads.push(Payload {
                            pattern: quote!(Self::#ident { 0: __0 }),
                            ty: payload.ty,
                        });
                    }
                    None => errors.add(
                        ident,
                        format_args!("the variant `{ident}` has no payload that could compute"),
                        format_args!("write `{ident}(Identity)` for one that passes its input on"),
                    ),
                }
            }
        }
        Body::Union(_) => {}
    }
    payloads
}

fn implementation(input: &Input<'_>, payloads: &[Payload<'_>]) -> TokenStream {
    let krate = crate_path(&input.attrs);
    let private = quote!(#krate::__private);
    let ident = input.ident;
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let written = input.written_bounds();
    let params = Params::of(input.generics);
    let bounds = payloads
        .iter()
        .map(|payload| payload.ty)
        .filter(|ty| params.depends_on_type_param(ty) && !types::is_recursive(ty, ident))
        .map(|ty| quote!(#ty: #private::Module + #private::LayerPayload));
    let arms = payloads.iter().map(|Payload { pattern, ty }| {
        quote!(#pattern => <#ty as #private::LayerPayload>::call_payload(__0, __input),)
    });
    quote! {
        const _: () = {
            #[automatically_derived]
            impl #impl_generics #private::Forward<#private::Tensor> for #ident #ty_generics
            where
                #(#written,)*
                #(#bounds,)*
            {
                type Output = #private::Tensor;

                fn forward(&self, __input: #private::Tensor) -> #private::Result<#private::Tensor> {
                    match self {
                        #(#arms)*
                    }
                }
            }
        };
    }
}
