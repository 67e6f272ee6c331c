//! The limit on the memory that a file may request.

use std::cell::Cell;

/// The bytes that reading a file may still allocate in addition to the elements of its tensors: a few times the length
/// of the file, so that a crafted file cannot use far more memory than its size.
pub(in crate::checkpoint) struct Budget {
    left: Cell<usize>,
    /// The length of the file.
    file: usize,
}

impl Budget {
    /// Twice what PyTorch's files need that hold only tensors of one element.
    const TIMES: usize = 12;
    /// Allowed for any length.
    const FLOOR: usize = 1 << 18;

    pub(in crate::checkpoint) fn of(file: &[u8]) -> Self {
        let left = file.len().saturating_mul(Self::TIMES);
        Self {
            left: Cell::new(left.saturating_add(Self::FLOOR)),
            file: file.len(),
        }
    }

    /// How many bytes the elements of all views may have together, as long as nothing is copied.
    pub(super) fn views(&self) -> usize {
        const TIMES: usize = 8;
        self.file.saturating_mul(TIMES).saturating_add(Self::FLOOR)
    }

    /// Makes room in a vector for `more` elements, and for a quarter of its current length.
    pub(super) fn reserve<T>(&self, all: &mut Vec<T>, more: usize) -> Result<(), String> {
        if all.capacity() - all.len() < more {
            let more = more.max(all.len() / 4);
            self.bytes(more.saturating_mul(size_of::<T>()))?;
            all.reserve_exact(more);
        }
        Ok(())
    }

    /// Takes `count` bytes.
    pub(in crate::checkpoint) fn bytes(&self, count: usize) -> Result<(), String> {
        match self.left.get().checked_sub(count) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(format!(
                "its objects would fill more than {} times the file: it is crafted to exhaust memory",
                Self::TIMES
            )),
        }
    }
}
