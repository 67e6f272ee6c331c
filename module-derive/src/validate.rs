//! The rules that the tokens of a type can break, one function each.

use syn::GenericParam;

use crate::attr::Given;
use crate::errors::Errors;
use crate::model::{Body, Input, Member};
use crate::types;

/// Checks every rule and collects all violations.
pub(crate) fn check(input: &Input<'_>, errors: &mut Errors) {
    refuse_union(input, errors);
    refuse_lifetimes(input, errors);
    refuse_clone(input, errors);
    refuse_empty(input, errors);
    refuse_too_many(input, errors);
    for member in input.members() {
        refuse_contradictions(member, errors);
        if input.generics.lifetimes().next().is_none() {
            // For a reference with a lifetime parameter, the parameter is the mistake.
            check_field_type(member, errors);
        }
        check_key(member, errors);
    }
    transparent_variants(input, errors);
    match &input.body {
        Body::Struct(members) => check_siblings(members, errors),
        Body::Enum(variants) => variants
            .iter()
            .for_each(|variant| check_siblings(&variant.members, errors)),
        Body::Union(_) => {}
    }
}

/// The rules for all fields of one struct or variant.
fn check_siblings(members: &[Member<'_>], errors: &mut Errors) {
    duplicate_keys(members, errors);
    one_training_flag(members, errors);
}

/// A union cannot be a module: nothing determines which of its fields is active.
fn refuse_union(input: &Input<'_>, errors: &mut Errors) {
    if let Body::Union(token) = &input.body {
        errors.add(
            token,
            "a union cannot be a module, because nothing tells which of its fields is there",
            "write an `enum`, whose active variant answers",
        );
    }
}

/// A module owns its parts, so it has no lifetime parameter.
fn refuse_lifetimes(input: &Input<'_>, errors: &mut Errors) {
    for param in &input.generics.params {
        if let GenericParam::Lifetime(param) = param {
            errors.add(
                param,
                "a module cannot have a lifetime parameter",
                "a module owns its parts: hold the values themselves, or an `Arc` if two modules share one",
            );
        }
    }
}

/// Used if the tokens show a `Clone`, and if only the compiler sees it.
pub(crate) const CLONE: (&str, &str) = (
    "a module cannot be `Clone`, because it would share its parameters or copy them, and `Clone` does not say which",
    "build a second module and load the first one's state dict, or tie single tensors with `share()`",
);

/// Used if the tokens show that there are no fields, and if only the compiler knows the size.
pub(crate) const EMPTY: (&str, &str) = (
    "a module of size zero has no address of its own, by which hooks could identify it",
    "give it a field `marker: Marker`",
);

/// A module is not `Clone`. A derive before this one, or in the same list, is not among the tokens; the expansion makes the
/// compiler check that one.
fn refuse_clone(input: &Input<'_>, errors: &mut Errors) {
    let derives = input
        .syntax
        .attrs
        .iter()
        .filter(|attr| attr.path().is_ident("derive"));
    for attr in derives {
        // The compiler reports a derive that cannot be parsed.
        let _ = attr.parse_nested_meta(|meta| {
            if meta
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == "Clone")
            {
                errors.add(&meta.path, CLONE.0, CLONE.1);
            }
            Ok(())
        });
    }
}

/// A module occupies memory, because hooks identify it by its address.
fn refuse_empty(input: &Input<'_>, errors: &mut Errors) {
    match &input.body {
        Body::Struct(members) if members.is_empty() => errors.add(input.ident, EMPTY.0, EMPTY.1),
        Body::Enum(variants) if variants.is_empty() => {
            errors.add(
                input.ident,
                "an enum without variants cannot be a module",
                "give it a variant",
            );
        }
        _ => {}
    }
}

/// `FIELDS` has room for this many.
fn refuse_too_many(input: &Input<'_>, errors: &mut Errors) {
    const MAX_FIELDS: usize = 256;
    let count = input.members().count();
    if count > MAX_FIELDS {
        errors.add(
            input.ident,
            format_args!("a module has at most {MAX_FIELDS} fields, and this has {count}"),
            "put those that belong together into a module of their own",
        );
    }
}

/// `skip`, `rename` and `flatten` are mutually exclusive.
fn refuse_contradictions(member: &Member<'_>, errors: &mut Errors) {
    let attrs = &member.attrs;
    if let (Some(_), Some(rename)) = (&attrs.skip, &attrs.rename) {
        errors.add(
            &rename.name,
            "`rename` contradicts `skip`: a skipped field has no key",
            "remove one of them",
        );
    }
    if let (Some(_), Some(flatten)) = (&attrs.skip, &attrs.flatten) {
        errors.add(
            &flatten.name,
            "`flatten` contradicts `skip`: a skipped field has no members to join this module's",
            "remove one of them",
        );
    }
    if let (Some(flatten), Some(_)) = (&attrs.flatten, &attrs.rename) {
        errors.add(
            &flatten.name,
            "`flatten` contradicts `rename`: the members of a flattened child keep their own keys",
            "remove one of them",
        );
    }
}

/// Some types can never be a field, whatever their names mean.
fn check_field_type(member: &Member<'_>, errors: &mut Errors) {
    if member.attrs.skip.is_none()
        && let Some((wrong, cure)) = types::refusal(member.ty)
    {
        errors.add(member.ty, wrong, cure);
    }
}

