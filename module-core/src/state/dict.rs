use indexmap::IndexMap;

use crate::Tensor;

/// Named tensors in order: what a module saves and loads, and the content of a checkpoint file.
///
/// The values are snapshots: later training does not change them. A tied tensor is listed under each of its names.
///
/// # Example
///
/// ```
/// use module_core::{StateDict, Tensor};
///
/// let mut state = StateDict::new();
/// state.insert("weight", Tensor::from([1.0_f32, 2.0]));
/// assert_eq!(state.keys().collect::<Vec<_>>(), ["weight"]);
/// assert_eq!(state.get("weight").unwrap().numel(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    pub(super) tensors: IndexMap<String, Tensor>,
}

impl StateDict {
    /// An empty state dict.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::StateDict;
    ///
    /// assert!(StateDict::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty state dict with room for `count` tensors.
    pub(crate) fn with_capacity(count: usize) -> Self {
        let tensors = IndexMap::with_capacity(count);
        Self { tensors }
    }

    /// The tensor whose key is at this index.
    #[cfg(feature = "torch-files")]
    pub(crate) fn tensor_at(&self, place: usize) -> Option<&Tensor> {
        self.tensors.get_index(place).map(|(_, tensor)| tensor)
    }

    /// The tensor under a key.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("a", Tensor::from([1.0_f32])), ("b", Tensor::from([2.0_f32]))]);
    /// assert_eq!(state.get("b").unwrap().item::<f32>()?, 2.0);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn get(&self, key: &str) -> Option<&Tensor> {
        self.tensors.get(key)
    }

    /// Inserts a detached tensor under a key and returns the previous one; a new key goes last.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let mut state = StateDict::from_iter([("a", Tensor::from([1.0_f32])), ("b", Tensor::from([2.0_f32]))]);
    /// assert!(state.insert("c", Tensor::from([3.0_f32])).is_none());
    /// assert_eq!(state.keys().last(), Some("c"));
    /// ```
    pub fn insert(&mut self, key: impl Into<String>, tensor: Tensor) -> Option<Tensor> {
        self.tensors.insert(key.into(), tensor.detach())
    }

    /// Removes and returns the tensor under a key; the others keep their order.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let mut state = StateDict::from_iter([("a", Tensor::from([1.0_f32])), ("b", Tensor::from([2.0_f32]))]);
    /// assert!(state.remove("a").is_some());
    /// assert_eq!(state.len(), 1);
    /// ```
    pub fn remove(&mut self, key: &str) -> Option<Tensor> {
        self.tensors.shift_remove(key)
    }

    /// Whether there is a tensor under a key.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("a", Tensor::from([1.0_f32])), ("b", Tensor::from([2.0_f32]))]);
    /// assert!(state.contains_key("a") && !state.contains_key("c"));
    /// ```
    pub fn contains_key(&self, key: &str) -> bool {
        self.tensors.contains_key(key)
    }

    /// The keys in order.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("a", Tensor::from([1.0_f32])), ("b", Tensor::from([2.0_f32]))]);
    /// assert!(state.keys().eq(["a", "b"]));
    /// ```
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The keys with their tensors, in order.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("a", Tensor::from([1.0_f32])), ("b", Tensor::from([2.0_f32]))]);
    /// assert_eq!(state.iter().map(|(_, tensor)| tensor.numel()).sum::<usize>(), 2);
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.into_iter()
    }

    /// The number of bytes of all elements; those of tied tensors count once.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let weight = Tensor::from([1.0_f32, 2.0]);
    /// let state = StateDict::from_iter([("a", weight.clone()), ("b", weight)]);
    /// assert_eq!(state.num_bytes(), 8);
    /// ```
    pub fn num_bytes(&self) -> usize {
        let bytes = |tensor: &Tensor| tensor.nbytes();
        let all: usize = self.tensors.values().map(bytes).sum();
        let extra = |keys: &Vec<&str>| {
            let tensor = keys.first().and_then(|key| self.get(key));
            tensor.map_or(0, bytes) * (keys.len() - 1)
        };
        all - self.ties().iter().map(extra).sum::<usize>()
    }

    /// The keys that are tied: each group is one tensor under all of its names.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let weight = Tensor::from([1.0_f32, 2.0]);
    /// let state = StateDict::from_iter([("a", weight.clone()), ("b", weight)]);
    /// assert_eq!(state.ties(), [["a", "b"]]);
    /// ```
    pub fn ties(&self) -> Vec<Vec<&str>> {
        let mut groups: IndexMap<_, Vec<&str>> = IndexMap::new();
        for (key, tensor) in self.iter().filter(|(_, tensor)| tensor.numel() > 0) {
            let layout = tensor.layout();
            let place = (
                tensor.storage().address(),
                layout.offset(),
                layout.shape(),
                layout.strides(),
            );
            groups.entry(place).or_default().push(key);
        }
        groups.into_values().filter(|keys| keys.len() > 1).collect()
    }

    /// The number of tensors.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("a", Tensor::from([1.0_f32])), ("b", Tensor::from([2.0_f32]))]);
    /// assert_eq!(state.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are no tensors.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("a", Tensor::from([1.0_f32])), ("b", Tensor::from([2.0_f32]))]);
    /// assert!(!state.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }
}

impl IntoIterator for StateDict {
    type Item = (String, Tensor);
    type IntoIter = indexmap::map::IntoIter<String, Tensor>;

    fn into_iter(self) -> Self::IntoIter {
        self.tensors.into_iter()
    }
}

/// Borrows the key and the tensor of an entry.
type Borrow<'a> = fn((&'a String, &'a Tensor)) -> (&'a str, &'a Tensor);

impl<'a> IntoIterator for &'a StateDict {
    type Item = (&'a str, &'a Tensor);
    type IntoIter = std::iter::Map<indexmap::map::Iter<'a, String, Tensor>, Borrow<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        let borrow: Borrow<'a> = |(key, tensor)| (key.as_str(), tensor);
        self.tensors.iter().map(borrow)
    }
}

impl<K: Into<String>> FromIterator<(K, Tensor)> for StateDict {
    fn from_iter<I: IntoIterator<Item = (K, Tensor)>>(tensors: I) -> Self {
        let mut state = Self::new();
        for (key, tensor) in tensors {
            state.insert(key, tensor);
        }
        state
    }
}
