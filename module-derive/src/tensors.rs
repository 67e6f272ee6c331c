//! `#[derive(Tensors)]`: users' types as inputs or outputs of a module.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::DeriveInput;

use crate::crate_path::crate_path;
use crate::errors::Errors;
use crate::model::{Body, Input, Member};
use crate::types::{self, Params};

/// The implementation of `Tensors`, or the errors that prevent it.
pub(crate) fn derive(syntax: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let input = Input::from_syn(syntax, &mut errors);
    check(&input, &mut errors);
    match errors.into_compile_errors() {
        None => implementation(&input, |method| arms(&input, method)),
        // A stub next to the errors, so that uses of the type are not reported as well.
        Some(messages) => {
            let stub = implementation(&input, |_| vec![quote!(_ => {})]);
            quote!(#messages #stub)
        }
    }
}

fn check(input: &Input<'_>, errors: &mut Errors) {
    if let Body::Union(token) = &input.body {
        errors.add(
            token,
            "a union cannot show its tensors, because nothing tells which of its fields is there",
            "write an `enum`, whose active variant answers",
        );
    }
    let of_modules = "it goes on types that derive `Module`";
    let attrs = &input.attrs;
    let extra_repr = attrs.extra_repr.as_ref().map(|given| &given.name);
    let kind = attrs.kind.as_ref().map(|given| &given.name);
    let debug = attrs.debug.as_ref().map(|given| &given.name);
    let names = [(extra_repr, "extra_repr"), (kind, "kind"), (debug, "debug")];
    for (name, attribute) in names {
        if let Some(name) = name {
            let wrong = format!("`{attribute}` has no meaning for `Tensors`");
            errors.add(name, wrong, of_modules);
        }
    }
    for member in input.members() {
        let (rename, flatten) = (&member.attrs.rename, &member.attrs.flatten);
        let names = rename.iter().map(|given| &given.name);
        for name in names.chain(flatten.iter().map(|given| &given.name)) {
            let wrong = "only `skip` has a meaning on a field of `Tensors`";
            errors.add(name, wrong, of_modules);
        }
    }
}

fn implementation(input: &Input<'_>, arms: impl Fn(&Ident) -> Vec<TokenStream>) -> TokenStream {
    let krate = crate_path(&input.attrs);
    let ident = input.ident;
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let written = input.written_bounds();
    let params = Params::of(input.generics);
    let bounds = shown(input.members())
        .map(|member| member.ty)
        .filter(|ty| params.depends_on_type_param(ty) && !types::is_recursive(ty, ident))
        .map(|ty| quote!(#ty: __m::Tensors));
    let method = |name: &str| {
        let name = Ident::new(name, Span::call_site());
        let arms = arms(&name);
        (name, quote!(match *self { #(#arms)* }))
    };
    let ((for_each, body), (for_each_mut, body_mut)) = (method("for_each"), method("for_each_mut"));
    quote! {
        const _: () = {
            use #krate::__private as __m;
            #[automatically_derived]
            impl #impl_generics __m::Tensors for #ident #ty_generics
            where
                #(#written,)*
                #(#bounds,)*
            {
                fn #for_each(&self, __f: &mut dyn ::core::ops::FnMut(&__m::Tensor)) {
                    #body
                }

                fn #for_each_mut(&mut self, __f: &mut dyn ::core::ops::FnMut(&mut __m::Tensor)) {
                    #body_mut
                }
            }
        };
    }
}

fn shown<'a, 'm: 'a>(
    members: impl Iterator<Item = &'a Member<'m>>,
) -> impl Iterator<Item = &'a Member<'m>> {
    members.filter(|member| member.attrs.skip.is_none())
}

/// One arm for each variant, which calls a method of the fields in order.
fn arms(input: &Input<'_>, method: &Ident) -> Vec<TokenStream> {
    match &input.body {
        Body::Struct(members) => vec![arm(&quote!(Self), members, method)],
        Body::Enum(variants) => variants
            .iter()
            .map(|variant| {
                let ident = variant.ident;
                arm(&quote!(Self::#ident), &variant.members, method)
            })
            .collect(),
        Body::Union(_) => Vec::new(),
    }
}

fn arm(form: &TokenStream, members: &[Member<'_>], method: &Ident) -> TokenStream {
    let by = match method == "for_each" {
        true => quote!(ref),
        false => quote!(ref mut),
    };
    let (places, types): (Vec<_>, Vec<_>) = shown(members.iter())
        .map(|member| (&member.access, member.ty))
        .unzip();
    let names: Vec<_> = (0..places.len()).map(|i| format_ident!("__{i}")).collect();
    quote! {
        #form { #(#places: #by #names,)* .. } => {
            #(<#types as __m::Tensors>::#method(#names, __f);)*
        }
    }
}
