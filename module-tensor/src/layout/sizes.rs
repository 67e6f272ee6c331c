use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// How many sizes lie inline.
const INLINE: usize = 4;

/// Sizes or strides; up to four lie inline, so that small tensors allocate nothing for them.
///
/// Every operation makes several. Those that lie inline are copied as a whole, whose length the
/// compiler knows: a copy of as many bytes as there are sizes is a call.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    Inline { len: u8, sizes: [usize; INLINE] },
    Heap(Vec<usize>),
}

impl Sizes {
    #[inline]
    pub(crate) fn from_slice(sizes: &[usize]) -> Self {
        sizes.iter().copied().collect()
    }

    #[inline]
    pub(crate) fn from_elem(size: usize, count: usize) -> Self {
        if count <= INLINE {
            // At most four.
            let (len, sizes) = (count as u8, [size; INLINE]);
            return Self::Inline { len, sizes };
        }
        Self::Heap(vec![size; count])
    }

    #[inline]
    pub(crate) fn push(&mut self, size: usize) {
        match self {
            Self::Inline { len, sizes } => match sizes.get_mut(usize::from(*len)) {
                Some(next) => {
                    *next = size;
                    *len += 1;
                }
                None => {
                    let mut all = sizes.to_vec();
                    all.push(size);
                    *self = Self::Heap(all);
                }
            },
            Self::Heap(sizes) => sizes.push(size),
        }
    }

    pub(crate) fn insert(&mut self, place: usize, size: usize) {
        self.push(size);
        self[place..].rotate_right(1);
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        *self = self.iter().copied().filter(|&size| keep(size)).collect();
    }
}

impl Default for Sizes {
    #[inline]
    fn default() -> Self {
        Self::from_elem(0, 0)
    }
}

impl Deref for Sizes {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        match self {
            Self::Inline { len, sizes } => &sizes[..usize::from(*len).min(INLINE)],
            Self::Heap(sizes) => sizes,
        }
    }
}

impl DerefMut for Sizes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [usize] {
        match self {
            Self::Inline { len, sizes } => &mut sizes[..usize::from(*len).min(INLINE)],
            Self::Heap(sizes) => sizes,
        }
    }
}

impl PartialEq for Sizes {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Sizes {}

impl Hash for Sizes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl FromIterator<usize> for Sizes {
    #[inline]
    fn from_iter<I: IntoIterator<Item = usize>>(sizes: I) -> Self {
        let mut collected = Self::default();
        for size in sizes {
            collected.push(size);
        }
        collected
    }
}

#[cfg(test)]
mod tests {
    use super::Sizes;

    #[test]
    fn inline_and_longer_sizes_are_told_apart_by_what_they_hold_alone() {
        let mut grown = Sizes::default();
        for count in 0..8 {
            assert_eq!(*grown, (0..count).collect::<Vec<_>>());
            let mut shrunk: Sizes = (0..count + 4).collect();
            shrunk.retain(|size| size < count);
            assert_eq!(shrunk, grown);
            assert_eq!(
                Sizes::from_elem(7, count),
                Sizes::from_slice(&vec![7; count])
            );
            for place in 0..=count {
                let (mut sizes, mut model) = (grown.clone(), grown.to_vec());
                sizes.insert(place, 9);
                model.insert(place, 9);
                assert_eq!(*sizes, model);
            }
            grown.push(count);
        }
    }
}
