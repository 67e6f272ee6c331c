use std::sync::Arc;

/// What is known of a module's type at compile time: its fields with their keys and roles.
///
/// `#[derive(Module)]` implements it, so that `Net::FIELDS` can be read without a value. A module
/// that is written by hand needs it only where it is flattened through a type parameter; `&[]` says
/// that its keys are known at run time only.
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
    note = "a module that is written by hand says `const FIELDS: &'static [FieldInfo] = &[]`, and its keys are not compared"
)]
pub trait Describe {
    /// The fields in declaration order; of an enum, those of all variants.
    const FIELDS: &'static [FieldInfo];
}

/// One field of a module's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldInfo {
    /// The variant of an enum that has the field.
    pub variant: Option<&'static str>,
    /// How Rust names the field: `weight`, `0`, and `type` for `r#type`.
    pub name: &'static str,
    /// The name under which it registers. It is empty where the field registers none: it is
    /// skipped, flattened, or the payload of a one-field variant, which takes the enum's place.
    pub key: &'static str,
    /// What the field is to the module.
    pub role: FieldRole,
}

impl FieldInfo {
    /// What the derive writes; a field of a struct has no variant.
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

    /// All fields of a type, each as the arguments of [`new`](Self::new): one call for the derive to
    /// write.
    #[doc(hidden)]
    pub const fn all<const N: usize>(
        fields: [(&'static str, &'static str, &'static str, FieldRole); N],
    ) -> [Self; N] {
        let mut all = [Self::new("", "", "", FieldRole::Skipped); N];
        let mut i = 0;
        while i < N {
            let (variant, name, key, role) = fields[i];
            all[i] = Self::new(variant, name, key, role);
            i += 1;
        }
        all
    }
}

/// What a field is to its module. The type decides, so that aliases and generics have the role of
/// what they stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldRole {
    /// A learnable tensor, which may be absent.
    Parameter,
    /// State that is not learned, and may be absent.
    Buffer,
    /// A child module, or a container of modules or parameters.
    Child,
    /// The mode flag.
    Training,
    /// A value that the module tree prints.
    Constant,
    /// Registers nothing: a [`Marker`](crate::Marker) or `PhantomData`.
    Marker,
    /// Taken out by `#[module(skip)]`.
    Skipped,
    /// A child whose members join this module's own by `#[module(flatten)]`: its fields, or none
    /// where they are not known at compile time.
    Flattened(&'static [FieldInfo]),
}

impl<M: Describe> Describe for Box<M> {
    const FIELDS: &'static [FieldInfo] = M::FIELDS;
}

impl<M: Describe> Describe for Arc<M> {
    const FIELDS: &'static [FieldInfo] = M::FIELDS;
}

/// The keys of a vector are known at run time only.
impl<T> Describe for Vec<T> {
    const FIELDS: &'static [FieldInfo] = &[];
}

/// The keys are numbers, of which no constant can hold as many as the array has.
impl<T, const N: usize> Describe for [T; N] {
    const FIELDS: &'static [FieldInfo] = &[];
}

/// The keys of a map are known at run time only.
impl<T> Describe for indexmap::IndexMap<String, T> {
    const FIELDS: &'static [FieldInfo] = &[];
}
