use module_core::hooks::Tensors;
use module_core::{DType, Error, Layout, Result, Shape, Tensor};

/// The keys and values that an attention has seen, so that the next element of a sequence does not need
/// the whole sequence again.
///
/// It is a value: a clone stays as it is, whatever is appended to the other, and going back to it takes back what came
/// after. A layer is given a cache and returns a longer one, so that a model serves many sequences at once.
///
/// What is appended is written into room behind what is there, as long as nothing else holds that memory: an element
/// of the sequence costs its own copy. [`with_capacity`](Self::with_capacity) takes the room at once; without it the
/// room doubles when it is used up. A clone, a view that is kept and a gradient that is followed hold the memory, so
/// that the next `append` copies all of it; decode inside of [`no_grad`](crate::no_grad).
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
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyValueCache {
    entries: Option<Entries>,
    capacity: usize,
    window: Option<usize>,
    /// How many elements of the sequence were seen, those that have left the window too.
    seen: usize,
}

/// Keys and values, `[batch, heads, room, head_dim]`, of which `len` from `start` on are in use.
#[derive(Clone, Debug)]
struct Entries {
    key: Tensor,
    value: Tensor,
    start: usize,
    len: usize,
}

const NAME: &str = "KeyValueCache";

impl KeyValueCache {
    /// Nothing seen yet.
    pub const fn new() -> Self {
        Self {
            entries: None,
            capacity: 0,
            window: None,
            seen: 0,
        }
    }

    /// Nothing seen yet, with room for so many elements of the sequence, which the first `append` takes at once.
    pub const fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: None,
            capacity,
            window: None,
            seen: 0,
        }
    }

    /// Keeps no more than the next element of the sequence may see in a window of so many, itself the last of them: the
    /// last `window - 1`. Use it with [`sliding_window`](super::GroupedQueryAttentionConfig::sliding_window) of the
    /// same size.
    #[must_use]
    pub fn sliding_window(self, window: usize) -> Self {
        let window = Some(window.max(1));
        Self { window, ..self }
    }

    /// How many elements of the sequence it has seen, those that have left the window too: the position of the next.
    pub fn len(&self) -> usize {
        self.seen
    }

    /// Whether it has seen nothing.
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// How many elements of the sequence are in it: [`len`](Self::len), or fewer with a window.
    pub fn kept(&self) -> usize {
        self.entries.as_ref().map_or(0, |entries| entries.len)
    }

    /// A view of the keys, `[batch, num_kv_heads, kept, head_dim]`, if something is in it.
    pub fn key(&self) -> Option<Tensor> {
        let entries = self.entries.as_ref()?;
        entries.part(&entries.key).ok()
    }

    /// A view of the values, in the shape of the keys.
    pub fn value(&self) -> Option<Tensor> {
        let entries = self.entries.as_ref()?;
        entries.part(&entries.value).ok()
    }

    /// Puts more keys and values behind those it has, and returns all that the new elements may see: those that were
    /// in it and the new ones.
    ///
    /// # Errors
    ///
    /// Other shapes than `[batch, num_kv_heads, length, head_dim]` with the sizes of what is there already, another dtype
    /// or device, not enough memory: then it is as it was. It is empty only where a device fails as it writes into memory
    /// that nothing else holds.
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

    /// Checks what is to be appended, and returns its length.
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
            // Whatever else differs is what joining them refuses.
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
    /// More than there are; fewer, if some have left the window already.
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

    /// The sequences of the batch at these places, in this order, as a beam search goes on with some
    /// of them.
    ///
    /// # Errors
    ///
    /// Places out of range.
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
    /// What is in use of keys or values.
    fn part(&self, x: &Tensor) -> Result<Tensor> {
        match self.len == x.size(2)? {
            true => Ok(x.clone()),
            false => x.narrow(2, self.start..self.start + self.len),
        }
    }

    /// Puts keys and values behind those in use. After an error they are as they were, or one is lost and has another
    /// shape than the other.
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

/// The parts one behind the other, and zeros behind them up to the room.
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

/// Writes a part into the room: in its own memory, if nobody else holds it.
fn write(room: &mut Tensor, index: &Tensor, part: &Tensor) -> Result<()> {
    let (device, layout) = (room.device(), Layout::contiguous(room.shape().clone()));
    // The device copies what others hold, so that one handle more costs nothing.
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

/// Keys and values that are in use.
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
