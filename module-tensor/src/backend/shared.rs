use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that storages borrow instead of copying, such as those of a memory-mapped file.
///
/// It is a handle: every storage that borrows keeps the owner alive.
///
/// # Example
///
/// ```
/// use module_tensor::backend::SharedBytes;
///
/// let bytes = SharedBytes::new(vec![1_u8, 2, 3, 4]);
/// let middle = bytes.slice(1..3).unwrap();
/// assert_eq!(middle.as_ref(), [2, 3]);
/// assert!(middle.slice(1..3).is_none());
/// ```
#[derive(Clone)]
pub struct SharedBytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl SharedBytes {
    /// All the bytes of an owner, which must always return the same ones.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let range = 0..owner.as_ref().len();
        let owner = Arc::new(owner);
        Self { owner, range }
    }

    /// A part of these bytes, counted from their start; `None` if it is out of bounds.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        self.as_ref().get(range.clone())?;
        let start = self.range.start;
        Some(Self {
            owner: Arc::clone(&self.owner),
            range: start + range.start..start + range.end,
        })
    }
}

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        let owner: &(dyn AsRef<[u8]> + Send + Sync) = &*self.owner;
        owner.as_ref().get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBytes({:?})", self.range)
    }
}
