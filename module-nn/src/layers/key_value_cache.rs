use module_core::hooks::Tensors;
use module_core::{DType, Error, Layout, Result, Shape, Tensor};

/// The keys and values of earlier elements, so that the next element of a sequence does not need the whole sequence again.
///
/// It is a value: a clone stays unchanged, whatever is appended to the other, and going back to it undoes what came after.
/// A layer takes a cache and returns a longer one, so that a model can serve many sequences at once.
///
/// New elements are written into spare capacity after the existing ones, as long as nothing else holds that memory: an
/// element of the sequence costs only its own copy. [`with_capacity`](Self::with_capacity) allocates the capacity at once;
/// without it the capacity doubles when it is used up. A clone, a view that is kept and a tracked gradient hold the memory,
/// so that the next `append` copies all of it; decode inside [`no_grad`](crate::no_grad).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let attention = GroupedQueryAttentionConfig::new(8, 4).num_kv_heads(2).build()?;
/// let mut cache = KeyValueCache::with_capacity(16);
/// for _ in 0..3 {
///     let token = Tensor::randn([1, 1, 8], DType::F32)?;
///     (_, cache) = no_grad(|| attention.call((token, cache)))?;
/// }
/// assert_eq!(cache.len(), 3);
/// assert_eq!(cache.truncate(1)?.len(), 1);
///
/// // A layer of your own appends its keys and values, and gets all that it may attend to.
/// let part = |value| Tensor::full([1, 2, 1, 4], value, DType::F32);
/// let mut cache = KeyValueCache::new().sliding_window(3);
/// assert!(cache.is_empty() && cache.key().is_none() && cache.value().is_none());
/// for position in 0..5 {
///     let (keys, values) = cache.append(part(f64::from(position))?, part(0.0)?)?;
///     assert_eq!(keys.shape(), values.shape());
/// }
/// // The window is the next element and two before it.
/// assert_eq!((cache.len(), cache.kept()), (5, 2));
/// assert_eq!(cache.key().unwrap().amin(..)?.item::<f32>()?, 3.0);
/// // A beam search continues with the same sequence twice.
/// let beams = cache.select(&Tensor::from([0_i64, 0]))?;
/// assert_eq!(beams.value().unwrap().shape().to_string(), "[2, 2, 2, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyValueCache {
    entries: Option<Entries>,
    capacity: usize,
    window: Option<usize>,
    /// The number of elements seen, including those that have left the window.
    seen: usize,
}

/// Keys and values, `[batch, heads, capacity, head_dim]`, of which `len` from `start` on are in use.
#[derive(Clone, Debug)]
struct Entries {
    key: Tensor,
    value: Tensor,
    start: usize,
    len: usize,
}

const NAME: &str = "KeyValueCache";

impl KeyValueCache {
    /// An empty cache.
    pub const fn new() -> Self {
        Self {
            entries: None,
            capacity: 0,
            window: None,
            seen: 0,
        }
    }

