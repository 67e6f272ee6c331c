//! Writes the implementation.
//!
//! Everything the expansion names is an absolute path, so that it works under `#![no_implicit_prelude]` and beside user
//! types called `Result`, `Option` or `Module`. The type of a field is named by the user's own tokens and the same call is
//! written in `visit` and `visit_mut`, so that a type that is not a field is reported on the type, and once: the compiler
//! drops a message that equals an earlier one.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::Path;
use syn::ext::IdentExt;

use crate::checks::Checks;
use crate::crate_path::crate_path;
use crate::model::{Body, Input, Member, Variant};
use crate::pieces::{Access, Place, Role};
use crate::types::{self, Params};

/// The implementation of `Module` for a valid input.
pub(crate) fn implementation(input: &Input<'_>) -> TokenStream {
    let krate = crate_path(&input.attrs);
    let private = &private();
    let methods = match &input.body {
        Body::Struct(members) => struct_methods(members, private),
        Body::Enum(variants) => enum_methods(variants, private),
        Body::Union(_) => TokenStream::new(),
    };
    let checks = Checks::of(input, private);
    let (items, in_kind_method) = (checks.items, checks.in_kind_method);
    let kind = kind(input, &in_kind_method);
    let extra_repr = input
        .attrs
        .extra_repr
        .as_ref()
        .map(|given| extra_repr(&given.value));
    let bounds = bounds(input, private);
    let module = header("Module", input, private, &bounds);
    let describe = header("Describe", input, private, &bounds);
    let fields = fields(input, private);
    let debug = input.attrs.debug.as_ref();
    let debug = debug.map(|_| debug_tree(input, private, &bounds));
    quote! {
        const _: () = {
            use #krate::__private as #private;
            #[automatically_derived]
            #module {
                #kind
                #methods
                #extra_repr
            }
            #[automatically_derived]
            #describe {
                const WRITTEN: #private::Written = #private::Written { #fields };
            }
            #debug
            #items
        };
    }
}

/// Implementations without members, next to the errors, so that uses of the type are not reported as well.
pub(crate) fn stub(input: &Input<'_>) -> TokenStream {
    if input.generics.lifetimes().next().is_some() {
        // Modules do not borrow, so there is no valid implementation.
        return TokenStream::new();
    }
    let krate = crate_path(&input.attrs);
    let private = &private();
    let mut bounds = owned(input);
    bounds.push(proved_later());
    let module = header("Module", input, private, &bounds);
    let describe = header("Describe", input, private, &bounds);
    let kind = kind(input, &TokenStream::new());
    let methods = struct_methods(&[], private);
    quote! {
        const _: () = {
            use #krate::__private as #private;
            #[automatically_derived]
            #module {
                #kind
                #methods
            }
            #[automatically_derived]
            #describe {}
        };
    }
}

/// `Debug` that prints the module tree.
fn debug_tree(input: &Input<'_>, private: &Ident, bounds: &[TokenStream]) -> TokenStream {
    let debug = header("Debug", input, private, bounds);
    quote! {
        #[automatically_derived]
        #debug {
            fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #private::fmt_tree(self, __f)
            }
        }
    }
}

/// The expansion's name for the framework's private module: short, because every step of every path costs each user compile
/// time.
///
/// An identifier rather than tokens: passing tokens to the compiler is what takes time in an expansion, and a nested stream
/// is passed each time that it is interpolated.
fn private() -> Ident {
    Ident::new("__m", Span::call_site())
}

/// `impl … Trait for Type … where …`, up to the brace.
fn header(name: &str, input: &Input<'_>, private: &Ident, bounds: &[TokenStream]) -> TokenStream {
    let (name, ident) = (Ident::new(name, Span::call_site()), input.ident);
    let (impl_generics, ty_generics, _) = input.generics.split_for_impl();
    let written = input.written_bounds();
    quote! {
        impl #impl_generics #private::#name for #ident #ty_generics
        where
            #(#written,)*
            #(#bounds,)*
    }
}

