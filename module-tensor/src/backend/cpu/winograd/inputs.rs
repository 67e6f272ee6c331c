//! The transformed inputs of a block of tiles, which the output and the gradient of the weight need.

use std::ops::Range;

use super::super::aligned_vec::Workspace;
use super::super::float::Float;
use super::super::gemm::{DEPTH, Factor, Lines, Matrix, blocks, panel_width};
use super::super::joined_runs::next;
use super::super::simd::{Level, Loop, run_at_best_level};
use super::super::threads::{SplitRows, parallel_for};
use super::tiles::{Block, Padded, Tiles};
use super::transforms::{HALO, IN, LANES, OUT, PLACES, combine_columns};
use crate::Result;
use crate::zip::zip;

/// The elements between positions. Powers of two apart, all positions would be at the same addresses of a cache.
const BETWEEN: usize = 2 * LANES;

/// How the transformed inputs of a block lie: `[parts of channels, positions, panels, channels, tiles of a panel]`.
#[derive(Clone, Copy)]
pub(super) struct InputLayout {
    channels: usize,
    tiles: usize,
    /// The channels of a part.
    depth: usize,
    /// The tiles of a panel.
    width: usize,
}

impl InputLayout {
    /// As products read their right factor.
    pub(super) fn panels<T: Float>(channels: usize, tiles: usize) -> Self {
        Self {
            channels,
            tiles,
            depth: DEPTH,
            width: panel_width::<T>(tiles),
        }
    }

    /// As one matrix `[channels, tiles]` for each position.
    pub(super) fn matrices(channels: usize, tiles: usize) -> Self {
        Self {
            channels,
            tiles,
            depth: channels,
            width: tiles,
        }
    }

    /// One position of the values that lie in this way.
    pub(super) fn at<T>(self, values: &[T], position: usize) -> Inputs<'_, T> {
        Inputs {
            layout: self,
            values,
            position,
        }
    }

    pub(super) fn len(&self) -> usize {
        let parts = blocks(0..self.channels, self.depth);
        parts.map(|part| self.len_of_part(part.len())).sum()
    }

    /// The elements of a part of so many channels.
    fn len_of_part(&self, channels: usize) -> usize {
        PLACES * (self.len_of_position(channels) + BETWEEN)
    }

    /// The elements of one position in it.
    fn len_of_position(&self, channels: usize) -> usize {
        channels * self.tiles.next_multiple_of(self.width)
    }
}

/// The transformed inputs of one position, a matrix `[channels, tiles]` that lies in panels.
pub(super) struct Inputs<'a, T> {
    layout: InputLayout,
    values: &'a [T],
    position: usize,
}

impl<'a, T: Float> Inputs<'a, T> {
    /// The matrix of a [layout of matrices](InputLayout::matrices).
    pub(super) fn matrix(&self) -> Matrix<'a, T> {
        let channels = self.layout.channels;
        Matrix::new(self.panels_of(0..channels), channels)
    }

    /// The panels of some channels of one part.
    fn panels_of(&self, channels: Range<usize>) -> &'a [T] {
        let parts_before = channels.start / self.layout.depth;
        let first = parts_before * self.layout.len_of_part(self.layout.depth);
        let len = self.layout.len_of_position(channels.len());
        &self.values[first + self.position * (len + BETWEEN)..][..len]
    }
}

impl<T: Float> Factor<T> for Inputs<'_, T> {
    fn rows(&self) -> usize {
        self.layout.channels
    }

    fn columns(&self) -> usize {
        self.layout.tiles
    }

    fn lines<'a>(
        &'a self,
        _: Level,
        [channels, tiles]: [Range<usize>; 2],
        copy: &'a mut Workspace<T>,
    ) -> Lines<'a, T> {
        let (width, panels) = (self.layout.width, self.panels_of(channels.clone()));
        let copy = copy.of(channels.len() * tiles.len());
        for (channel, line) in copy.chunks_exact_mut(tiles.len()).enumerate() {
            for (out, tile) in line.iter_mut().zip(tiles.clone()) {
                let panel = tile / width * channels.len();
                *out = panels[(panel + channel) * width + tile % width];
            }
        }
        Lines::new(copy, tiles.len())
    }

    fn panels<'a>(
        &'a self,
        _: Level,
        [channels, tiles]: [Range<usize>; 2],
        width: usize,
        _: &'a mut Workspace<T>,
    ) -> &'a [T] {
        let depth = channels.len();
        let len = tiles.len().next_multiple_of(width) * depth;
        &self.panels_of(channels)[tiles.start * depth..][..len]
    }
}

