//! Rules about what fields are, not how their types are spelled, evaluated while the user's crate is compiled.

use super::{FieldInfo, FieldRole};

/// Refuses a generic type that turns out to have size zero.
///
/// # Panics
///
/// Always while a constant is evaluated, which makes it an error of the compiler at the caller.
#[doc(hidden)]
#[track_caller]
pub const fn assert_module<T>() {
    assert!(
        size_of::<T>() != 0,
        "a module of size zero has no address of its own, by which hooks could identify it; give it a \
         field `marker: Marker`"
    );
}

/// The problem with the fields of a type: none if the text is empty.
#[doc(hidden)]
pub struct FieldsCheck {
    text: [u8; 512],
    len: usize,
}

impl FieldsCheck {
    const OK: Self = Self {
        text: [0; 512],
        len: 0,
    };

    /// Looks for a second mode flag, under any type name.
    pub const fn modes(fields: &[FieldInfo]) -> Self {
        let mut check = Self::OK;
        let mut first: Option<&FieldInfo> = None;
        let mut i = 0;
        while i < fields.len() {
            let field = &fields[i];
            if matches!(field.role, FieldRole::Training) {
                if let Some(first) = first
                    && is_same_variant(first, field)
                {
                    check.push("a module has one mode, and `");
                    check.push(field.name);
                    check.push("` is a second `Training`; remove it and read `");
                    check.push(first.name);
                    check.push("`");
                    return check;
                }
                first = Some(field);
            }
            i += 1;
        }
        check
    }

    /// Compares the keys that the flattened field at `index` adds with those of the fields next to it. Of two flattened
    /// fields, the second is the one at fault.
    pub const fn flattened(fields: &[FieldInfo], index: usize) -> Self {
        let mut check = Self::OK;
        let flattened = &fields[index];
        let FieldRole::Flattened(brought) = flattened.role else {
            return check;
        };
        let mut i = 0;
        while i < fields.len() {
            let other = &fields[i];
            let after = matches!(other.role, FieldRole::Flattened(_)) && i >= index;
            if !after
                && is_same_variant(flattened, other)
                && let Some(key) = find_common_key(brought, other)
            {
                check.push("flattening `");
                check.push(flattened.name);
                check.push("` brings the key `");
                check.push(key);
                check.push("`, which ");
                check.push(match other.role {
                    FieldRole::Flattened(_) => "comes from the flattened field `",
                    _ => "belongs to the field `",
                });
                check.push(other.name);
                check.push("` already; rename one of the two, or remove `flatten`");
                return check;
            }
            i += 1;
        }
        check
    }

    /// Whether no problem was found.
    pub const fn is_ok(&self) -> bool {
        self.len == 0
    }

    /// The collision, and the fix.
    pub const fn text(&self) -> &str {
        match str::from_utf8(self.text.split_at(self.len).0) {
            Ok(text) => text,
            // Whole strings were copied.
            Err(_) => "flattening brings a key that another field has already",
        }
    }

    /// Appends `part`, unless very long names have filled the text.
    const fn push(&mut self, part: &str) {
        let part = part.as_bytes();
        if self.len + part.len() > self.text.len() {
            return;
        }
        let mut i = 0;
        while i < part.len() {
            self.text[self.len + i] = part[i];
            i += 1;
        }
        self.len += part.len();
    }
}

const fn is_same_variant(a: &FieldInfo, b: &FieldInfo) -> bool {
    match (a.variant, b.variant) {
        (Some(a), Some(b)) => is_same(a, b),
        _ => true,
    }
}

/// The first key that both `brought` and `field` have.
const fn find_common_key(brought: &[FieldInfo], field: &FieldInfo) -> Option<&'static str> {
    let mut i = 0;
    while i < brought.len() {
        let found = match brought[i].role {
            FieldRole::Flattened(deeper) => find_common_key(deeper, field),
            _ if registers(&brought[i]) && has(field, brought[i].key) => Some(brought[i].key),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        i += 1;
    }
    None
}

/// Whether `field`, or what it adds, registers under `key`.
const fn has(field: &FieldInfo, key: &str) -> bool {
    let FieldRole::Flattened(brought) = field.role else {
        return registers(field) && is_same(field.key, key);
    };
    let mut i = 0;
    while i < brought.len() {
        if has(&brought[i], key) {
            return true;
        }
        i += 1;
    }
    false
}

/// Whether a path can lead to the field; flags and constants with the same name do no harm.
const fn registers(field: &FieldInfo) -> bool {
    !field.key.is_empty()
        && matches!(
            field.role,
            FieldRole::Parameter | FieldRole::Buffer | FieldRole::Child
        )
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
