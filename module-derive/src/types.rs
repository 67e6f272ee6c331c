//! What the tokens of a type reveal.
//!
//! Tokens never decide a role, because aliases, generics and a user's own `Option` would be misjudged. They choose the
//! words of the message if the trait is not implemented, and refuse types that are always wrong whatever the names mean,
//! such as raw pointers.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, Generics, PathArguments, PathSegment, Type};

/// The trait in the framework's private module through which a field of this type is visited. All of these traits hold for
/// exactly the types that are a `Field`; they differ in the compiler's message for other types.
pub(crate) fn field_trait(ty: &Type) -> &'static str {
    suspicious(ty).unwrap_or(PLAIN_FIELD)
}

/// The trait for types that do not look like a mistake.
pub(crate) const PLAIN_FIELD: &str = "Field";

/// The trait for the first part of the type, from the outside in, that looks like a mistake.
fn suspicious(ty: &Type) -> Option<&'static str> {
    let last = match peel(ty) {
        Type::Array(array) => return suspicious(&array.elem),
        Type::Tuple(tuple) => return tuple.elems.iter().find_map(suspicious),
        _ => last_segment(ty)?,
    };
    if last.arguments.is_none() {
        return (last.ident == "Tensor").then_some("TensorField");
    }
    let mut inner = arguments(last);
    match last.ident.to_string().as_str() {
        "Option" if inner.clone().any(is_constant) => Some("OptionSettingField"),
        "Option" => Some("OptionField"),
        "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" => Some("MapField"),
        "Rc" | "RefCell" | "Cell" | "OnceCell" | "LazyCell" | "Mutex" | "RwLock" | "OnceLock"
        | "LazyLock" => Some("CellField"),
        "Vec" if inner.clone().any(is_constant) => Some("NumbersField"),
        _ => inner.find_map(suspicious),
    }
}

/// The type, and the types in it, as far as containers of the standard library reveal them.
pub(crate) fn held(ty: &Type) -> Vec<&Type> {
    let mut held = vec![ty];
    match peel(ty) {
        Type::Array(array) => held.extend(self::held(&array.elem)),
        Type::Tuple(tuple) => held.extend(tuple.elems.iter().flat_map(self::held)),
        ty => {
            const CONTAINERS: [&str; 17] = [
                "Vec", "VecDeque", "Option", "Box", "Arc", "Rc", "Cell", "RefCell", "OnceCell",
                "Mutex", "RwLock", "OnceLock", "HashMap", "BTreeMap", "IndexMap", "LazyLock",
                "Maybe",
            ];
            if let Some(last) =
                last_segment(ty).filter(|last| CONTAINERS.iter().any(|name| last.ident == name))
            {
                held.extend(arguments(last).flat_map(self::held));
            }
        }
    }
    held
}

/// The types among the generic arguments of a path's last step.
fn arguments(last: &PathSegment) -> impl Iterator<Item = &Type> + Clone {
    let arguments = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => Some(&arguments.args),
        _ => None,
    };
    arguments
        .into_iter()
        .flatten()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
}

/// Whether the type is written like a constant that lists cannot hold.
fn is_constant(ty: &Type) -> bool {
    const CONSTANTS: [&str; 17] = [
        "bool", "char", "String", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32",
        "i64", "i128", "isize", "f32", "f64",
    ];
    last_segment(ty).is_some_and(|last| CONSTANTS.iter().any(|name| last.ident == name))
}

/// Whether the type is written like one that cannot be cloned.
pub(crate) fn lacks_clone(ty: &Type) -> bool {
    const CELLS: [&str; 6] = [
        "Parameter",
        "Buffer",
        "Maybe",
        "Bias",
        "Training",
        "ExtraState",
    ];
    last_segment(ty).is_some_and(|last| CELLS.iter().any(|name| last.ident == name))
}

