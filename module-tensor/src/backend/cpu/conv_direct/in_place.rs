//! Maps that are read where they lie, without zeros around them.
//!
//! Tiles leave out every product with padding if it is that of a whole line, or of the first or the last place of a tile;
//! what lies there in memory, the end of another line, is then not read.

use super::taps::Reach;

/// Where a map has what a kernel sees, from some elements before the map on.
pub(super) struct InPlace {
    /// These elements.
    pub(super) margin: usize,
    /// What the elements of the kernel see from the first place, in the first channel.
    pub(super) starts: Vec<usize>,
    /// The lines of places.
    pub(super) lines: Vec<usize>,
    /// The elements between channels.
    pub(super) channel_step: usize,
}

impl InPlace {
    /// With places that are neighbors in the map; nothing if they are not.
    pub(super) fn new(
        reaches: &[Vec<Reach>; 3],
        places: [usize; 3],
        map: [usize; 3],
    ) -> Option<Self> {
        let ([z, y, x], [_, height, width]) = (reaches, map);
        if reaches.iter().flatten().any(|reach| reach.step != 1) {
            return None;
        }
        let signed = |size: usize| isize::try_from(size).ok();
        let (height, width) = (signed(height)?, signed(width)?);
        let mut starts = Vec::with_capacity(z.len() * y.len() * x.len());
        for z in z {
            for y in y {
                let line = z.first.checked_mul(height)?.checked_add(y.first)?;
                for x in x {
                    starts.push(line.checked_mul(width)?.checked_add(x.first)?);
                }
            }
        }
        let first = starts.iter().copied().min()?.min(0);
        let line = |line: usize| (line / places[1] * map[1] + line % places[1]) * map[2];
        Some(Self {
            margin: first.unsigned_abs(),
            starts: starts.iter().map(|start| start.abs_diff(first)).collect(),
            lines: (0..places[0] * places[1]).map(line).collect(),
            channel_step: map.iter().product(),
        })
    }

    /// The same from more elements before the map on.
    pub(super) fn from_margin(mut self, margin: usize) -> Self {
        let more = margin - self.margin;
        self.starts.iter_mut().for_each(|start| *start += more);
        Self { margin, ..self }
    }
}

/// Some maps that follow each other among others, with what tiles read before and after them.
pub(super) struct Margins {
    before: usize,
    /// All elements that are read.
    pub(super) len: usize,
}

impl Margins {
    /// For `maps` elements, from `before` on, of which tiles read `len` in all.
    pub(super) fn new(before: usize, len: usize, maps: usize) -> Self {
        Self {
            before,
            len: len.max(before + maps),
        }
    }

    /// What is read for the maps from an element of `all` on; nothing if it is more than there is.
    pub(super) fn find<'a, T>(&self, all: &'a [T], start: usize) -> Option<&'a [T]> {
        all.get(start.checked_sub(self.before)?..)?.get(..self.len)
    }

    /// Copies maps to memory for all that is read.
    pub(super) fn copy<T: Copy>(&self, maps: &[T], memory: &mut [T]) {
        memory[self.before..][..maps.len()].copy_from_slice(maps);
    }
}
