//! Lines of memory as columns, and columns as lines.

use super::simd::{Level, Transpose};

/// The lines that are transposed together.
const TOGETHER: usize = 16;

/// Writes lines of one length as columns of `out`, whose lines have `pitch` elements.
pub(super) fn columns_of_lines<'a, T: Transpose + 'a>(
    lines: impl IntoIterator<Item = &'a [T]>,
    out: &mut [T],
    pitch: usize,
) {
    let (mut lines, mut first) = (lines.into_iter(), 0);
    loop {
        let mut together: [&[T]; TOGETHER] = [&[]; TOGETHER];
        let mut count = 0;
        for (line, to) in lines.by_ref().take(TOGETHER).zip(&mut together) {
            *to = line;
            count += 1;
        }
        if count == 0 {
            return;
        }
        T::transpose(
            Level::highest(),
            &together[..count],
            &mut out[first..],
            pitch,
        );
        first += count;
    }
}

/// Writes the first columns of `x`, whose lines have `pitch` elements, one after the other, as many as fill `out`.
pub(super) fn lines_of_columns<T: Transpose>(x: &[T], pitch: usize, out: &mut [T]) {
    let height = x.len() / pitch;
    let count = out.len() / height;
    columns_of_lines(
        x.chunks_exact(pitch).map(|line| &line[..count]),
        out,
        height,
    );
}
