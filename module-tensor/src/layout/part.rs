use super::sizes::DimVec;
use super::{Layout, Shape};

/// Views of parts that repeat or skip elements; callers have checked every range.
impl Layout {
    /// Every `step`-th of `length` elements of dimension `dim`, starting at `start`.
    pub(crate) fn slice(&self, dim: usize, start: usize, length: usize, step: usize) -> Self {
        let mut sizes = DimVec::from_slice(&self.shape);
        let mut strides = self.strides.clone();
        sizes[dim] = length;
        if length > 1 {
            // The second element lies inside, so that the product does not overflow.
            strides[dim] *= step;
        }
        Self {
            shape: sizes.into(),
            strides,
            offset: self.start_at(dim, start, length),
        }
    }

    /// Element `index` of dimension `dim`, without the dimension.
    pub(crate) fn select(&self, dim: usize, index: usize) -> Self {
        let other = |sizes: &[usize]| -> DimVec {
            let kept = sizes.iter().enumerate().filter(|&(d, _)| d != dim);
            kept.map(|(_, &size)| size).collect()
        };
        Self {
            shape: other(&self.shape).into(),
            strides: other(&self.strides),
            offset: self.start_at(dim, index, 1),
        }
    }

    /// `length` elements along the dimensions `a` and `b` simultaneously, starting at `start`, as a new last dimension that
    /// replaces both.
    pub(crate) fn diagonal(&self, [a, b]: [usize; 2], start: [usize; 2], length: usize) -> Self {
        let offset = self.start_at(a, start[0], length) - self.offset
            + (self.start_at(b, start[1], length) - self.offset);
        let other = |sizes: &[usize], last: usize| -> DimVec {
            let kept = sizes.iter().enumerate();
            let kept = kept.filter(|&(d, _)| d != a && d != b);
            kept.map(|(_, &size)| size).chain([last]).collect()
        };
        Self {
            shape: other(&self.shape, length).into(),
            strides: other(&self.strides, self.strides[a] + self.strides[b]),
            offset: self.offset + offset,
        }
    }

    /// `count` windows of `size` elements along `dim`, each `step` after the previous one; the elements of a window are a
    /// new last dimension.
    pub(crate) fn windows(&self, dim: usize, count: usize, size: usize, step: usize) -> Self {
        let mut windows = self.slice(dim, 0, count, step);
        let sizes: DimVec = windows.shape.iter().copied().chain([size]).collect();
        windows.shape = sizes.into();
        windows.strides.push(self.strides[dim]);
        windows
    }

    /// A layout with any strides, unless it reaches beyond a storage of `count` elements.
    pub fn within(shape: Shape, strides: &[usize], offset: usize, count: usize) -> Option<Self> {
        if strides.len() != shape.rank() {
            return None;
        }
        if shape.contains(&0) {
            return Some(Self::contiguous(shape));
        }
        let mut dims = shape.iter().zip(strides);
        let last = dims.try_fold(offset, |last, (size, stride)| {
            last.checked_add((size - 1).checked_mul(*stride)?)
        })?;
        let strides = DimVec::from_slice(strides);
        (last < count).then_some(Self {
            shape,
            strides,
            offset,
        })
    }

    /// The same view of memory that begins `offset` elements later.
    pub(crate) fn moved(&self, offset: usize) -> Self {
        Self {
            offset: self.offset + offset,
            ..self.clone()
        }
    }

    /// Whether two indices may address the same element; may return true when none do.
    pub(crate) fn overlaps(&self) -> bool {
        let mut dims: Vec<(usize, usize)> = (0..self.rank())
            .filter(|&dim| self.shape[dim] > 1)
            .map(|dim| (self.strides[dim], self.shape[dim]))
            .collect();
        dims.sort_unstable();
        let mut reach = 0;
        for (stride, size) in dims {
            if stride <= reach {
                return true;
            }
            reach += stride * (size - 1);
        }
        false
    }

    /// The offset of element `start` of dimension `dim`; without elements, the offset of the layout.
    fn start_at(&self, dim: usize, start: usize, length: usize) -> usize {
        if length == 0 {
            self.offset
        } else {
            self.offset + start * self.strides[dim]
        }
    }
}