/// A key is not empty, has no `.`, which separates the steps of a path, and no NUL, and does not start with a name that
/// checkpoints reserve.
fn check_key(member: &Member<'_>, errors: &mut Errors) {
    reserved_key(member, errors);
    let Some(Given { value: literal, .. }) = &member.attrs.rename else {
        return;
    };
    if member.key.is_empty() {
        errors.add(
            literal,
            "a key cannot be empty",
            "name the field as the checkpoint does",
        );
    } else if member.key.contains('\0') {
        errors.add(
            literal,
            format_args!("the key {:?} contains a NUL character", member.key),
            "name the field as the checkpoint does",
        );
    } else if member.key.contains('.') {
        errors.add(
            literal,
            format_args!(
                "the key `{}` contains a `.`, which separates the steps of a path",
                member.key
            ),
            "nest modules to get a dotted path: each step is a field of its own",
        );
    }
}

/// A key does not start with `__`, like the safetensors format's `__metadata__`, nor with `_extra_state`, the key for
/// PyTorch's state other than tensors.
fn reserved_key(member: &Member<'_>, errors: &mut Errors) {
    const RESERVED: [(&str, &str, &str); 2] = [
        ("__", "the file format", ""),
        (
            "_extra_state",
            "PyTorch's state other than tensors",
            "such state is a field of type `ExtraState`, whatever its name; for anything else, ",
        ),
    ];
    if member.attrs.skip.is_some() || member.attrs.flatten.is_some() {
        return;
    }
    for (start, why, instead) in RESERVED {
        if !member.key.starts_with(start) {
            continue;
        }
        let wrong = format!(
            "the key `{}` starts with `{start}`, which is kept for {why}",
            member.key
        );
        match (&member.attrs.rename, &member.access) {
            (Some(rename), _) => errors.add(
                &rename.value,
                wrong,
                format_args!("{instead}choose another key"),
            ),
            (None, access) => {
                let cure =
                    "rename the field, or give it another key by `#[module(rename = \"…\")]`";
                errors.add(access, wrong, format_args!("{instead}{cure}"));
            }
        }
    }
}

/// The keys of a module are distinct.
fn duplicate_keys(members: &[Member<'_>], errors: &mut Errors) {
    let keyed: Vec<_> = members
        .iter()
        .filter(|member| member.attrs.skip.is_none() && member.attrs.flatten.is_none())
        .collect();
    for (i, member) in keyed.iter().enumerate() {
        let Some(first) = keyed.iter().take(i).find(|first| first.key == member.key) else {
            continue;
        };
        let wrong = format!("two fields have the key `{}`", member.key);
        // Fields cannot share a name, so one of the two is renamed, and the fix belongs there.
        match (&member.attrs.rename, &first.attrs.rename) {
            (Some(rename), _) | (None, Some(rename)) => {
                errors.add(&rename.value, wrong, "choose another key")
            }
            (None, None) => {}
        }
    }
}

/// A module has one mode flag.
fn one_training_flag(members: &[Member<'_>], errors: &mut Errors) {
    let flags = members
        .iter()
        .filter(|member| member.attrs.skip.is_none() && types::is_training(member.ty));
    for second in flags.skip(1) {
        errors.add(
            second.ty,
            "a module has one mode, and this is a second `Training`",
            "remove it and read the first",
        );
    }
}

/// Whether a module with a mode flag may have a second one, behind an alias or a type parameter, so that the compiler must
/// check the types themselves. A type without generics is checked only if one mode flag is visible, because checking every
/// module costs its users compile time, and two hidden flags, which are always set together, do no harm.
pub(crate) fn may_have_two_modes(input: &Input<'_>) -> bool {
    let generic = !input.generics.params.is_empty();
    let two = |members: &[Member<'_>]| {
        let shown = members
            .iter()
            .filter(|member| member.attrs.skip.is_none() && member.attrs.flatten.is_none());
        let open = |member: &&Member<'_>| types::may_be_training(member.ty);
        let shows = |member: &Member<'_>| types::is_training(member.ty);
        (generic || shown.clone().any(shows)) && shown.filter(open).count() >= 2
    };
    match &input.body {
        Body::Struct(members) => two(members),
        Body::Enum(variants) => variants.iter().any(|variant| two(&variant.members)),
        Body::Union(_) => false,
    }
}

/// The payload of a one-field variant takes the enum's place, so it has no key of its own.
fn transparent_variants(input: &Input<'_>, errors: &mut Errors) {
    let Body::Enum(variants) = &input.body else {
        return;
    };
    for member in variants.iter().filter_map(|variant| variant.payload()) {
        let names = [
            member.attrs.rename.as_ref().map(|given| &given.name),
            member.attrs.flatten.as_ref().map(|given| &given.name),
        ];
        for name in names.into_iter().flatten() {
            let attr = name
                .segments
                .last()
                .map(|last| last.ident.to_string())
                .unwrap_or_default();
            errors.add(
                name,
                format_args!("`{attr}` has no meaning on the only field of a variant, which answers in the enum's place"),
                "remove it, or name the field: `Variant { name: Type }`",
            );
        }
    }
}
