//! Inputs that are read in place, without zero padding.
//!
//! If tiles skip all products with padding, the memory where the padding would be, the end of another line, is not read.

use super::taps::Reach;

/// Offsets of what a kernel reads, counted from `margin` elements before the input.
pub(super) struct InPlace {
    pub(super) margin: usize,
    /// The input position that each kernel element reads for the first output position, in the first channel.
    pub(super) starts: Vec<usize>,
    /// The lines of the output.
    pub(super) lines: Vec<usize>,
    /// The elements between channels.
    pub(super) channel_step: usize,
}

impl InPlace {
    /// `None` if a size overflows.
    pub(super) fn new(
        reaches: &[Vec<Reach>; 3],
        positions: [usize; 3],
        map: [usize; 3],
    ) -> Option<Self> {
        let ([z, y, x], [_, height, width]) = (reaches, map);
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
        let (step_z, step_y) = (z.first()?.step, y.first()?.step);
        let line = |line: usize| {
            let (z, y) = (line / positions[1] * step_z, line % positions[1] * step_y);
            (z * map[1] + y) * map[2]
        };
        Some(Self {
            margin: first.unsigned_abs(),
            starts: starts.iter().map(|start| start.abs_diff(first)).collect(),
            lines: (0..positions[0] * positions[1]).map(line).collect(),
            channel_step: map.iter().product(),
        })
    }

    /// The same with a larger margin.
    pub(super) fn with_margin(mut self, margin: usize) -> Self {
        let more = margin - self.margin;
        self.starts.iter_mut().for_each(|start| *start += more);
        Self { margin, ..self }
    }
}

/// Consecutive inputs with the elements that tiles read before and after them.
pub(super) struct Margins {
    before: usize,
    /// The number of elements that are read.
    pub(super) len: usize,
}

impl Margins {
    /// For inputs of `maps` elements after `before` others, where tiles read `len` elements in all.
    pub(super) fn new(before: usize, len: usize, maps: usize) -> Self {
        Self {
            before,
            len: len.max(before + maps),
        }
    }

    /// The elements that are read for the inputs from `start` on; `None` if that reaches beyond `all`.
    pub(super) fn find<'a, T>(&self, all: &'a [T], start: usize) -> Option<&'a [T]> {
        all.get(start.checked_sub(self.before)?..)?.get(..self.len)
    }

    /// Copies inputs to memory that has their margins too.
    pub(super) fn copy<T: Copy>(&self, maps: &[T], memory: &mut [T]) {
        memory[self.before..][..maps.len()].copy_from_slice(maps);
    }
}
