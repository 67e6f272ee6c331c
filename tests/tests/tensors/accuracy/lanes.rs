//! The lanes of a tensor along one dimension.

/// The middle dimension of `[outer, size, inner]`, over which lanes go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) outer: usize,
    pub(super) size: usize,
    pub(super) inner: usize,
}

impl Lanes {
    pub(super) fn new([outer, size, inner]: [usize; 3]) -> Self {
        Self { outer, size, inner }
    }

    pub(super) fn shape(self) -> [usize; 3] {
        [self.outer, self.size, self.inner]
    }

    pub(super) fn count(self) -> usize {
        self.outer * self.inner
    }

    /// The places of a lane's elements.
    pub(super) fn places(self, lane: usize) -> impl Iterator<Item = usize> + Clone {
        let start = lane / self.inner * self.size * self.inner + lane % self.inner;
        (0..self.size).map(move |i| start + i * self.inner)
    }

    pub(super) fn numel(self) -> usize {
        self.outer * self.size * self.inner
    }
}
