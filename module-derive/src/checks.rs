//! Writes the rules that only the compiler can judge, as const assertions.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::Ident;

use crate::model::{Input, Member};
use crate::types::{self, Params};
use crate::validate;

/// The checks that the compiler makes once the types are known.
pub(crate) struct Checks {
    /// Next to the implementation, where no generic parameter can be named.
    pub(crate) items: TokenStream,
    /// In the method `kind`, where the parameters are known when the type is used.
    pub(crate) in_kind_method: TokenStream,
}

impl Checks {
    pub(crate) fn of(input: &Input<'_>, private: &Ident) -> Self {
        let params = Params::of(input.generics);
        let mut checks = Self {
            items: TokenStream::new(),
            in_kind_method: TokenStream::new(),
        };
        let skipped: Vec<_> = input
            .members()
            .filter(|member| member.attrs.skip.is_some())
            .collect();
        for member in skipped {
            let ty = member.ty;
            let generic = params.depends_on_any_param(ty) || types::is_recursive(ty, input.ident);
            let shared = (!generic).then(|| quote!(<#ty as #private::Skippable>::YES;));
            let held = types::held(ty);
            // The first and the last token have the spans of the type's, so that only the type is underlined.
            let (start, end) = ends(ty);
            let open = private_at(private, start);
            let asks = Ident::new("may_be_skipped", start);
            let answer = Ident::new("HOLDS_STATE", end);
            let asked = held.into_iter().map(|held| {
                let question = quote!(#open::Skip::<#held>::#answer);
                let mut question = Group::new(Delimiter::Parenthesis, question);
                question.set_span(end);
                quote!(#open::#asks #question;)
            });
            let asked = quote!(#shared #(#asked)*);
            if generic {
                checks.in_kind_method.extend(quote!(const { #asked };));
            } else {
                checks.items.extend(quote!(const _: () = { #asked };));
            }
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
            let name = format!("KEYS_OF_FIELD_{i}_ARE_FREE");
            checks.add(generic, &name, member.ty, &quote!(#check.is_ok()), &message);
        }
        if validate::may_have_two_modes(input) {
            let check = quote! {
                #private::FieldsCheck::modes(<#itself as #private::Describe>::FIELDS)
            };
            let message = quote!("{}", #check.text());
            checks.add(
                generic,
                "MODULE_HAS_ONE_MODE",
                ident,
                &quote!(#check.is_ok()),
                &message,
            );
        }
        let asks = |member: &Member<'_>| {
            let attrs = &member.attrs;
            attrs.skip.is_some()
                || attrs.flatten.is_some() && !params.depends_on_type_param(member.ty)
        };
        if !generic && asks_for_clone(input) || input.members().any(asks) {
            checks
                .items
                .extend(quote!(use #private::SkipFallback as _;));
        }
        checks.whole(input, &itself, generic, private);
        checks
    }

    /// Properties of the whole type that only the compiler knows: its size, and whether it is `Clone`. The size of a
    /// generic type is checked where it is used; for any other type, this is the value of the constant that holds the
    /// items, because a separate constant would cost every user compile time.
    ///
    /// Every token has the span of the name, so that only the name is underlined.
    fn whole(&mut self, input: &Input<'_>, itself: &TokenStream, generic: bool, private: &Ident) {
        let (ident, span) = (input.ident, input.ident.span());
        let private = &private_at(private, span);
        if generic {
            let check = quote_spanned!(span=> #private::assert_module::<#itself>());
            self.in_kind_method.extend(quote!(const { #check };));
            return;
        }
        if asks_for_clone(input) {
            // If a field lacks it, a derived `Clone` reports that separately.
            let first = input
                .members()
                .map(|member| member.ty)
                .find(|ty| types::may_lack_clone(ty));
            let first = first.map_or(quote!(()), ToTokens::to_token_stream);
            self.items.extend(quote_spanned! {span=>
                let _ = #private::Skip::<(#ident, #first)>::is_no_clone;
            });
        }
        if input.members().all(|member| types::may_be_empty(member.ty)) {
            // Costs more compile time, but gives a clearer message.
            self.items.extend(quote_spanned! {span=>
                <#private::IsEmpty<{ ::core::mem::size_of::<#ident>() == 0 }> as #private::HasAddress>::YES
            });
        } else {
            self.items
                .extend(quote_spanned!(span=> #private::assert_module::<#ident>()));
        }
    }

    /// Adds an assertion under a name, which the compiler's message quotes.
    fn add(
        &mut self,
        generic: bool,
        name: &str,
        place: &dyn ToTokens,
        condition: &TokenStream,
        message: &TokenStream,
    ) {
        let assertion = assertion(place, condition, message);
        if generic {
            self.in_kind_method.extend(quote!(const { #assertion };));
        } else {
            let name = Ident::new(name, Span::call_site());
            self.items
                .extend(quote!(#[allow(dead_code)] const #name: () = #assertion;));
        }
    }
}

/// Whether the type could derive `Clone`, judging by the field types as written.
fn asks_for_clone(input: &Input<'_>) -> bool {
    !input.members().any(|member| types::lacks_clone(member.ty))
}

fn private_at(private: &Ident, span: Span) -> Ident {
    let mut private = private.clone();
    private.set_span(span);
    private
}

/// The spans of the first and the last token.
fn ends(place: &dyn ToTokens) -> (Span, Span) {
    let mut spans = place
        .to_token_stream()
        .into_iter()
        .map(|token: TokenTree| token.span());
    let start = spans.next().unwrap_or_else(Span::call_site);
    (start, spans.last().unwrap_or(start))
}

/// `assert!(condition, message)` that points at `place` when it fails.
fn assertion(place: &dyn ToTokens, condition: &TokenStream, message: &TokenStream) -> TokenStream {
    let (start, end) = ends(place);
    let mut arguments = Group::new(Delimiter::Parenthesis, quote!(#condition, #message));
    arguments.set_span(end);
    let assert = quote_spanned!(start=> ::core::assert!);
    quote!(#assert #arguments)
}