/// Writes the transformed inputs of a block.
pub(super) fn transform_inputs<T: Float>(
    tiles: &Tiles<'_>,
    group: usize,
    block: &Block,
    input: &[T],
    layout: InputLayout,
    mut out: &mut [T],
) -> Result<()> {
    let (window, groups, count) = (&tiles.sizes.window, tiles.sizes.groups, block.tiles);
    let ([_, height, width], [_, top, left]) = (window.input, window.padding);
    for part in blocks(0..window.channels, layout.depth) {
        let len = layout.len_of_position(part.len());
        let positions = next(&mut out, layout.len_of_part(part.len()));
        let panels = positions
            .chunks_exact_mut(len + BETWEEN)
            .flat_map(|position| position[..len].chunks_exact_mut(part.len() * layout.width));
        let panels = SplitRows {
            rows: panels.collect(),
            items: layout.width,
            between_rows: false,
        };
        let work = PLACES * count / 4;
        parallel_for(part.len(), work, panels, &|channels, mut panels| {
            let mut memory = Workspace::new();
            let memory = memory.of(IN * (OUT + HALO) * count + width);
            let (lines, rest) = memory.split_at_mut(IN * OUT * count);
            let (halo, zeros) = rest.split_at_mut(IN * HALO * count);
            zeros.fill(T::zero());
            for (i, channel) in channels.enumerate() {
                let channel = part.start + channel;
                run_at_best_level(TransformChannel {
                    tiles,
                    block,
                    plane: |sample: usize| {
                        let plane = (sample * groups + group) * window.channels + channel;
                        let data = &input[plane * height * width..][..height * width];
                        Padded::new(data, width, [top, left])
                    },
                    zeros,
                    lines,
                    halo,
                    panels: &mut panels.rows,
                    width: layout.width,
                    start: i * layout.width,
                });
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// `Bᵀ d B` of the tiles of a channel.
struct TransformChannel<'a, 'b, T, F> {
    tiles: &'a Tiles<'a>,
    block: &'a Block,
    plane: F,
    /// A line of zeros, in place of those around a plane.
    zeros: &'a [T],
    /// Memory for six lines: four columns for each tile, and the two columns that each reads beyond.
    lines: &'a mut [T],
    halo: &'a mut [T],
    /// The panels of all positions, of so many tiles, and where the channel starts in each.
    panels: &'a mut [&'b mut [T]],
    width: usize,
    start: usize,
}

impl<'a, T: Float, F: Fn(usize) -> Padded<'a, T>> Loop for TransformChannel<'a, '_, T, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let tiles = self.block.tiles;
        let (zeros, plane) = (self.zeros, &self.plane);
        self.tiles
            .fill_combined(self.block, plane, zeros, self.lines, self.halo);
        let lines = self.lines.chunks_exact(tiles * OUT);
        let halo = self.halo.chunks_exact(tiles * HALO);
        let of_line = self.panels.len() / IN;
        let of_position = of_line / IN;
        let panels_at_a_time = LANES.div_ceil(self.width);
        let panels = self.panels.chunks_exact_mut(of_line);
        for ((line, halo), panels) in lines.zip(halo).zip(panels) {
            let tiles = line.as_chunks::<OUT>().0.as_chunks::<LANES>().0;
            let halo = halo.as_chunks::<HALO>().0.as_chunks::<LANES>().0;
            let (mut panel, mut lane) = (0, 0);
            for (tiles, halo) in zip(tiles, halo) {
                for (x, values) in combine_columns(tiles, halo).iter().enumerate() {
                    let panels = &mut panels[x * of_position + panel..];
                    write_lanes(values, panels, self.start + lane, self.width);
                }
                lane += LANES;
                if lane >= self.width {
                    (panel, lane) = (panel + panels_at_a_time, 0);
                }
            }
        }
    }
}

/// Writes neighboring tiles to one panel, or to several that are narrower.
#[inline(always)]
#[allow(clippy::inline_always)]
fn write_lanes<T: Float>(values: &[T; LANES], panels: &mut [&mut [T]], start: usize, width: usize) {
    if width >= LANES {
        panels[0][start..][..LANES].copy_from_slice(values);
        return;
    }
    for (panel, values) in panels.iter_mut().zip(values.chunks_exact(width)) {
        panel[start..][..width].copy_from_slice(values);
    }
}
