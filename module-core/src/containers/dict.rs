use std::fmt;

use indexmap::IndexMap;

use crate::module::{Member, Visitor, VisitorMut, fmt_tree};
use crate::{Describe, Error, FieldInfo, Layer, Module, ModuleError, Parameter, Result};

/// Modules or parameters by name, in insertion order: PyTorch's `ModuleDict` and `ParameterDict`.
///
/// Walks, state dicts and printing treat an `IndexMap` in a module the same way; this type refuses invalid names on
/// insertion instead of when the state is saved.
///
/// # Example
///
/// ```
/// use module_core::{Dict, Identity, ModuleExt};
///
/// let mut heads = Dict::new();
/// heads.insert("class", Identity::new())?;
/// heads.insert("box", Identity::new())?;
/// heads.insert("class", Identity::new())?; // Keeps the place.
/// assert_eq!(heads.keys().collect::<Vec<_>>(), ["class", "box"]);
/// assert!(heads.insert("a.b", Identity::new()).is_err());
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::{Dict, ModuleExt, Parameter, Result, Tensor};
///
/// let scale = |value: f32| Parameter::new(Tensor::from(value));
/// let mut scales = Dict::new();
/// scales.update([("left", scale(1.0)?), ("right", scale(2.0)?), ("top", scale(3.0)?)])?;
/// let removed = scales.pop("right")?;
/// assert_eq!(removed.detach().item::<f32>()?, 2.0);
/// assert!(scales.contains_key("top") && !scales.contains_key("right") && scales.len() == 2);
///
/// *scales.item_mut("top")? = scale(30.0)?;
/// let values = scales.values().map(|scale| scale.detach().item::<f32>());
/// assert_eq!(values.sum::<Result<f32>>()?, 31.0);
/// for (name, scale) in scales.iter() {
///     assert_eq!(scale.numel(), 1, "{name}");
/// }
/// let error = scales.pop("lef").err().unwrap();
/// assert!(error.to_string().contains("left"), "{error}");
/// scales.clear();
/// assert!(scales.is_empty());
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct Dict<T>(IndexMap<String, T>);

/// Modules by name, by default any layers.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, ModuleDict, Tensor};
///
/// let mut activations = ModuleDict::new();
/// activations.insert("none", Box::new(Identity::new()))?;
/// let y = activations.item("none")?.call(Tensor::from([1.0_f32]))?;
/// # Ok::<(), module_core::Error>(())
/// ```
pub type ModuleDict<M = Box<dyn Layer>> = Dict<M>;

/// Parameters by name.
///
/// # Example
///
/// ```
/// use module_core::{ModuleExt, Parameter, ParameterDict, Tensor};
///
/// let mut scales = ParameterDict::new();
/// scales.insert("left", Parameter::new(Tensor::from([1.0_f32]))?)?;
/// assert_eq!(scales.state_dict()?.keys().collect::<Vec<_>>(), ["left"]);
/// # Ok::<(), module_core::Error>(())
/// ```
pub type ParameterDict = Dict<Parameter>;

impl<T: Member> Dict<T> {
    /// An empty container.
    pub fn new() -> Self {
        Self(IndexMap::new())
    }

    /// Inserts an element under a name and returns the previous one, whose position it takes.
    ///
    /// # Errors
    ///
    /// A name that is empty or contains `.`.
    pub fn insert(&mut self, name: impl Into<String>, item: T) -> Result<Option<T>> {
        let key = check_key("insert", name.into())?;
        Ok(self.0.insert(key, item))
    }

    /// Removes and returns the element under a name; the others keep their order.
    ///
    /// # Errors
    ///
    /// A name that does not exist, with the nearest one.
    pub fn pop(&mut self, name: &str) -> Result<T> {
        match self.0.shift_remove(name) {
            Some(item) => Ok(item),
            None => Err(self.missing_error(name)),
        }
    }

    /// The element under a name.
    ///
    /// # Errors
    ///
    /// A name that does not exist, with the nearest one.
    pub fn item(&self, name: &str) -> Result<&T> {
        self.0.get(name).ok_or_else(|| self.missing_error(name))
    }

    /// [`item`](Self::item), mutably.
    ///
    /// # Errors
    ///
    /// Those of [`item`](Self::item).
    pub fn item_mut(&mut self, name: &str) -> Result<&mut T> {
        let missing = match self.0.contains_key(name) {
            true => None,
            false => Some(self.missing_error(name)),
        };
        match (self.0.get_mut(name), missing) {
            (_, Some(error)) => Err(error),
            (Some(item), None) => Ok(item),
            (None, None) => Err(no_member_error(name, None, T::DICT)),
        }
    }

    fn missing_error(&self, name: &str) -> Error {
        no_member_error(name, crate::error::suggest(name, self.keys()), T::DICT)
    }

    /// Inserts each element under its name, like [`insert`](Self::insert).
    ///
    /// # Errors
    ///
    /// A name that is empty or contains `.`; the elements before it are inserted.
    pub fn update<N: Into<String>>(
        &mut self,
        items: impl IntoIterator<Item = (N, T)>,
    ) -> Result<()> {
        for (name, item) in items {
            self.insert(name, item)?;
        }
        Ok(())
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is an element under a name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The elements in order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    /// The names and elements in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, item)| (name.as_str(), item))
    }
}

/// A valid key.
pub(super) fn check_key(op: &'static str, key: String) -> Result<String> {
    match key.is_empty() || key.contains('.') {
        false => Ok(key),
        true => Err(ModuleError::InvalidKey { op, key }.into()),
    }
}

pub(super) fn no_member_error(
    name: &str,
    suggestion: Option<String>,
    module: &'static str,
) -> Error {
    ModuleError::NoSuchMember {
        path: name.to_owned(),
        step: name.to_owned(),
        module,
        suggestion,
    }
    .into()
}

impl<T: Member> Default for Dict<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Written by hand, because the elements are this module's own members.
impl<T: Member> Module for Dict<T> {
    fn kind(&self) -> &'static str {
        T::DICT
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.0.visit(visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        self.0.visit_mut(visitor);
    }
}

/// The keys are known only at run time.
impl<T: Member> Describe for Dict<T> {
    const FIELDS: &'static [FieldInfo] = &[];
}

impl<T: Member> fmt::Debug for Dict<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tree(self, f)
    }
}
