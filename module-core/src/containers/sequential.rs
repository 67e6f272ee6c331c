use std::fmt;
use std::ops::Range;

use indexmap::IndexMap;

use super::dict::{check_key, no_member_error};
use super::list::{check_index, check_range};
use crate::module::{Visitor, VisitorMut, fmt_tree};
use crate::{
    Call, Describe, Error, FieldInfo, Forward, Layer, Module, ModuleError, Result, Tensor,
};

/// Consecutive layers, under the keys `0`, `1`, … or names.
///
/// # Shapes
///
/// The input is the first layer's, the output the last one's; without layers it is the identity.
///
/// # Errors
///
/// Those of the layers, with the layer's path.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, ModuleExt, Sequential, Tensor};
///
/// let net = Sequential::new().push(Identity::new()).push(Identity::new());
/// assert_eq!(net.call(Tensor::from([1.0_f32]))?.to_vec::<f32>()?, [1.0]);
/// assert_eq!(net.tree().to_string(), "Sequential(\n  (0): Identity()\n  (1): Identity()\n)");
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::{Call, Identity, Sequential, Tensor};
///
/// // Layers by number and by name, changed like a Python list.
/// let mut net = Sequential::new().push(Identity::new()).push_named("head", Identity::new())?;
/// net.append(Identity::new());
/// assert_eq!(net.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["0", "head", "2"]);
/// assert_eq!(net.named("head")?.kind(), "Identity");
/// assert_eq!(net.layer(2)?.kind(), "Identity");
/// net.replace(0, Sequential::new())?;
/// assert_eq!(net.pop(0)?.kind(), "Sequential");
/// assert_eq!(net.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["head", "1"]);
/// net.extend(Sequential::new().push(Identity::new()))?;
/// assert!(net.len() == 3 && net.named("2").is_ok() && net.layer(3).is_err());
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Default)]
pub struct Sequential {
    layers: IndexMap<String, Box<dyn Layer>>,
}

impl Sequential {
    /// An empty container: the identity.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a layer at the end; its key is the previous number of layers.
    #[must_use]
    pub fn push(mut self, layer: impl Layer) -> Self {
        self.append(layer);
        self
    }

    /// Adds a layer at the end, under a name.
    ///
    /// # Errors
    ///
    /// A name that is empty, contains `.` or is taken.
    pub fn push_named(mut self, name: impl Into<String>, layer: impl Layer) -> Result<Self> {
        let key = check_key("push_named", name.into())?;
        if self.layers.contains_key(&key) {
            return Err(ModuleError::DuplicateKey {
                key,
                module: "Sequential",
            }
            .into());
        }
        self.layers.insert(key, Box::new(layer));
        Ok(self)
    }

    /// Appends a layer; its key is the previous number of layers or, if that is already a name, the next free number.
    pub fn append(&mut self, layer: impl Layer) {
        let mut number = self.layers.len();
        while self.layers.contains_key(&number.to_string()) {
            number += 1;
        }
        self.layers.insert(number.to_string(), Box::new(layer));
    }

