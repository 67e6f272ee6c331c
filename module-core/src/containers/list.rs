use std::fmt;
use std::ops::{Deref, DerefMut, Range};

use crate::module::{Member, Visitor, VisitorMut, fmt_tree};
use crate::{Describe, Error, FieldInfo, Layer, Module, Parameter, Result};

/// A list of modules or parameters under the keys `0`, `1`, …, that can grow and shrink: PyTorch's
/// `ModuleList` and `ParameterList`.
///
/// Walks, state dicts and printing treat a `Vec` in a module the same way; this type adds PyTorch's methods, with errors
/// for indices out of range. Removing an element leaves no gap in the keys. It has no forward pass of its own. As a slice
/// it can be iterated over and indexed.
///
/// # Example
///
/// ```
/// use module_core::{Identity, List, Module, ModuleExt};
///
/// let mut list: List<Identity> = (0..4).map(|_| Identity::new()).collect();
/// list.pop(-1)?;
/// list.insert(0, Identity::new())?;
/// assert_eq!(list.len(), 4);
/// assert_eq!(list.tree().to_string(), "ModuleList(\n  (0-3): 4 x Identity()\n)");
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::{List, Parameter, Tensor};
///
/// let scale = |value: f32| Parameter::new(Tensor::from(value));
/// let mut scales = List::new();
/// scales.push(scale(1.0)?);
/// let old = scales.replace(-1, scale(2.0)?)?;
/// assert_eq!((old.detach().item::<f32>()?, scales[0].detach().item::<f32>()?), (1.0, 2.0));
/// assert!(scales.replace(1, scale(3.0)?).is_err());
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct List<T>(Vec<T>);

/// A list of modules, by default of any layers.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, ModuleList, Tensor};
///
/// let mut layers = ModuleList::new();
/// layers.push(Box::new(Identity::new()));
/// let mut x = Tensor::from([1.0_f32]);
/// for layer in layers.iter() {
///     x = layer.call(x)?;
/// }
/// # Ok::<(), module_core::Error>(())
/// ```
pub type ModuleList<M = Box<dyn Layer>> = List<M>;

/// A list of parameters.
///
/// # Example
///
/// ```
/// use module_core::{ModuleExt, Parameter, ParameterList, Tensor};
///
/// let mut scales = ParameterList::new();
/// scales.push(Parameter::new(Tensor::from([1.0_f32]))?);
/// assert_eq!(scales.state_dict()?.keys().collect::<Vec<_>>(), ["0"]);
/// # Ok::<(), module_core::Error>(())
/// ```
pub type ParameterList = List<Parameter>;

impl<T: Member> List<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Appends an element.
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }

    /// Inserts an element before the one at `index`, or at the end if `index` is the length; negative indices count from
    /// the end.
    ///
    /// # Errors
    ///
    /// An index past the end.
    pub fn insert(&mut self, index: isize, item: T) -> Result<()> {
        let index = check_index("insert", index, self.len(), self.len() + 1)?;
        self.0.insert(index, item);
        Ok(())
    }

    /// Removes and returns the element at `index`; negative indices count from the end.
    ///
    /// # Errors
    ///
    /// An index out of range.
    pub fn pop(&mut self, index: isize) -> Result<T> {
        let index = check_index("pop", index, self.len(), self.len())?;
        Ok(self.0.remove(index))
    }

    /// Replaces the element at `index` and returns the previous one.
    ///
    /// # Errors
    ///
    /// An index out of range.
    pub fn replace(&mut self, index: isize, item: T) -> Result<T> {
        let index = check_index("replace", index, self.len(), self.len())?;
        match self.0.get_mut(index) {
            Some(old) => Ok(std::mem::replace(old, item)),
            None => check_index("replace", index as isize, self.len(), 0).map(|_| item),
        }
    }

    /// Removes the elements of a range and returns them as a new list, numbered from 0.
    ///
    /// # Errors
    ///
    /// A range that ends before it starts or past the end.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Identity, List};
    ///
    /// let mut list: List<Identity> = (0..5).map(|_| Identity::new()).collect();
    /// let middle = list.take_slice(1..4)?;
    /// assert_eq!((middle.len(), list.len()), (3, 2));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn take_slice(&mut self, range: Range<usize>) -> Result<Self> {
        let range = check_range("take_slice", range, self.len())?;
        Ok(Self(self.0.drain(range).collect()))
    }
}

/// The index below `bound` that `index` means; a negative one counts from the end.
pub(super) fn check_index(
    op: &'static str,
    index: isize,
    len: usize,
    bound: usize,
) -> Result<usize> {
    let from_end = len.checked_sub(index.unsigned_abs());
    let checked = match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => from_end,
    };
    checked.filter(|&index| index < bound).ok_or_else(|| {
        let problem = format!("is out of range for {len} element(s)");
        Error::argument(op, "index", index, problem)
    })
}

/// A range within a list.
pub(super) fn check_range(
    op: &'static str,
    range: Range<usize>,
    len: usize,
) -> Result<Range<usize>> {
    if range.start <= range.end && range.end <= len {
        return Ok(range);
    }
    let given = format!("{}..{}", range.start, range.end);
    let problem = format!("is out of range for {len} element(s)");
    Err(Error::argument(op, "range", given, problem))
}

impl<T: Member> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        Self(items)
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T> Extend<T> for List<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.0.extend(items);
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Written by hand, because the elements are this module's own members.
impl<T: Member> Module for List<T> {
    fn kind(&self) -> &'static str {
        T::LIST
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.0.visit(visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        self.0.visit_mut(visitor);
    }
}

/// The keys are known only at run time.
impl<T: Member> Describe for List<T> {
    const FIELDS: &'static [FieldInfo] = &[];
}

impl<T: Member> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tree(self, f)
    }
}
