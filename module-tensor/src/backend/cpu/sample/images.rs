//! Images by pixels, whose channels lie side by side, instead of by channels, and the other way round.

use super::super::Element;
use super::super::aligned_vec::AlignedVec;
use super::super::float::Float;
use super::super::interleave::{MOST_CHANNELS, join_channels};
use super::super::memory::scratch;
use super::super::strided_lines::StridedLines;
use super::super::threads::{Items, parallel_for};
use super::super::transpose::{columns_of_lines, lines_of_columns};
use super::neighbors::BLOCK;
use crate::Result;

/// Images `[batch, channels, pixels]` with the channels of each pixel side by side, and zeros up to a multiple of `lanes`.
pub(super) fn pixels_of_images<T: Float>(
    planes: &[T],
    [batch, channels, inner]: [usize; 3],
    lanes: usize,
) -> Result<AlignedVec<T>> {
    let pitch = channels.next_multiple_of(lanes);
    let mut out = scratch(batch * inner * pitch)?;
    let items = Items(&mut out, pitch);
    parallel_for(batch * inner, pitch, items, &|range, out| {
        let mut start = range.start;
        for out in out.0.chunks_mut(BLOCK * pitch) {
            let mut rest = out;
            while !rest.is_empty() {
                let (n, first) = (start / inner, start % inner);
                let count = (rest.len() / pitch).min(inner - first);
                let (pixels, others) = rest.split_at_mut(count * pitch);
                let line = |c| &planes[(n * channels + c) * inner + first..][..count];
                join(channels, line, pitch, pixels);
                (rest, start) = (others, start + count);
            }
        }
        Ok(())
    })?;
    Ok(out)
}

/// Writes the lines of `count` channels, of up to [`BLOCK`] elements, as the first of `pitch` columns; the others become 0.
pub(super) fn join<'a, T: Float>(
    count: usize,
    line: impl Fn(usize) -> &'a [T],
    pitch: usize,
    out: &mut [T],
) {
    let zeros = [T::zero(); BLOCK];
    let zeros = &zeros[..out.len() / pitch];
    let line = |c| if c < count { line(c) } else { zeros };
    match pitch {
        MOST_CHANNELS => join_channels(pitch, line, out),
        _ => columns_of_lines((0..pitch).map(line), out, pitch),
    }
}

/// Writes the first columns of `pixels` to `rows`.
pub(super) fn split<T: Element>(pixels: &[T], pitch: usize, rows: &mut [&mut [T]]) -> Result<()> {
    let count = pixels.len() / pitch;
    if pitch <= MOST_CHANNELS {
        for (c, row) in rows.iter_mut().enumerate() {
            StridedLines::one(&pixels[c..], pitch, count).copy_to(row);
        }
        return Ok(());
    }
    let mut lines = scratch(rows.len() * count)?;
    lines_of_columns(pixels, pitch, &mut lines);
    for (row, line) in rows.iter_mut().zip(lines.chunks_exact(count)) {
        row.copy_from_slice(line);
    }
    Ok(())
}