    /// An empty cache with capacity for this many elements, allocated by the first `append`.
    pub const fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: None,
            capacity,
            window: None,
            seen: 0,
        }
    }

    /// Keeps no more than the next element may attend to in a window of this size, itself the last: the last `window - 1`.
    /// Use it with a [`sliding_window`](super::GroupedQueryAttentionConfig::sliding_window) of the same size.
    #[must_use]
    pub fn sliding_window(self, window: usize) -> Self {
        let window = Some(window.max(1));
        Self { window, ..self }
    }

    /// The number of elements seen, including those that have left the window: the position of the next.
    pub fn len(&self) -> usize {
        self.seen
    }

    /// Whether it has seen no elements.
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// The number of elements in it: [`len`](Self::len), or fewer with a window.
    pub fn kept(&self) -> usize {
        self.entries.as_ref().map_or(0, |entries| entries.len)
    }

    /// A view of the keys, `[batch, num_kv_heads, kept, head_dim]`, unless it is empty.
    pub fn key(&self) -> Option<Tensor> {
        let entries = self.entries.as_ref()?;
        entries.part(&entries.key).ok()
    }

    /// A view of the values, in the shape of the keys.
    pub fn value(&self) -> Option<Tensor> {
        let entries = self.entries.as_ref()?;
        entries.part(&entries.value).ok()
    }

    /// Appends keys and values, and returns everything that the new elements may attend to: the existing ones and the new
    /// ones.
    ///
    /// # Errors
    ///
    /// Shapes other than `[batch, num_kv_heads, length, head_dim]` with the sizes of the existing ones, a different dtype
    /// or device, not enough memory: then the cache is unchanged. It is empty only if a device fails while writing into
    /// memory that nothing else holds.
    pub fn append(&mut self, key: Tensor, value: Tensor) -> Result<(Tensor, Tensor)> {
        let more = self.check(&key, &value)?;
        let entries = match &mut self.entries {
            Some(entries) => {
                if let Err(error) = entries.append([key, value], more, self.capacity) {
                    if entries.key.shape() != entries.value.shape() {
                        (self.entries, self.seen) = (None, 0);
                    }
                    return Err(error);
                }
                entries
            }
            None => {
                let [key, value] = match more >= self.capacity {
                    true => [key, value],
                    false => [
                        joined(&[key], self.capacity)?,
                        joined(&[value], self.capacity)?,
                    ],
                };
                self.entries.insert(Entries {
                    key,
                    value,
                    start: 0,
                    len: more,
                })
            }
        };
        let all = (entries.part(&entries.key)?, entries.part(&entries.value)?);
        if let Some(window) = self.window {
            let left = entries.len.saturating_sub(window - 1);
            (entries.start, entries.len) = (entries.start + left, entries.len - left);
        }
        self.seen += more;
        Ok(all)
    }

    /// Checks new keys and values, and returns their length.
    fn check(&self, key: &Tensor, value: &Tensor) -> Result<usize> {
        for x in [key, value] {
            if x.rank() != 4 || x.shape() != key.shape() {
                let expected = "[batch, num_kv_heads, length, head_dim], the same for both";
                return Err(x.shape().error(NAME, expected));
            }
        }
        let Some(entries) = &self.entries else {
            return key.size(2);
        };
        for (own, x) in [(&entries.key, key), (&entries.value, value)] {
            let (sizes, given) = (own.shape(), x.shape());
            if [0, 1, 3].into_iter().any(|dim| sizes[dim] != given[dim]) {
                let [batch, heads, width] = [sizes[0], sizes[1], sizes[3]];
                let expected = format!("[{batch}, {heads}, length, {width}], as what is there");
                return Err(given.error(NAME, expected));
            }
            // Other differences are refused when the parts are joined.
            if own.dtype() != x.dtype() || own.device() != x.device() {
                return Err(match Tensor::cat(&[own, x], 2) {
                    Err(error) => error,
                    Ok(_) => {
                        let problem = format!("must be {}, as what is there", own.dtype());
                        Error::argument(NAME, "dtype", x.dtype(), problem)
                    }
                });
            }
        }
        key.size(2)
    }

    /// The first `len` elements of the sequence.
    ///
    /// # Errors
    ///
    /// A `len` above that of the sequence; any shorter one, if elements have already left the window.
    pub fn truncate(&self, len: usize) -> Result<Self> {
        if len > self.seen {
            let problem = format!("the cache holds {}", self.seen);
            return Err(Error::argument(NAME, "len", len, problem));
        }
        let mut shorter = self.clone();
        if let Some(entries) = &mut shorter.entries
            && len < self.seen
        {
            let left = self.seen - entries.len;
            if left > 0 {
                let problem =
                    format!("{left} have left the window; keep a clone of the shorter cache");
                return Err(Error::argument(NAME, "len", len, problem));
            }
            entries.len = len;
        }
        shorter.seen = len;
        Ok(shorter)
    }

    /// The sequences of the batch at these indices, in this order, for example for a beam search that continues with some
    /// of them.
    ///
    /// # Errors
    ///
    /// Indices out of range.
    pub fn select(&self, batch: &Tensor) -> Result<Self> {
        let mut chosen = self.clone();
        if let Some(entries) = &mut chosen.entries {
            entries.key = entries.key.index_select(0, batch)?;
            entries.value = entries.value.index_select(0, batch)?;
        }
        Ok(chosen)
    }
}

