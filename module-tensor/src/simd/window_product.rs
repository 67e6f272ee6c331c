//! Products with windows that are read where they lie.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

/// The `f32` of a register of AVX-512.
pub(super) const LANES: usize = 16;

/// Products of every element of a tile, most often one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tap {
    /// Where the data has the factor of the tile's first row.
    pub(crate) offset: u32,
    /// The row of the panel.
    pub(crate) row: u32,
    /// The number of products. The next ones are [`step`](WindowProduct::step) elements on in the data, and a row on in
    /// the panel.
    pub(crate) count: u32,
    /// The rows of the tile that skip these products, because their factors would be padding.
    pub(crate) padding: Padding,
}

/// The lines and columns of a tile that lie in the padding of a map, whose elements are zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Padding {
    /// A bit for each line, the lowest for the first.
    pub(crate) lines: u32,
    /// A bit for each column at the ends of a line: the first two, and the last two.
    pub(crate) columns: u32,
}

pub(super) const ENDS: usize = 2;

/// The columns that can be skipped at each end of a line, which has at least three, in a tile of so many lines: a
/// condition for each takes time.
pub(crate) const fn padded_columns(lines: usize) -> usize {
    match lines {
        1 => ENDS,
        _ => 1,
    }
}

/// A factor of a product, whose elements lie at the offsets of taps, and the other, a panel.
///
/// The taps are repeated for each channel.
pub(crate) struct WindowProduct<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) taps: &'a [Tap],
    /// The first tap, and the number of taps.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// The elements of the data from one product of a tap to the next.
    pub(crate) step: usize,
    /// The elements of the data, and the rows of the panel, from one channel to the next.
    pub(crate) channel_steps: [usize; 2],
    /// The elements of the data before each line of the tile.
    pub(crate) lines: &'a [usize],
    pub(crate) panel: &'a [T],
    /// Whether the sums are added to what there is.
    pub(crate) add: bool,
}

/// Walks through the taps of channel after channel.
pub(super) struct Walk {
    first: usize,
    left: usize,
    offset: usize,
    row: usize,
}

impl Walk {
    #[inline(always)]
    pub(super) fn new<T>(product: &WindowProduct<'_, T>) -> Self {
        Self {
            first: product.first,
            left: product.count,
            offset: 0,
            row: 0,
        }
    }

    /// The taps of a channel, and what their offsets and rows count from; nothing after the last.
    #[inline(always)]
    pub(super) fn step<'a, T>(
        &mut self,
        product: &WindowProduct<'a, T>,
    ) -> Option<(usize, usize, &'a [Tap])> {
        let taps = product.taps.get(self.first..)?;
        let taps = &taps[..taps.len().min(self.left)];
        if taps.is_empty() {
            return None;
        }
        let at = (self.offset, self.row, taps);
        self.left -= taps.len();
        self.first = 0;
        self.offset += product.channel_steps[0];
        self.row += product.channel_steps[1];
        Some(at)
    }
}
