//! The transformed inputs of a block of tiles, which the output and the gradient of the weight need.

use super::super::aligned_vec::Workspace;
use super::super::float::Float;
use super::super::simd::run_at_best_level;
use super::super::threads::{Items, parallel_for};
use super::tiles::{Block, Padded, Tiles};
use super::transforms::{HALO, IN, OUT, PLACES, TransformInput};
use crate::Result;

/// Writes `[channels, positions, tiles]`.
pub(super) fn transform_inputs<T: Float>(
    tiles: &Tiles<'_>,
    group: usize,
    block: &Block,
    input: &[T],
    out: &mut [T],
) -> Result<()> {
    let (window, groups, count) = (&tiles.sizes.window, tiles.sizes.groups, block.tiles);
    let ([_, height, width], [_, top, left]) = (window.input, window.padding);
    let items = Items(out, PLACES * count);
    let work = PLACES * count / 4;
    parallel_for(window.channels, work, items, &|channels, mut items| {
        let mut memory = Workspace::new();
        let memory = memory.of(IN * (OUT + HALO) * count);
        let (lines, halo) = memory.split_at_mut(IN * OUT * count);
        for (i, channel) in channels.enumerate() {
            let plane = |sample: usize| {
                let plane = (sample * groups + group) * window.channels + channel;
                let data = &input[plane * height * width..][..height * width];
                Padded::new(data, width, [top, left])
            };
            tiles.fill_lines(block, plane, lines);
            tiles.fill_halo(block, plane, lines, halo);
            run_at_best_level(TransformInput {
                lines,
                halo,
                tiles: count,
                out: items.at(i),
            });
        }
        Ok(())
    })
}
