//! The parts of the expansion that are repeated for each field.
//!
//! They are written token by token: tokens collected by `quote!` are passed to the compiler each time that they are
//! interpolated, and that is what takes time in an expansion.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, TokenStreamExt, format_ident};
use syn::{Token, Type};

use crate::model::Member;

/// Which of the two walks a method is for.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    Shared,
    Exclusive,
}

impl Access {
    /// The method for this walk.
    pub(crate) fn method(self, name: &str) -> Ident {
        match self {
            Self::Shared => Ident::new(name, Span::call_site()),
            Self::Exclusive => format_ident!("{name}_mut"),
        }
    }
}

/// A reference to a field.
pub(crate) enum Place<'a> {
    /// `&self.field` or `&mut self.field`.
    Field(Access, &'a Member<'a>),
    /// A binding of a pattern.
    Binding(Ident),
}

impl ToTokens for Place<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Field(access, member) => {
                <Token![&]>::default().to_tokens(tokens);
                if let Access::Exclusive = access {
                    <Token![mut]>::default().to_tokens(tokens);
                }
                <Token![self]>::default().to_tokens(tokens);
                <Token![.]>::default().to_tokens(tokens);
                member.access.to_tokens(tokens);
            }
            Self::Binding(ident) => ident.to_tokens(tokens),
        }
    }
}

/// The role of a field in `FIELDS`.
pub(crate) enum Role<'a> {
    /// `<Type as private::Trait>::ROLE`.
    Asked {
        ty: &'a Type,
        private: &'a Ident,
        via: &'static str,
    },
    /// The effect of the attributes.
    Written(TokenStream),
}

impl ToTokens for Role<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Asked { ty, private, via } => {
                <Token![<]>::default().to_tokens(tokens);
                ty.to_tokens(tokens);
                <Token![as]>::default().to_tokens(tokens);
                private.to_tokens(tokens);
                <Token![::]>::default().to_tokens(tokens);
                tokens.append(Ident::new(via, Span::call_site()));
                <Token![>]>::default().to_tokens(tokens);
                <Token![::]>::default().to_tokens(tokens);
                tokens.append(Ident::new("ROLE", Span::call_site()));
            }
            Self::Written(role) => role.to_tokens(tokens),
        }
    }
}
