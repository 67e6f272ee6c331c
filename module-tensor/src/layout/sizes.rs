use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// The number of sizes that are stored inline.
const INLINE: usize = 4;

/// One number per dimension, such as sizes or strides. Up to four are stored inline, so that small tensors do not allocate
/// for them.
///
/// Every operation makes several. The inline array is copied as a whole, because its length is known to the compiler: a
/// copy of variable length would be a call of `memcpy`.
#[derive(Clone, Debug)]
pub(crate) enum DimVec {
    Inline { len: Len, sizes: [usize; INLINE] },
    Heap(Vec<usize>),
}

/// The number of inline sizes, as wide as they are: narrower parts of a word, and padding, would be copied one by one, and what
/// then reads the word as a whole would wait for them.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub(crate) enum Len {
    Zero,
    One,
    Two,
    Three,
    Four,
}

impl Len {
    const ALL: [Self; INLINE + 1] = [Self::Zero, Self::One, Self::Two, Self::Three, Self::Four];
}

impl DimVec {
    #[inline]
    pub(crate) fn from_slice(sizes: &[usize]) -> Self {
        sizes.iter().copied().collect()
    }

    #[inline]
    pub(crate) fn from_elem(size: usize, count: usize) -> Self {
        match Len::ALL.get(count) {
            Some(&len) => Self::Inline {
                len,
                sizes: [size; INLINE],
            },
            None => Self::Heap(vec![size; count]),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, size: usize) {
        match self {
            Self::Inline { len, sizes } => match sizes.get_mut(*len as usize) {
                Some(next) => {
                    *next = size;
                    *len = Len::ALL[*len as usize + 1];
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

    pub(crate) fn insert(&mut self, index: usize, size: usize) {
        self.push(size);
        self[index..].rotate_right(1);
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        *self = self.iter().copied().filter(|&size| keep(size)).collect();
    }
}

impl Default for DimVec {
    #[inline]
    fn default() -> Self {
        Self::from_elem(0, 0)
    }
}

impl Deref for DimVec {
    type Target = [usize];

    #[inline]
    fn deref(&self) -> &[usize] {
        match self {
            Self::Inline { len, sizes } => &sizes[..*len as usize],
            Self::Heap(sizes) => sizes,
        }
    }
}

impl DerefMut for DimVec {
    #[inline]
    fn deref_mut(&mut self) -> &mut [usize] {
        match self {
            Self::Inline { len, sizes } => &mut sizes[..*len as usize],
            Self::Heap(sizes) => sizes,
        }
    }
}

impl PartialEq for DimVec {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // So few numbers are compared before a call of `memcmp` would begin.
        self.len() == other.len() && self.iter().zip(other.iter()).all(|(a, b)| a == b)
    }
}

impl Eq for DimVec {}

impl Hash for DimVec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl FromIterator<usize> for DimVec {
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
    use super::DimVec;

    #[test]
    fn inline_and_longer_sizes_are_told_apart_by_what_they_hold_alone() {
        let mut grown = DimVec::default();
        for count in 0..8 {
            assert_eq!(*grown, (0..count).collect::<Vec<_>>());
            let mut shrunk: DimVec = (0..count + 4).collect();
            shrunk.retain(|size| size < count);
            assert_eq!(shrunk, grown);
            assert_eq!(
                DimVec::from_elem(7, count),
                DimVec::from_slice(&vec![7; count])
            );
            for index in 0..=count {
                let (mut sizes, mut model) = (grown.clone(), grown.to_vec());
                sizes.insert(index, 9);
                model.insert(index, 9);
                assert_eq!(*sizes, model);
            }
            grown.push(count);
        }
    }
}
