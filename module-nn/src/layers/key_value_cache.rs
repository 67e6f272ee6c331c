use module_core::hooks::Tensors;
use module_core::{Error, Result, Tensor};

/// The keys and values that an attention has seen, so that the next element of a sequence does not need
/// the whole sequence again.
///
/// The layer changes nothing in itself or in the cache that it is given: it returns a longer one, which the
/// caller keeps. So a model serves many sequences at once, and going back to an older cache takes back
/// what came after.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let attention = GroupedQueryAttentionConfig::new(8, 4).num_kv_heads(2).build()?;
/// let mut cache = KeyValueCache::new();
/// for _ in 0..3 {
///     let token = Tensor::randn([1, 1, 8], DType::F32)?;
///     let (_, longer) = attention.call((token, cache))?;
///     cache = longer;
/// }
/// assert_eq!(cache.len(), 3);
/// assert_eq!(cache.truncate(1)?.len(), 1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyValueCache {
    /// `[batch, heads, length, head_dim]` each.
    entries: Option<(Tensor, Tensor)>,
}

impl KeyValueCache {
    /// Nothing seen yet.
    pub const fn new() -> Self {
        Self { entries: None }
    }

    /// How many elements of the sequence are in it.
    pub fn len(&self) -> usize {
        // Both have four dimensions.
        self.key().map_or(0, |key| key.size(2).unwrap_or_default())
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys, `[batch, num_kv_heads, length, head_dim]`, if something is in it.
    pub fn key(&self) -> Option<&Tensor> {
        self.entries.as_ref().map(|(key, _)| key)
    }

    /// The values, in the shape of the keys.
    pub fn value(&self) -> Option<&Tensor> {
        self.entries.as_ref().map(|(_, value)| value)
    }

    /// With more keys and values behind those it has.
    ///
    /// # Errors
    ///
    /// Other shapes than `[batch, num_kv_heads, length, head_dim]` with the sizes of what is there already,
    /// another dtype or device.
    pub fn append(&self, key: Tensor, value: Tensor) -> Result<Self> {
        let entries = match &self.entries {
            Some((old_key, old_value)) => (
                Tensor::cat(&[old_key.clone(), key], 2)?,
                Tensor::cat(&[old_value.clone(), value], 2)?,
            ),
            None => (key, value),
        };
        for x in [&entries.0, &entries.1] {
            if x.rank() != 4 || x.shape() != entries.0.shape() {
                let expected = "[batch, num_kv_heads, length, head_dim], the same for both";
                return Err(x.shape().error("KeyValueCache", expected));
            }
        }
        Ok(Self {
            entries: Some(entries),
        })
    }

    /// The first `len` elements of the sequence.
    ///
    /// # Errors
    ///
    /// More than there are.
    pub fn truncate(&self, len: usize) -> Result<Self> {
        if len > self.len() {
            let problem = format!("the cache holds {}", self.len());
            return Err(Error::argument("KeyValueCache", "len", len, problem));
        }
        self.map(|x| x.narrow(2, 0..len))
    }

    /// The sequences of the batch at these places, in this order, as a beam search goes on with some
    /// of them.
    ///
    /// # Errors
    ///
    /// Places out of range.
    pub fn select(&self, batch: &Tensor) -> Result<Self> {
        self.map(|x| x.index_select(0, batch))
    }

    fn map(&self, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Self> {
        let entries = match &self.entries {
            Some((key, value)) => Some((f(key)?, f(value)?)),
            None => None,
        };
        Ok(Self { entries })
    }
}

impl Tensors for KeyValueCache {
    fn for_each(&self, f: &mut dyn FnMut(&Tensor)) {
        self.entries.for_each(f);
    }

    fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.entries.for_each_mut(f);
    }
}