/// Whether a type written like this may be one that cannot be cloned.
pub(crate) fn may_lack_clone(ty: &Type) -> bool {
    let known = |ty: &Type| {
        last_segment(ty).is_some_and(|last| {
            ["Arc", "PhantomData", "Marker"]
                .iter()
                .any(|name| last.ident == name)
        })
    };
    match peel(ty) {
        Type::Array(array) => may_lack_clone(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().any(may_lack_clone),
        ty => !is_constant(ty) && !known(ty),
    }
}

/// Whether a type written like this probably has size zero.
pub(crate) fn may_be_empty(ty: &Type) -> bool {
    match peel(ty) {
        Type::Array(_) => true,
        Type::Tuple(tuple) => tuple.elems.iter().all(may_be_empty),
        ty => last_segment(ty).is_some_and(|last| last.ident == "PhantomData"),
    }
}

/// Whether the type is written as the mode flag `Training`.
pub(crate) fn is_training(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|last| last.ident == "Training" && last.arguments.is_none())
}

/// Whether a type written like this can be the mode flag, possibly behind an alias or a type parameter.
pub(crate) fn may_be_training(ty: &Type) -> bool {
    const OTHERS: [&str; 5] = ["Parameter", "Buffer", "Bias", "Marker", "Sequential"];
    match peel(ty) {
        Type::Array(_) | Type::Tuple(_) => false,
        ty => last_segment(ty).is_none_or(|last| {
            last.arguments.is_none()
                && !is_constant(ty)
                && OTHERS.iter().all(|name| last.ident != name)
        }),
    }
}

/// Why a type written like this cannot be a field, and how to fix it.
pub(crate) fn refusal(ty: &Type) -> Option<(&'static str, &'static str)> {
    match peel(ty) {
        Type::Ptr(_) => Some((
            "a raw pointer cannot be a field of a module",
            "a module owns its parts: hold the value itself, a `Box` or an `Arc`",
        )),
        Type::Reference(reference) if !is_static_str(reference) => Some((
            "a reference cannot be a field of a module",
            "a module owns its parts: hold the value itself, or an `Arc` if two modules share it",
        )),
        Type::FnPtr(_) => Some((
            "a function cannot be a field of a module",
            "write `#[module(skip)]` on the field, or an enum that derives `Module` to choose between layers",
        )),
        _ => None,
    }
}

/// The only reference that is a constant.
fn is_static_str(reference: &syn::TypeReference) -> bool {
    reference.mutability.is_none()
        && reference
            .lifetime
            .as_ref()
            .is_some_and(|lifetime| lifetime.ident == "static")
        && last_segment(&reference.elem).is_some_and(|last| last.ident == "str")
}

/// The type inside parentheses and the invisible groups that `macro_rules!` leaves.
fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peel(&group.elem),
        Type::Paren(paren) => peel(&paren.elem),
        _ => ty,
    }
}

fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match peel(ty) {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

/// Which generic parameters a type can name.
pub(crate) struct Params {
    types: Vec<String>,
    consts: Vec<String>,
}

impl Params {
    pub(crate) fn of(generics: &Generics) -> Self {
        Self {
            types: generics
                .type_params()
                .map(|param| param.ident.to_string())
                .collect(),
            consts: generics
                .const_params()
                .map(|param| param.ident.to_string())
                .collect(),
        }
    }

    /// Whether the type depends on a type parameter.
    pub(crate) fn depends_on_type_param(&self, ty: &Type) -> bool {
        !self.types.is_empty() && names(ty.to_token_stream(), &self.types)
    }

    /// Whether the type depends on any parameter.
    pub(crate) fn depends_on_any_param(&self, ty: &Type) -> bool {
        self.depends_on_type_param(ty)
            || (!self.consts.is_empty() && names(ty.to_token_stream(), &self.consts))
    }
}

/// Whether the type names the type `ident`, or `Self`.
pub(crate) fn is_recursive(ty: &Type, ident: &syn::Ident) -> bool {
    names(
        ty.to_token_stream(),
        &[ident.to_string(), "Self".to_owned()],
    )
}

fn names(tokens: TokenStream, idents: &[String]) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => idents.iter().any(|name| ident == name),
        TokenTree::Group(group) => names(group.stream(), idents),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
