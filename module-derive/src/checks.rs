//! Writes the rules that only the compiler can judge, as assertions on constants.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::Ident;

use crate::model::{Input, Member};
use crate::types::{self, Params};
use crate::validate;

/// The checks that the compiler makes once the types are known.
pub(crate) struct Checks {
    /// Beside the implementation, where no generic parameter can be named.
    pub(crate) items: TokenStream,
    /// In a method, where the parameters are known when the type is used.
    pub(crate) in_kind: TokenStream,
}

impl Checks {
    pub(crate) fn of(input: &Input<'_>, private: &Ident) -> Self {
        let params = Params::of(input.generics);
        let mut checks = Self {
            items: TokenStream::new(),
            in_kind: TokenStream::new(),
        };
        let skipped: Vec<_> = input
            .members()
            .filter(|member| member.attrs.skip.is_some())
            .collect();
        for member in skipped {
            let ty = member.ty;
            let generic = params.any_in(ty) || types::is_recursive(ty, input.ident);
            let shared = (!generic).then(|| quote!(<#ty as #private::Skippable>::YES &&));
            let held = types::held(ty);
            let condition = quote!(#shared !(#(#private::Skip::<#held>::HOLDS_STATE)||*));
            let message = "this type holds parameters, buffers or modules, which `#[module(skip)]` would hide from \
                           training, saving and moving; remove the attribute";
            checks.add(generic, ty, &condition, &quote!(#message));
        }
        let ident = input.ident;
        let generic = !input.generics.params.is_empty();
        let itself = if generic {
            quote!(Self)
        } else {
            quote!(#ident)
        };
        let flattened = input
            .members()
            .enumerate()
            .filter(|(_, member)| member.attrs.flatten.is_some());
        for (i, member) in flattened {
            let check = quote! {
                #private::FieldsCheck::flattened(<#itself as #private::Describe>::FIELDS, #i)
            };
            let message = quote!("{}", #check.text());
            checks.add(generic, member.ty, &quote!(#check.is_free()), &message);
        }
        if validate::may_have_two_modes(input) {
            let check = quote! {
                #private::FieldsCheck::modes(<#itself as #private::Describe>::FIELDS)
            };
            let message = quote!("{}", #check.text());
            checks.add(generic, ident, &quote!(#check.is_free()), &message);
        }
        let asks = |member: &Member<'_>| {
            let attrs = &member.attrs;
            attrs.skip.is_some() || attrs.flatten.is_some() && !params.types_in(member.ty)
        };
        if !generic || input.members().any(asks) {
            checks
                .items
                .extend(quote!(use #private::SkipFallback as _;));
        }
        checks.whole(ident, &itself, generic, private);
        checks
    }

    /// What only the compiler knows of the whole type: its size, and whether it is `Clone`. A generic
    /// type is asked for its size where it is used; for any other, this is the value of the constant
    /// that holds the items, because a constant of its own costs every user compile time.
    fn whole(&mut self, ident: &Ident, itself: &TokenStream, generic: bool, private: &Ident) {
        // Every token has the place of the name, so that the name alone is marked.
        let check = |is_clone: &TokenStream| {
            let mut private = private.clone();
            private.set_span(ident.span());
            quote_spanned!(ident.span()=> #private::assert_module::<#itself>(#is_clone))
        };
        if generic {
            let check = check(&quote!(false));
            self.in_kind.extend(quote!(const { #check };));
        } else {
            self.items
                .extend(check(&quote!(#private::Skip::<#itself>::IS_CLONE)));
        }
    }

    fn add(
        &mut self,
        generic: bool,
        place: &dyn ToTokens,
        condition: &TokenStream,
        message: &TokenStream,
    ) {
        let assertion = assertion(place, condition, message);
        if generic {
            self.in_kind.extend(quote!(const { #assertion };));
        } else {
            self.items.extend(quote!(const _: () = #assertion;));
        }
    }
}

/// `assert!(condition, message)` that points at `place` when it fails.
fn assertion(place: &dyn ToTokens, condition: &TokenStream, message: &TokenStream) -> TokenStream {
    let mut spans = place
        .to_token_stream()
        .into_iter()
        .map(|token: TokenTree| token.span());
    let start = spans.next().unwrap_or_else(Span::call_site);
    let end = spans.last().unwrap_or(start);
    let mut arguments = Group::new(Delimiter::Parenthesis, quote!(#condition, #message));
    arguments.set_span(end);
    let assert = quote_spanned!(start=> ::core::assert!);
    quote!(#assert #arguments)
}
