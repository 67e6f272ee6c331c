//! How much memory a file may ask for.

use std::cell::Cell;

/// What reading a file may still allocate beside the elements of its tensors: a few times the
/// length of the file, so that no crafted one is larger in memory than it looks.
pub(in crate::checkpoint) struct Budget {
    left: Cell<usize>,
}

impl Budget {
    /// More than any state dict that PyTorch wrote was seen to need: eight.
    const TIMES: usize = 12;
    /// Whatever the length.
    const FLOOR: usize = 1 << 18;

    pub(in crate::checkpoint) fn of(file: &[u8]) -> Self {
        let left = file.len().saturating_mul(Self::TIMES);
        Self {
            left: Cell::new(left.saturating_add(Self::FLOOR)),
        }
    }

    /// Takes the memory of `count` elements of a vector, of which half may lie in reserve.
    pub(super) fn elements<T>(&self, count: usize) -> Result<(), String> {
        self.bytes(count.saturating_mul(2 * size_of::<T>()))
    }

    /// Takes `count` bytes.
    pub(super) fn bytes(&self, count: usize) -> Result<(), String> {
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
