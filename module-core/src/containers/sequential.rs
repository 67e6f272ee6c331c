use indexmap::IndexMap;

use crate::module::{Visitor, VisitorMut};
use crate::{Call, Describe, Error, ErrorKind, FieldInfo, Forward, Layer, Module, Result, Tensor};

/// Layers one after the other, under the keys `0`, `1`, … or names.
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
#[derive(Default)]
pub struct Sequential {
    layers: IndexMap<String, Box<dyn Layer>>,
}

impl Sequential {
    /// Without layers: the identity.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more layer at the end, under the number of layers before it.
    #[must_use]
    pub fn push(mut self, layer: impl Layer) -> Self {
        self.append(layer);
        self
    }

    /// With one more layer at the end, under a name.
    ///
    /// # Errors
    ///
    /// A name that is empty, contains `.` or is taken.
    pub fn push_named(mut self, name: impl Into<String>, layer: impl Layer) -> Result<Self> {
        let key = name.into();
        if key.is_empty() || key.contains('.') {
            return Err(ErrorKind::InvalidKey {
                op: "push_named",
                key,
            }
            .into());
        }
        if self.layers.contains_key(&key) {
            return Err(ErrorKind::DuplicateKey {
                key,
                module: "Sequential",
            }
            .into());
        }
        self.layers.insert(key, Box::new(layer));
        Ok(self)
    }

    /// Puts one more layer at the end, under the number of layers before it or, if that is a name
    /// already, the next free number.
    pub fn append(&mut self, layer: impl Layer) {
        let mut number = self.layers.len();
        while self.layers.contains_key(&number.to_string()) {
            number += 1;
        }
        self.layers.insert(number.to_string(), Box::new(layer));
    }

    /// The number of layers.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are no layers.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The layer at a place.
    ///
    /// # Errors
    ///
    /// A place past the end.
    pub fn layer(&self, index: usize) -> Result<&dyn Layer> {
        match self.layers.get_index(index) {
            Some((_, layer)) => Ok(&**layer),
            None => {
                let problem = format!("there are {} layer(s)", self.len());
                Err(Error::argument("layer", "index", index, problem))
            }
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

/// The keys are known at run time only.
impl Describe for Sequential {
    const FIELDS: &'static [FieldInfo] = &[];
}

impl Forward for Sequential {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.layers
            .values()
            .try_fold(input, |x, layer| layer.call(x))
    }
}