impl Entries {
    /// The part of keys or values that is in use.
    fn part(&self, x: &Tensor) -> Result<Tensor> {
        match self.len == x.size(2)? {
            true => Ok(x.clone()),
            false => x.narrow(2, self.start..self.start + self.len),
        }
    }

    /// Appends keys and values to those in use. After an error they are unchanged, or one is lost and their shapes differ.
    fn append(&mut self, parts: [Tensor; 2], more: usize, capacity: usize) -> Result<()> {
        let room = self.key.size(2)?;
        let (end, needed) = (self.start + self.len, self.len + more);
        let olds = [self.part(&self.key)?, self.part(&self.value)?];
        let tracked = olds.iter().chain(&parts).any(Tensor::requires_grad);
        let [new_key, new_value] = parts;
        if !tracked && end + more <= room {
            drop(olds);
            let ends = [end, end + more].map(|end| i64::try_from(end).unwrap_or(i64::MAX));
            let index = Tensor::arange(ends[0], ends[1], (DType::I64, &self.key.device()))?;
            let index = index.reshape([more, 1])?.expand(new_key.shape())?;
            write(&mut self.key, &index, &new_key)?;
            write(&mut self.value, &index, &new_value)?;
            self.len = needed;
            return Ok(());
        }
        let room = match tracked {
            true => needed,
            false if needed <= capacity => capacity,
            false => needed.saturating_mul(2),
        };
        let [old_key, old_value] = olds;
        *self = Self {
            key: joined(&[old_key, new_key], room)?,
            value: joined(&[old_value, new_value], room)?,
            start: 0,
            len: needed,
        };
        Ok(())
    }
}

/// The parts one after another, followed by zeros up to the capacity.
fn joined(parts: &[Tensor], room: usize) -> Result<Tensor> {
    let (mut parts, mut rest) = (parts.to_vec(), room);
    for part in &parts {
        rest = rest.saturating_sub(part.size(2)?);
    }
    if rest > 0 {
        let like = &parts[0];
        let sizes = like.shape().iter().enumerate();
        let shape: Shape = sizes
            .map(|(d, &size)| if d == 2 { rest } else { size })
            .collect();
        let zeros = Tensor::zeros(&shape, (like.dtype(), &like.device()))?;
        parts.push(zeros);
    }
    Tensor::cat(&parts, 2)
}

/// Writes a part into the spare capacity: in place, if nothing else holds the memory.
fn write(room: &mut Tensor, index: &Tensor, part: &Tensor) -> Result<()> {
    let (device, layout) = (room.device(), Layout::contiguous(room.shape().clone()));
    // The device copies memory that others hold, so one additional handle costs nothing.
    let spare = (!room.storage().is_unshared()).then(|| room.clone());
    let operand = std::mem::replace(room, part.clone()).operand();
    let written = device
        .backend()
        .scatter(operand, 2, index.operand(), part.operand());
    match (written, spare) {
        (Ok(storage), _) => *room = Tensor::from_storage(storage, layout),
        (Err(error), None) => return Err(error),
        (Err(error), Some(spare)) => {
            *room = spare;
            return Err(error);
        }
    }
    Ok(())
}

/// The keys and values in use.
impl Tensors for KeyValueCache {
    fn for_each(&self, f: &mut dyn FnMut(&Tensor)) {
        for x in [self.key(), self.value()].iter().flatten() {
            f(x);
        }
    }

    fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        let Some((mut key, mut value)) = self.key().zip(self.value()) else {
            return;
        };
        f(&mut key);
        f(&mut value);
        let len = self.kept();
        self.entries = Some(Entries {
            key,
            value,
            start: 0,
            len,
        });
    }
}
