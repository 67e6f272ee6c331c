//! The form of the input that validation and expansion use.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Fields, Generics, Ident, Index, Type, WherePredicate};

use crate::attr::{self, ContainerAttrs, FieldAttrs};
use crate::errors::Errors;

/// A type that derives `Module`.
pub(crate) struct Input<'a> {
    pub(crate) syntax: &'a DeriveInput,
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) attrs: ContainerAttrs,
    pub(crate) body: Body<'a>,
}

/// The contents of a type.
pub(crate) enum Body<'a> {
    Struct(Vec<Member<'a>>),
    Enum(Vec<Variant<'a>>),
    Union(syn::Token![union]),
}

/// One variant of an enum.
pub(crate) struct Variant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) members: Vec<Member<'a>>,
    /// It has one unnamed field, which takes the enum's place.
    pub(crate) transparent: bool,
}

/// One field of a struct or a variant.
pub(crate) struct Member<'a> {
    /// The Rust name of the field: `weight`, `0`.
    pub(crate) access: syn::Member,
    /// The name under which it registers.
    pub(crate) key: String,
    pub(crate) ty: &'a Type,
    pub(crate) attrs: FieldAttrs,
}

impl<'a> Input<'a> {
    /// The bounds in the type's own `where` clause.
    pub(crate) fn written_bounds(&self) -> impl Iterator<Item = &'a WherePredicate> + use<'a> {
        let clause = self.generics.where_clause.as_ref();
        clause.into_iter().flat_map(|clause| &clause.predicates)
    }

    /// Reads a type; problems with its attributes go to `errors`.
    pub(crate) fn from_syn(syntax: &'a DeriveInput, errors: &mut Errors) -> Self {
        let body = match &syntax.data {
            Data::Struct(data) => Body::Struct(members(&data.fields, errors)),
            Data::Union(data) => Body::Union(data.union_token),
            Data::Enum(data) => Body::Enum(
                data.variants
                    .iter()
                    .map(|variant| {
                        attr::refuse_on_variant(&variant.attrs, errors);
                        Variant {
                            ident: &variant.ident,
                            members: members(&variant.fields, errors),
                            transparent: matches!(&variant.fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1),
                        }
                    })
                    .collect(),
            ),
        };
        Input {
            syntax,
            ident: &syntax.ident,
            generics: &syntax.generics,
            attrs: ContainerAttrs::read(&syntax.attrs, errors),
            body,
        }
    }

    /// Every field of the type, of all variants.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Member<'a>> {
        self.fields().map(|(_, member)| member)
    }

    /// Every field of the type, each with its variant.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (Option<&Variant<'a>>, &Member<'a>)> {
        let (fields, variants) = match &self.body {
            Body::Struct(members) => (members.as_slice(), [].as_slice()),
            Body::Enum(variants) => ([].as_slice(), variants.as_slice()),
            Body::Union(_) => ([].as_slice(), [].as_slice()),
        };
        let in_variants = variants.iter().flat_map(|variant| {
            variant
                .members
                .iter()
                .map(move |member| (Some(variant), member))
        });
        fields
            .iter()
            .map(|member| (None, member))
            .chain(in_variants)
    }
}

impl Variant<'_> {
    /// The payload that takes the enum's place, unless it is skipped.
    pub(crate) fn payload(&self) -> Option<&Member<'_>> {
        self.members
            .first()
            .filter(|member| self.transparent && member.attrs.skip.is_none())
    }
}

fn members<'a>(fields: &'a Fields, errors: &mut Errors) -> Vec<Member<'a>> {
    fields
        .iter()
        .enumerate()
        .map(|(i, field)| {
            let attrs = FieldAttrs::read(&field.attrs, errors);
            let access = match &field.ident {
                Some(ident) => syn::Member::Named(ident.clone()),
                // A type has fewer fields than 2^32.
                None => syn::Member::Unnamed(Index {
                    index: i as u32,
                    span: Span::call_site(),
                }),
            };
            let key = match (&attrs.rename, &field.ident) {
                (Some(rename), _) => rename.value.value(),
                (None, Some(ident)) => ident.unraw().to_string(),
                (None, None) => i.to_string(),
            };
            Member {
                access,
                key,
                ty: &field.ty,
                attrs,
            }
        })
        .collect()
}