/// A bound that leaves it to the uses of the type to prove that it is `Send` and `Sync`, because it is higher-ranked.
///
/// It keeps a field that is neither from being reported a second time, as a problem of the whole type.
fn proved_later() -> TokenStream {
    quote!(for<'__a> Self: ::core::marker::Send + ::core::marker::Sync)
}

/// The bound of every type parameter, because a module owns its parts.
fn owned(input: &Input<'_>) -> Vec<TokenStream> {
    input
        .generics
        .type_params()
        .map(|param| &param.ident)
        .map(|param| quote!(#param: 'static))
        .collect()
}

/// The bounds of the implementation: one on each field type that depends on a type parameter, so that
/// a generic type needs none by hand.
fn bounds(input: &Input<'_>, private: &Ident) -> Vec<TokenStream> {
    let params = Params::of(input.generics);
    let mut bounds = owned(input);
    let mut seen = Vec::new();
    for member in input.members().filter(|member| member.attrs.skip.is_none()) {
        let ty = member.ty;
        // A bound on a type that contains this one would be its own premise.
        if !params.depends_on_type_param(ty) || types::is_recursive(ty, input.ident) {
            continue;
        }
        let bound = if member.attrs.flatten.is_some() {
            // The added keys are compared if they are known, and must be stated otherwise.
            quote!(#ty: #private::Module + #private::Describe)
        } else {
            quote!(#ty: #private::Field)
        };
        let text = bound.to_string();
        if !seen.contains(&text) {
            seen.push(text);
            bounds.push(bound);
        }
    }
    // Documentation shows the bound, so a plain type, whose fields make it obvious, has none.
    let plain = |member: &Member<'_>| {
        member.attrs.skip.is_none() && types::field_trait(member.ty) == types::PLAIN_FIELD
    };
    if !input.generics.params.is_empty() || !input.members().all(plain) {
        bounds.push(proved_later());
    }
    bounds
}

fn kind(input: &Input<'_>, checks: &TokenStream) -> TokenStream {
    let name = match &input.attrs.kind {
        Some(given) => given.value.to_token_stream(),
        None => input.ident.unraw().to_string().to_token_stream(),
    };
    // A type named like an alias is asked for its name even without a value.
    let type_kind = input
        .attrs
        .kind
        .as_ref()
        .map(|_| quote!(fn type_kind() -> &'static ::core::primitive::str { #name }));
    quote! {
        fn kind(&self) -> &'static ::core::primitive::str {
            #checks
            #name
        }
        #type_kind
    }
}

/// The function is first named as a value of its type, so that a wrong signature is one error.
fn extra_repr(path: &Path) -> TokenStream {
    quote! {
        fn extra_repr(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            let __repr: fn(&Self, &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result = #path;
            __repr(self, __f)
        }
    }
}

/// A method's header and, in braces, its body.
fn method(name: &str, private: &Ident, body: &TokenStream) -> TokenStream {
    let ident = format_ident!("{name}");
    match name {
        "visit" => {
            quote!(fn #ident<'__a>(&'__a self, __v: &mut dyn #private::Visitor<'__a>) { #body })
        }
        "visit_mut" => {
            quote!(fn #ident<'__a>(&'__a mut self, __v: &mut dyn #private::VisitorMut<'__a>) { #body })
        }
        "visit_as" => quote! {
            fn #ident<'__a>(&'__a self, __name: &::core::primitive::str, __v: &mut dyn #private::Visitor<'__a>) { #body }
        },
        "visit_as_mut" => quote! {
            fn #ident<'__a>(&'__a mut self, __name: &::core::primitive::str, __v: &mut dyn #private::VisitorMut<'__a>) {
                #body
            }
        },
        _ => quote!(fn #ident(&self) -> &dyn #private::Module { #body }),
    }
}

fn struct_methods(members: &[Member<'_>], private: &Ident) -> TokenStream {
    let calls = |access: Access| {
        let shown = members.iter().filter(|member| member.attrs.skip.is_none());
        let place = |member| Place::Field(access, member);
        visit_members(shown.map(|member| (member, place(member))), access, private)
    };
    [
        method("visit", private, &calls(Access::Shared)),
        method("visit_mut", private, &calls(Access::Exclusive)),
    ]
    .into_iter()
    .collect()
}

/// Shows the fields to the visitor, one statement each.
fn visit_members<'a>(
    members: impl Iterator<Item = (&'a Member<'a>, Place<'a>)>,
    access: Access,
    private: &Ident,
) -> TokenStream {
    let visit = access.method("visit_field");
    let (mut types, mut traits, mut places, mut keys) = (vec![], vec![], vec![], vec![]);
    for (member, place) in members {
        let (via, key) = match &member.attrs.flatten {
            Some(_) => ("FlattenField", ""),
            None => (types::field_trait(member.ty), member.key.as_str()),
        };
        types.push(member.ty);
        traits.push(Ident::new(via, Span::call_site()));
        places.push(place);
        keys.push(key);
    }
    quote!(#(<#types as #private::#traits>::#visit(#places, #keys, __v);)*)
}

fn enum_methods(variants: &[Variant<'_>], private: &Ident) -> TokenStream {
    let visit = variants
        .iter()
        .map(|variant| visit_variant(variant, Access::Shared, private));
    let visit_mut = variants
        .iter()
        .map(|variant| visit_variant(variant, Access::Exclusive, private));
    let mut methods = vec![
        method("visit", private, &quote!(match self { #(#visit)* })),
        method("visit_mut", private, &quote!(match self { #(#visit_mut)* })),
    ];
    let payloads: Vec<_> = variants
        .iter()
        .filter_map(|variant| variant.payload().map(|payload| (variant.ident, payload.ty)))
        .collect();
    if !payloads.is_empty() {
        let on = |arm: &dyn Fn(&TokenStream) -> TokenStream, rest: TokenStream| {
            let arms = payloads.iter().map(|(ident, ty)| {
                let via = Ident::new(types::field_trait(ty), Span::call_site());
                let arm = arm(&quote!(<#ty as #private::#via>));
                quote!(Self::#ident { 0: __0 } => #arm,)
            });
            let rest = (payloads.len() < variants.len()).then(|| quote!(_ => #rest,));
            quote!(match self { #(#arms)* #rest })
        };
        let child = on(
            &|field| quote!(#field::as_child(__0).unwrap_or(self)),
            quote!(self),
        );
        let shown = quote!(__v.module(__name, self));
        let visit_as = on(
            &|field| quote!(#field::visit_field(__0, __name, __v)),
            shown.clone(),
        );
        let visit_as_mut = on(
            &|field| quote!(#field::visit_field_mut(__0, __name, __v)),
            shown,
        );
        methods.push(method("as_module", private, &child));
        methods.push(method("visit_as", private, &visit_as));
        methods.push(method("visit_as_mut", private, &visit_as_mut));
    }
    methods.into_iter().collect()
}

/// One arm of `visit` or `visit_mut`: the payload's members, or the variant's own.
fn visit_variant(variant: &Variant<'_>, access: Access, private: &Ident) -> TokenStream {
    let ident = variant.ident;
    if let Some(payload) = variant.payload() {
        let (ty, visit) = (payload.ty, access.method("visit_payload"));
        let via = Ident::new(types::field_trait(ty), Span::call_site());
        return quote!(Self::#ident { 0: __0 } => <#ty as #private::#via>::#visit(__0, __v),);
    }
    let shown: Vec<_> = variant
        .members
        .iter()
        .filter(|member| member.attrs.skip.is_none())
        .collect();
    let accesses = shown.iter().map(|member| &member.access);
    let bindings: Vec<_> = (0..shown.len()).map(|i| format_ident!("__{i}")).collect();
    let places = bindings.iter().cloned().map(Place::Binding);
    let calls = visit_members(shown.iter().copied().zip(places), access, private);
    quote!(Self::#ident { #(#accesses: #bindings,)* .. } => { #calls })
}

/// The `FIELDS` entry of each field, in declaration order.
fn fields(input: &Input<'_>, private: &Ident) -> TokenStream {
    let params = Params::of(input.generics);
    let (mut variants, mut names, mut keys, mut roles) = (vec![], vec![], vec![], vec![]);
    for (variant, member) in input.fields() {
        let (ty, attrs) = (member.ty, &member.attrs);
        let asked = |via| Role::Asked { ty, private, via };
        let (key, role) = if attrs.skip.is_some() {
            ("", Role::Written(quote!(#private::FieldRole::Skipped)))
        } else if attrs.flatten.is_some() {
            let brought = if types::is_recursive(ty, input.ident) {
                // The description of a type cannot contain itself.
                quote!(&[])
            } else if params.depends_on_type_param(ty) {
                quote!(<#ty as #private::Describe>::FIELDS)
            } else {
                quote!(#private::Skip::<#ty>::FIELDS)
            };
            let role = quote!(#private::FieldRole::Flattened(#brought));
            ("", Role::Written(role))
        } else if variant.is_some_and(|variant| variant.transparent) {
            ("", asked(types::field_trait(ty)))
        } else {
            // Uses the trait by which the field is visited, so that one mistake gives one message.
            (member.key.as_str(), asked(types::field_trait(ty)))
        };
        variants.push(variant.map_or(String::new(), |variant| variant.ident.unraw().to_string()));
        names.push(match &member.access {
            syn::Member::Named(ident) => ident.unraw().to_string(),
            syn::Member::Unnamed(index) => index.index.to_string(),
        });
        keys.push(key);
        roles.push(role);
    }
    let (names, keys) = (names.join("\0"), keys.join("\0"));
    let variants = match &input.body {
        Body::Enum(_) => variants.join("\0"),
        Body::Struct(_) | Body::Union(_) => String::new(),
    };
    quote!(variants: #variants, names: #names, keys: #keys, roles: &[#(#roles,)*])
}