    /// Inserts a layer before the one at `index`, or at the end if `index` is the length; negative indices count from the
    /// end. Numeric keys are renumbered by position; names stay.
    ///
    /// # Errors
    ///
    /// An index past the end.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Identity, Sequential};
    ///
    /// let mut net = Sequential::new().push(Identity::new()).push_named("head", Identity::new())?;
    /// net.insert(0, Identity::new())?;
    /// assert_eq!(net.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["0", "1", "head"]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn insert(&mut self, index: isize, layer: impl Layer) -> Result<()> {
        let index = check_index("insert", index, self.len(), self.len() + 1)?;
        self.append(layer);
        self.layers.move_index(self.len() - 1, index);
        self.renumber();
        Ok(())
    }

    /// Appends the layers of another container, under their names or the next numbers.
    ///
    /// # Errors
    ///
    /// A name that is taken; then nothing is changed.
    pub fn extend(&mut self, other: Self) -> Result<()> {
        let taken = |key: &&String| !is_number(key) && self.layers.contains_key(*key);
        if let Some(key) = other.layers.keys().find(taken) {
            let (key, module) = (key.clone(), "Sequential");
            return Err(ModuleError::DuplicateKey { key, module }.into());
        }
        for (key, layer) in other.layers {
            match is_number(&key) {
                true => self.append(layer),
                false => {
                    self.layers.insert(key, Box::new(layer));
                }
            }
        }
        Ok(())
    }

    /// Removes and returns the layer at `index`; negative indices count from the end. Numeric keys are renumbered by
    /// position; names stay.
    ///
    /// # Errors
    ///
    /// An index out of range.
    pub fn pop(&mut self, index: isize) -> Result<Box<dyn Layer>> {
        let index = check_index("pop", index, self.len(), self.len())?;
        let removed = self.layers.shift_remove_index(index);
        self.renumber();
        removed
            .map(|(_, layer)| layer)
            .ok_or_else(|| self.no_layer_error(index))
    }

    /// Removes the layers of a range and returns them as a new container; in both, numeric keys are renumbered by position.
    ///
    /// # Errors
    ///
    /// A range that ends before it starts or past the end.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Identity, Sequential};
    ///
    /// let mut net: Sequential = (0..5).map(|_| Identity::new()).collect();
    /// let features = net.take_slice(0..3)?;
    /// assert_eq!((features.len(), net.len()), (3, 2));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn take_slice(&mut self, range: Range<usize>) -> Result<Self> {
        let range = check_range("take_slice", range, self.len())?;
        let mut taken = Self {
            layers: self.layers.drain(range).collect(),
        };
        self.renumber();
        taken.renumber();
        Ok(taken)
    }

    /// Replaces the layer at `index`, under the same key, and returns the previous one.
    ///
    /// # Errors
    ///
    /// An index out of range.
    pub fn replace(&mut self, index: isize, layer: impl Layer) -> Result<Box<dyn Layer>> {
        let index = check_index("replace", index, self.len(), self.len())?;
        match self.layers.get_index_mut(index) {
            Some((_, old)) => Ok(std::mem::replace(old, Box::new(layer))),
            None => Err(self.no_layer_error(index)),
        }
    }

    /// The layer under a key, a name or a number.
    ///
    /// # Errors
    ///
    /// A key that does not exist, with the nearest one.
    pub fn named(&self, key: &str) -> Result<&dyn Layer> {
        match self.layers.get(key) {
            Some(layer) => Ok(&**layer),
            None => {
                let keys = self.layers.keys().map(String::as_str);
                let nearest = crate::error::suggest(key, keys);
                Err(no_member_error(key, nearest, "Sequential"))
            }
        }
    }

    /// Renumbers numeric keys by position.
    fn renumber(&mut self) {
        let layers = std::mem::take(&mut self.layers).into_iter().enumerate();
        self.layers = layers
            .map(|(place, (key, layer))| match is_number(&key) {
                true => (place.to_string(), layer),
                false => (key, layer),
            })
            .collect();
    }

    fn no_layer_error(&self, index: usize) -> Error {
        let problem = format!("there are {} layer(s)", self.len());
        Error::argument("layer", "index", index, problem)
    }

    /// The number of layers.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are no layers.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The layer at an index.
    ///
    /// # Errors
    ///
    /// An index past the end.
    pub fn layer(&self, index: usize) -> Result<&dyn Layer> {
        match self.layers.get_index(index) {
            Some((_, layer)) => Ok(&**layer),
            None => Err(self.no_layer_error(index)),
        }
    }

    /// The layers in order, with their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &dyn Layer)> {
        self.layers
            .iter()
            .map(|(key, layer)| (key.as_str(), &**layer))
    }
}

impl<L: Layer> FromIterator<L> for Sequential {
    fn from_iter<I: IntoIterator<Item = L>>(layers: I) -> Self {
        layers.into_iter().fold(Self::new(), Self::push)
    }
}

/// Whether a key is a number of the form that [`Sequential::append`] gives.
fn is_number(key: &str) -> bool {
    key.parse::<usize>()
        .is_ok_and(|number| number.to_string() == key)
}

/// Written by hand, because the layers are this module's own members and not a map's.
impl Module for Sequential {
    fn kind(&self) -> &'static str {
        "Sequential"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.layers.visit(visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        self.layers.visit_mut(visitor);
    }
}

/// The keys are known only at run time.
impl Describe for Sequential {
    const FIELDS: &'static [FieldInfo] = &[];
}

impl fmt::Debug for Sequential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tree(self, f)
    }
}

impl Forward for Sequential {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.layers
            .values()
            .try_fold(input, |x, layer| layer.call(x))
    }
}
