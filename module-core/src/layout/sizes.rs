use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

/// Sizes or strides; up to four lie inline, so that small tensors allocate nothing for them.
///
/// Every operation makes several, so copying one is a copy of bytes and collecting one a loop of
/// pushes, where the vector's own ways ask an iterator for hints first.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Sizes(SmallVec<[usize; 4]>);

impl Sizes {
    #[inline]
    pub(crate) fn from_slice(sizes: &[usize]) -> Self {
        Self(SmallVec::from_slice(sizes))
    }

    #[inline]
    pub(crate) fn from_elem(size: usize, count: usize) -> Self {
        std::iter::repeat_n(size, count).collect()
    }

    #[inline]
    pub(crate) fn push(&mut self, size: usize) {
        self.0.push(size);
    }

    pub(crate) fn insert(&mut self, place: usize, size: usize) {
        self.0.insert(place, size);
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        self.0.retain(|size| keep(*size));
    }
}

impl Clone for Sizes {
    #[inline]
    fn clone(&self) -> Self {
        Self::from_slice(self)
    }
}

impl Deref for Sizes {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl DerefMut for Sizes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}

impl FromIterator<usize> for Sizes {
    #[inline]
    fn from_iter<I: IntoIterator<Item = usize>>(sizes: I) -> Self {
        let mut collected = SmallVec::new();
        for size in sizes {
            collected.push(size);
        }
        Self(collected)
    }
}
