//! Reads `#[module(…)]`.

use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::{Attribute, Expr, LitStr, Path, Token};

use crate::errors::{Errors, error};

/// An attribute, with the path that names it as the location for errors.
pub(crate) struct Given<T> {
    pub(crate) name: Path,
    pub(crate) value: T,
}

/// The attributes of a struct or an enum.
#[derive(Default)]
pub(crate) struct ContainerAttrs {
    pub(crate) krate: Option<Given<Path>>,
    pub(crate) extra_repr: Option<Given<Path>>,
    pub(crate) kind: Option<Given<Path>>,
    pub(crate) debug: Option<Given<()>>,
}

/// The attributes of a field.
#[derive(Default)]
pub(crate) struct FieldAttrs {
    pub(crate) skip: Option<Given<()>>,
    pub(crate) rename: Option<Given<LitStr>>,
    pub(crate) flatten: Option<Given<()>>,
}

const ON_TYPES: [&str; 4] = ["crate", "debug", "extra_repr", "kind"];
const ON_FIELDS: [&str; 3] = ["skip", "rename", "flatten"];

impl ContainerAttrs {
    /// Reads the attributes of a type.
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut read = Self::default();
        each(attrs, errors, |meta| {
            if meta.path.is_ident("crate") {
                let literal = text(meta, "crate = \"module_nn\"")?;
                let path = literal.parse_with(Path::parse_mod_style).map_err(|_| {
                    error(
                        &literal,
                        "this is not the path of a crate",
                        "write it as in `crate = \"module_nn\"`",
                    )
                })?;
                once(&mut read.krate, meta, path)
            } else if meta.path.is_ident("extra_repr") {
                let path = value(meta, "extra_repr = path::of::a_function")?.parse()?;
                once(&mut read.extra_repr, meta, path)
            } else if meta.path.is_ident("kind") {
                let path = value(meta, "kind = path::of::A_CONSTANT")?.parse()?;
                once(&mut read.kind, meta, path)
            } else if meta.path.is_ident("debug") {
                flag(&mut read.debug, meta)
            } else {
                Err(refuse(meta, "a type", &ON_TYPES, &ON_FIELDS, "a field"))
            }
        });
        read
    }
}

impl FieldAttrs {
    /// Reads the attributes of a field.
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut read = Self::default();
        each(attrs, errors, |meta| {
            if meta.path.is_ident("skip") {
                flag(&mut read.skip, meta)
            } else if meta.path.is_ident("flatten") {
                flag(&mut read.flatten, meta)
            } else if meta.path.is_ident("rename") {
                let key = text(meta, "rename = \"key\"")?;
                once(&mut read.rename, meta, key)
            } else {
                Err(refuse(meta, "a field", &ON_FIELDS, &ON_TYPES, "the type"))
            }
        });
        read
    }
}

/// Refuses every attribute of a variant, because none has a meaning there.
pub(crate) fn refuse_on_variant(attrs: &[Attribute], errors: &mut Errors) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("module")) {
        errors.add(
            attr,
            "`module` attributes have no meaning on a variant",
            "a variant never appears in a key; put the attribute on a field of the variant or on the enum",
        );
    }
}

/// Passes each item of each `#[module(…)]` to `read`. An invalid item ends only its own attribute, so that the others are
/// still checked.
fn each(
    attrs: &[Attribute],
    errors: &mut Errors,
    mut read: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<()>,
) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("module")) {
        if matches!(&attr.meta, syn::Meta::Path(_) | syn::Meta::NameValue(_)) {
            errors.add(
                &attr.meta,
                "`module` needs its arguments in parentheses",
                "write it as in `#[module(skip)]`",
            );
        } else if let Err(error) = attr.parse_nested_meta(|meta| read(&meta)) {
            errors.push(error);
        }
    }
}

/// The tokens after the `=` of an attribute whose form is `form`.
fn value<'a>(meta: &ParseNestedMeta<'a>, form: &str) -> syn::Result<ParseStream<'a>> {
    if meta.input.peek(Token![=]) {
        return meta.value();
    }
    let name = name(&meta.path);
    Err(error(
        &meta.path,
        format_args!("`{name}` needs a value"),
        format_args!("write `{form}`"),
    ))
}

/// The string after the `=`.
fn text(meta: &ParseNestedMeta<'_>, form: &str) -> syn::Result<LitStr> {
    let value = value(meta, form)?;
    if let Ok(text) = value.parse() {
        return Ok(text);
    }
    let other: Expr = value.parse()?;
    let name = name(&meta.path);
    Err(error(
        other,
        format_args!("the value of `{name}` is a string"),
        format_args!("write `{form}`"),
    ))
}

/// Records an attribute that takes no value.
fn flag(slot: &mut Option<Given<()>>, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    if meta.input.is_empty() || meta.input.peek(Token![,]) {
        return once(slot, meta, ());
    }
    let name = name(&meta.path);
    Err(error(
        &meta.path,
        format_args!("`{name}` takes no value"),
        format_args!("write `{name}` alone"),
    ))
}

/// Stores `value`, or refuses a second one.
fn once<T>(slot: &mut Option<Given<T>>, meta: &ParseNestedMeta<'_>, value: T) -> syn::Result<()> {
    if slot.is_some() {
        let name = name(&meta.path);
        return Err(error(
            &meta.path,
            format_args!("`{name}` is given twice"),
            "remove one of them",
        ));
    }
    *slot = Some(Given {
        name: meta.path.clone(),
        value,
    });
    Ok(())
}

/// The error for an attribute that is unknown, or not allowed here.
fn refuse(
    meta: &ParseNestedMeta<'_>,
    here: &str,
    known: &[&str],
    elsewhere: &[&str],
    there: &str,
) -> syn::Error {
    let name = name(&meta.path);
    if elsewhere.contains(&name.as_str()) {
        return error(
            &meta.path,
            format_args!("`{name}` has no meaning on {here}"),
            format_args!("it goes on {there}"),
        );
    }
    if name == "persistent" {
        return error(
            &meta.path,
            "unknown attribute `persistent`: a buffer itself knows whether it is saved",
            "make it by `Buffer::non_persistent(tensor)`, and remove the attribute",
        );
    }
    let cure = match nearest(&name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{here} takes {}", list(known)),
    };
    error(&meta.path, format_args!("unknown attribute `{name}`"), cure)
}

/// The path of an attribute as written.
fn name(path: &Path) -> String {
    let segments: Vec<_> = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect();
    segments.join("::")
}

/// Names in backquotes: "`a`, `b` or `c`".
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [firsts @ .., last] => {
            let firsts: Vec<_> = firsts.iter().map(|name| format!("`{name}`")).collect();
            format!("{} or `{last}`", firsts.join(", "))
        }
    }
}

/// The known name that `name` was probably meant to be.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (distance(name, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len() / 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many characters must be inserted, removed or replaced to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row
            .iter_mut()
            .zip(std::iter::once('\0').chain(b.chars()))
            .skip(1)
        {
            let replaced = diagonal + usize::from(x != y);
            diagonal = *cell;
            left = replaced.min(*cell + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
