//! Short rows that are copied together: the same piece of each, then the next one.
//!
//! A copy of a number of elements that is known takes an instruction or two, and no call.

use super::super::Element;

/// The number of elements of the longest piece.
pub(super) const PIECE: usize = 16;

/// The number of elements of the rows that are copied together, which stay in the fastest cache.
const TOGETHER: usize = 2048;

/// Copies rows of `width` elements, at least one, that consist of these stretches behind their starts.
pub(super) fn copy_together<T: Element>(
    starts: &[usize],
    stretches: &[(usize, usize)],
    width: usize,
    values: &[T],
    out: &mut [T],
) {
    let rows = (TOGETHER / width).max(1);
    for (starts, out) in starts.chunks(rows).zip(out.chunks_mut(rows * width)) {
        let mut at = 0;
        for &(from, length) in stretches {
            copy_stretch(starts, [from, at, length], width, values, out);
            at += length;
        }
    }
}

/// Copies a stretch of each row, piece by piece: where it starts in the tensor and in a row of the result, and its length.
fn copy_stretch<T: Element>(
    starts: &[usize],
    [from, at, length]: [usize; 3],
    width: usize,
    values: &[T],
    out: &mut [T],
) {
    let mut done = 0;
    while done < length {
        let mut piece = Piece {
            from: from + done,
            at: at + done,
            length: length - done,
        };
        let more = piece.length.next_power_of_two();
        // What is copied in excess is overwritten by the rest of the row or, if there is none, by the next row.
        if piece.at + more > width && piece.length < width {
            piece.length = 1 << piece.length.ilog2();
        }
        done += match piece.length {
            9.. => piece.copy::<T, PIECE>(starts, width, values, out),
            5.. => piece.copy::<T, 8>(starts, width, values, out),
            3.. => piece.copy::<T, 4>(starts, width, values, out),
            2 => piece.copy::<T, 2>(starts, width, values, out),
            _ => piece.copy::<T, 1>(starts, width, values, out),
        };
    }
}

/// Elements that lie side by side in each row of a tensor and of the result.
struct Piece {
    /// The first in the tensor, behind the start of a row, and in a row of the result.
    from: usize,
    at: usize,
    length: usize,
}

impl Piece {
    /// Copies at most `N` elements of each row, and others behind them if there are fewer; returns their number.
    #[inline(never)]
    fn copy<T: Element, const N: usize>(
        &self,
        starts: &[usize],
        width: usize,
        values: &[T],
        out: &mut [T],
    ) -> usize {
        let (values, length) = (&values[self.from..], self.length.min(N));
        let mut out = &mut out[self.at..];
        for &start in starts {
            let values = &values[start..];
            match (out.first_chunk_mut::<N>(), values.first_chunk()) {
                (Some(out), Some(values)) => *out = *values,
                _ => copy_few(out, values, length),
            }
            out = out.get_mut(width..).unwrap_or_default();
        }
        length
    }
}

/// A function, because as a part of the loop above every copy would be a call of `memcpy` with one of two lengths.
#[cold]
#[inline(never)]
fn copy_few<T: Element>(out: &mut [T], values: &[T], length: usize) {
    out[..length].copy_from_slice(&values[..length]);
}
