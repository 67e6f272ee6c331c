use std::sync::Arc;

/// A description of a module's type that is known at compile time: its fields with their keys and roles.
///
/// `#[derive(Module)]` implements it, so that `Net::FIELDS` can be read without a value. A hand-written module needs it
/// only if it is flattened through a type parameter; `&[]` means that its keys are known only at run time.
///
/// # Example
///
/// ```
/// use module_core::{Describe, FieldRole, Identity, Module, Parameter};
///
/// #[derive(Module)]
/// struct Scale {
///     #[module(rename = "gamma")]
///     weight: Parameter,
///     act: Identity,
///     eps: f64,
/// }
///
/// let keys = Scale::FIELDS.iter().map(|field| (field.name, field.key));
/// assert!(keys.eq([("weight", "gamma"), ("act", "act"), ("eps", "eps")]));
///
/// const LEARNED: bool = matches!(Scale::FIELDS[0].role, FieldRole::Parameter);
/// assert!(LEARNED);
/// ```
#[diagnostic::on_unimplemented(
    message = "the keys of `{Self}` are not known at compile time",
    label = "flattened, but does not describe its fields",
    note = "`#[derive(Module)]` describes the fields; where a type parameter is flattened, bound it by `Module + Describe`",
    note = "a module that is written by hand declares `const FIELDS: &'static [FieldInfo] = &[]`, and its keys are not compared"
)]
pub trait Describe {
    /// The fields in declaration order; for an enum, those of all variants.
    const FIELDS: &'static [FieldInfo] = if Self::WRITTEN.roles.len() <= Self::FEW.len() {
        Self::FEW.split_at(Self::WRITTEN.roles.len()).0
    } else {
        Self::MANY.split_at(Self::WRITTEN.roles.len()).0
    };

    #[doc(hidden)]
    const WRITTEN: Written = Written::NONE;

    // The length of an array cannot depend on a constant of `Self`.
    #[doc(hidden)]
    const FEW: &'static [FieldInfo] = &Self::WRITTEN.fields::<16>();

    #[doc(hidden)]
    const MANY: &'static [FieldInfo] = &Self::WRITTEN.fields::<{ Written::MAX_FIELDS }>();
}

/// One field of a module's type.
///
/// # Example
///
/// ```
/// use module_core::{Describe, Module, Parameter};
///
/// #[derive(Module)]
/// struct Scale {
///     weight: Parameter,
/// }
///
/// assert_eq!(Scale::FIELDS[0].name, "weight");
/// ```
///
/// ```
/// use module_core::{Describe, FieldInfo, FieldRole, Identity, Module, Parameter};
///
/// #[derive(Module)]
/// struct Block {
///     weight: Parameter,
///     act: Identity,
/// }
///
/// /// The fields that an optimizer moves.
/// fn trained<M: Describe>() -> Vec<&'static str> {
///     let is_trained = |field: &&FieldInfo| field.role == FieldRole::Parameter;
///     M::FIELDS.iter().filter(is_trained).map(|field| field.key).collect()
/// }
///
/// assert_eq!(trained::<Block>(), ["weight"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldInfo {
    /// The enum variant that has the field.
    pub variant: Option<&'static str>,
    /// The Rust name of the field: `weight`, `0`, and `type` for `r#type`.
    pub name: &'static str,
    /// The name under which it registers; empty if the field registers nothing, because it is skipped, flattened, or the
    /// payload of a one-field variant, which takes the enum's place.
    pub key: &'static str,
    /// The role of the field in the module.
    pub role: FieldRole,
}

impl FieldInfo {
    /// Used by the derive; a field of a struct has no variant.
    #[doc(hidden)]
    pub const fn new(
        variant: &'static str,
        name: &'static str,
        key: &'static str,
        role: FieldRole,
    ) -> Self {
        Self {
            variant: if variant.is_empty() {
                None
            } else {
                Some(variant)
            },
            name,
            key,
            role,
        }
    }
}

/// The fields of a type as the derive writes them: in a compact form, because each literal and each step of a constant
/// costs the user's crate compile time, and `FIELDS` is rarely used.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Written {
    /// The variants, names and keys of the fields, separated by NUL; no variants for a struct.
    pub variants: &'static str,
    pub names: &'static str,
    pub keys: &'static str,
    pub roles: &'static [FieldRole],
}

impl Written {
    /// The most fields that the derive accepts.
    const MAX_FIELDS: usize = 256;

    /// No fields, or none known at compile time.
    const NONE: Self = Self {
        variants: "",
        names: "",
        keys: "",
        roles: &[],
    };

    /// The fields, followed by filler for the rest of the array.
    const fn fields<const N: usize>(self) -> [FieldInfo; N] {
        let mut fields = [FieldInfo::new("", "", "", FieldRole::Skipped); N];
        let (mut variants, mut names, mut keys) = (self.variants, self.names, self.keys);
        let mut i = 0;
        while i < N && i < self.roles.len() {
            let (variant, name, key);
            (variant, variants) = first(variants);
            (name, names) = first(names);
            (key, keys) = first(keys);
            fields[i] = FieldInfo::new(variant, name, key, self.roles[i]);
            i += 1;
        }
        fields
    }
}

/// The parts before and after the first NUL.
const fn first(list: &'static str) -> (&'static str, &'static str) {
    let mut end = 0;
    while end < list.len() {
        if list.as_bytes()[end] == 0 {
            let (first, rest) = list.split_at(end);
            return (first, rest.split_at(1).1);
        }
        end += 1;
    }
    (list, "")
}

/// The role of a field in its module. The type decides, so that aliases and generics have the role of the type that they
/// stand for.
///
/// # Example
///
/// ```
/// use module_core::{Buffer, Field, FieldRole};
///
/// assert!(matches!(Buffer::ROLE, FieldRole::Buffer));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldRole {
    /// A trainable tensor, which may be absent.
    Parameter,
    /// State that is not trained, and may be absent.
    Buffer,
    /// A child module, or a container of modules or parameters.
    Child,
    /// State that is neither a parameter nor a buffer.
    ExtraState,
    /// The mode flag.
    Training,
    /// A value that the module tree prints.
    Constant,
    /// Registers nothing: a [`Marker`](crate::Marker) or `PhantomData`.
    Marker,
    /// Excluded by `#[module(skip)]`.
    Skipped,
    /// A child whose members become this module's own by `#[module(flatten)]`: its fields, or none if they are not known at
    /// compile time.
    Flattened(&'static [FieldInfo]),
}

impl<M: Describe> Describe for Box<M> {
    const FIELDS: &'static [FieldInfo] = M::FIELDS;
}

impl<M: Describe> Describe for Arc<M> {
    const FIELDS: &'static [FieldInfo] = M::FIELDS;
}

/// The keys of a vector are known only at run time.
impl<T> Describe for Vec<T> {
    const FIELDS: &'static [FieldInfo] = &[];
}

/// The keys are numbers, and no constant can hold one for each element of the array.
impl<T, const N: usize> Describe for [T; N] {
    const FIELDS: &'static [FieldInfo] = &[];
}

/// The keys of a map are known only at run time.
impl<T> Describe for indexmap::IndexMap<String, T> {
    const FIELDS: &'static [FieldInfo] = &[];
}
