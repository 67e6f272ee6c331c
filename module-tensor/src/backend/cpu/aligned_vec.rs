//! Vectors that begin at a cache line.

use std::ops::{Deref, DerefMut};

use super::blocks::{allocate, give_back, reserve_block};
use super::{Element, HostData};
use crate::Result;

/// The bytes of a cache line, and of the longest vector register: an access that crosses a line takes twice the time.
pub(super) const LINE: usize = 64;

/// The size in bytes from which alignment is worth the memory that it takes.
const LONG: usize = 1 << 10;

/// A vector whose first element is at the start of a cache line, if it is long; dropped, it leaves its memory to others.
///
/// The system's allocator returns large blocks 16 bytes after the start of a line, so that every access of 64 bytes would
/// cross two.
#[derive(Default)]
pub(crate) struct AlignedVec<T: Element> {
    /// The elements, after `start` others.
    memory: Vec<T>,
    start: usize,
    origin: Origin,
}

/// Where the memory of a tensor comes from.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Origin {
    /// From the caller, whose allocator gets it back: no kernel asks for its exact size.
    #[default]
    Caller,
    /// From this backend, which keeps it for the next tensor.
    Kernel,
}

impl<T: Element> AlignedVec<T> {
    #[inline]
    pub(super) const fn new() -> Self {
        Self {
            memory: Vec::new(),
            start: 0,
            origin: Origin::Caller,
        }
    }

    /// An empty vector with room for `len` elements.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    #[inline]
    pub(super) fn with_capacity(len: usize) -> Result<Self> {
        let memory = reserve_block(with_margin::<T>(len))?;
        Ok(Self::in_block(memory, len, 0))
    }

    /// `len` elements of unspecified value; ends the program if there is no memory for them.
    #[inline]
    pub(super) fn unspecified(len: usize) -> Self {
        Self::in_block(allocate(with_margin::<T>(len)), len, len)
    }

    /// The first `filled` elements of `len` in a block with room for them and a margin.
    #[inline]
    fn in_block(mut memory: Vec<T>, len: usize, filled: usize) -> Self {
        let start = match margin::<T>(len) {
            0 => 0,
            // An interpreter may not know the address.
            margin => memory.as_ptr().align_offset(LINE).min(margin),
        };
        // Most often the block was as long before.
        memory.resize(start + filled, T::default());
        let origin = Origin::Kernel;
        Self {
            memory,
            start,
            origin,
        }
    }

    /// The memory, the index of the first element in it, and where it comes from.
    #[inline]
    pub(super) fn into_parts(mut self) -> (HostData, usize, Origin) {
        let memory = std::mem::take(&mut self.memory);
        (T::into_host(memory), self.start, self.origin)
    }

    /// The vector that [`into_parts`](Self::into_parts) took apart; `None` if the elements have another type.
    #[inline]
    pub(super) fn from_parts(memory: HostData, start: usize, origin: Origin) -> Option<Self> {
        let memory = T::from_host(memory)?;
        Some(Self {
            memory,
            start,
            origin,
        })
    }

    #[inline]
    pub(super) fn extend_from_slice(&mut self, values: &[T]) {
        self.memory.extend_from_slice(values);
    }

    #[inline]
    pub(super) fn resize(&mut self, len: usize, value: T) {
        self.memory.resize(self.start + len, value);
    }
}

/// The elements that may lie between the start of a block and that of a vector of `len`.
#[inline]
const fn margin<T>(len: usize) -> usize {
    match len.saturating_mul(size_of::<T>()) < LONG {
        true => 0,
        false => LINE / size_of::<T>(),
    }
}

#[inline]
const fn with_margin<T>(len: usize) -> usize {
    len.saturating_add(margin::<T>(len))
}

impl<T: Element> Drop for AlignedVec<T> {
    #[inline]
    fn drop(&mut self) {
        if self.origin == Origin::Kernel && self.memory.capacity() > 0 {
            give_back(T::into_host(std::mem::take(&mut self.memory)));
        }
    }
}

impl<T: Element> From<Vec<T>> for AlignedVec<T> {
    #[inline]
    fn from(memory: Vec<T>) -> Self {
        let (start, origin) = (0, Origin::Caller);
        Self {
            memory,
            start,
            origin,
        }
    }
}

impl<T: Element> Deref for AlignedVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.memory[self.start..]
    }
}

impl<T: Element> DerefMut for AlignedVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..]
    }
}

/// Memory of a kernel for intermediate results; the next kernel is given the same.
#[derive(Default)]
pub(super) struct Workspace<T: Element>(AlignedVec<T>);

impl<T: Element> Workspace<T> {
    pub(super) const fn new() -> Self {
        Self(AlignedVec::new())
    }

    /// `len` elements of it, from the start of a cache line if they are many: what they are is not specified.
    pub(super) fn of(&mut self, len: usize) -> &mut [T] {
        if self.0.len() < len {
            self.0 = AlignedVec::unspecified(len);
        }
        &mut self.0[..len]
    }
}

#[cfg(test)]
mod tests {
    use super::{AlignedVec, LINE, Workspace};

    fn address<T>(values: &[T]) -> usize {
        values.as_ptr() as usize
    }

    #[test]
    #[cfg_attr(miri, ignore = "an interpreter does not align pointers")]
    fn long_vectors_begin_at_a_cache_line() {
        for len in [256, 1000, 5000, 100_000] {
            let mut values = AlignedVec::<f32>::with_capacity(len).unwrap();
            assert_eq!(values.len(), 0);
            values.extend_from_slice(&[1.0]);
            values.extend_from_slice(&[2.0; 8]);
            values.extend_from_slice(&[3.0; 2]);
            values.resize(len, 4.0);
            assert_eq!(values.len(), len);
            assert_eq!(
                values[..12],
                [1., 2., 2., 2., 2., 2., 2., 2., 2., 3., 3., 4.]
            );
            assert_eq!(values[len - 1], 4.0);
            assert_eq!(address(&values) % LINE, 0);
            let bytes = AlignedVec::<u8>::unspecified(4 * len);
            assert_eq!((bytes.len(), address(&bytes) % LINE), (4 * len, 0));
            let mut memory = Workspace::<f64>::new();
            assert_eq!(address(memory.of(len)) % LINE, 0);
        }
        assert_eq!(AlignedVec::<f32>::unspecified(3).len(), 3);
    }

    #[test]
    fn vectors_of_callers_stay_unchanged() {
        let values = AlignedVec::from(vec![1_i64, 2, 3]);
        assert_eq!(*values, [1, 2, 3]);
        let (memory, start, origin) = values.into_parts();
        assert!(AlignedVec::<f32>::from_parts(memory.clone(), start, origin).is_none());
        let values = AlignedVec::<i64>::from_parts(memory, start, origin).unwrap();
        assert_eq!(*values, [1, 2, 3]);
    }
}
