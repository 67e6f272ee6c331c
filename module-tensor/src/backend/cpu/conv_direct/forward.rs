//! The output of a direct convolution, and the gradient of its input, where the kernel's elements change sides.

use super::super::conv::ConvSizes;
use super::super::conv_planes::Planes;
use super::super::float::Float;
use super::super::gemm::DEPTH;
use super::super::memory::Workspace;
use super::super::simd::WindowProduct;
use super::super::threads::{Items, num_threads, parallel_for};
use super::super::transpose::columns_of_lines;
use super::super::window::Window;
use super::finished_lines::FinishedLines;
use super::phase::{GradientPhases, Phase};
use super::shapes::write_sums;
use crate::Result;

/// The elements of panels that are read for one tile after the other.
const CACHED: usize = 1 << 16;

/// A convolution of planes.
pub(super) struct Forward<'a> {
    planes: &'a Planes,
    /// How planes hold what is read.
    window: &'a Window,
    batch: usize,
    groups: usize,
    /// The channels of what is written, of one group, and their places.
    channels: usize,
    places: usize,
    /// How far channels are apart in the weight, and the weight's elements of a group.
    channel_step: usize,
    weight_len: usize,
    phases: Vec<Phase>,
}

impl<'a> Forward<'a> {
    pub(super) fn new(sizes: &'a ConvSizes, planes: &'a Planes) -> Result<Self> {
        let window = &sizes.window;
        Ok(Self {
            planes,
            window,
            batch: sizes.batch,
            groups: sizes.groups,
            channels: sizes.out_channels,
            places: window.places(),
            channel_step: window.rows(),
            weight_len: sizes.out_channels * window.rows(),
            phases: vec![Phase::whole(window, planes)?],
        })
    }

    /// The gradient of the input.
    pub(super) fn of_gradient(
        sizes: &ConvSizes,
        phases: &'a GradientPhases,
        planes: &'a Planes,
    ) -> Result<Self> {
        let window = &sizes.window;
        Ok(Self {
            planes,
            window: &phases.window,
            batch: sizes.batch,
            groups: sizes.groups,
            channels: window.channels,
            places: window.input.iter().product(),
            channel_step: window.kernel.iter().product(),
            weight_len: sizes.out_channels * window.rows(),
            phases: phases.phases(sizes)?,
        })
    }

    /// The panels of the weight for a phase: group after group, panel after panel.
    fn pack<'w, T: Float>(
        &self,
        phase: &Phase,
        weight: &[T],
        packed: &'w mut Workspace<T>,
    ) -> &'w [T] {
        let panels = self.channels.div_ceil(T::COLUMNS);
        let panel_len = phase.taps.len() * T::COLUMNS;
        let packed = packed.of(self.groups * panels * panel_len);
        let is_whole = phase.taps.iter().copied().eq(0..self.channel_step);
        for (i, panel) in packed.chunks_exact_mut(panel_len).enumerate() {
            let first = i % panels * T::COLUMNS;
            let count = T::COLUMNS.min(self.channels - first);
            let weight = &weight[i / panels * self.weight_len + first * self.channel_step..];
            if count < T::COLUMNS {
                panel.fill(T::zero());
            }
            if is_whole {
                let rows = weight.chunks_exact(self.channel_step).take(count);
                columns_of_lines(rows, panel, T::COLUMNS);
                continue;
            }
            for (row, &tap) in panel.chunks_exact_mut(T::COLUMNS).zip(&phase.taps) {
                let channels = weight[tap..].iter().step_by(self.channel_step);
                row.iter_mut()
                    .take(count)
                    .zip(channels)
                    .for_each(|(to, &from)| *to = from);
            }
        }
        packed
    }

    /// Overwrites `out`.
    pub(super) fn run<T: Float>(&self, input: &[T], weight: &[T], out: &mut [T]) -> Result<()> {
        let mut memory: Vec<Workspace<T>> = Vec::new();
        memory.resize_with(self.phases.len(), Workspace::new);
        let packed = self.phases.iter().zip(&mut memory);
        let packed: Vec<&[T]> = packed
            .map(|(phase, memory)| self.pack(phase, weight, memory))
            .collect();
        let blocks = self.batch * self.groups;
        // Threads share channels too, if these are whole panels.
        let panels = self.channels.div_ceil(T::COLUMNS);
        let parts = match self.channels.is_multiple_of(T::COLUMNS) {
            true if blocks < 2 * num_threads() => panels,
            _ => 1,
        };
        let len = self.channels / parts * self.places;
        let sums = self.phases.iter().map(Phase::sums).sum::<usize>();
        let ns = self.channels / parts * sums / 48;
        let beyond = self.phases.iter().map(Phase::beyond).max();
        let data_len = self.planes.len + beyond.unwrap_or(0);
        let input_len = self.window.input_len();
        parallel_for(blocks * parts, ns, Items(out, len), &|range, out| {
            let mut memory = [const { Workspace::new() }; 2];
            let [data, lines] = &mut memory;
            let data = data.of(data_len);
            data.fill(T::zero());
            let mut filled = None;
            for (item, out) in range.zip(out.0.chunks_exact_mut(len)) {
                let (block, part) = (item / parts, item % parts);
                if filled.replace(block) != Some(block) {
                    let input = &input[block * input_len..][..input_len];
                    self.planes.fill(self.window, input, data);
                }
                let first = block % self.groups * panels + part;
                for (phase, packed) in self.phases.iter().zip(&packed) {
                    let panel_len = phase.taps.len() * T::COLUMNS;
                    let count = panels / parts;
                    let packed = &packed[first * panel_len..][..count * panel_len];
                    // As many panels as stay in the cache are read for a tile, while its windows do too.
                    let together = (CACHED / panel_len).clamp(1, count);
                    let channels = out.chunks_mut(together * T::COLUMNS * self.places);
                    for (packed, out) in packed.chunks(together * panel_len).zip(channels) {
                        self.write_channels(phase, data, packed, lines, out);
                    }
                }
            }
            Ok(())
        })
    }

    /// The places of a phase in the channels of some panels, of one sample.
    fn write_channels<T: Float>(
        &self,
        phase: &Phase,
        data: &[T],
        packed: &[T],
        memory: &mut Workspace<T>,
        out: &mut [T],
    ) {
        let ([depth, height, width], [tile_lines, columns]) = (phase.size, phase.shape);
        let panel_len = phase.taps.len() * T::COLUMNS;
        let panels = packed.len() / panel_len;
        let mut lines = FinishedLines::new(phase, panels, self.places, memory);
        for slice in 0..depth {
            for row in (0..height).step_by(tile_lines) {
                let line = phase.lines[slice * height + row];
                for column in (0..width).step_by(columns) {
                    for (i, panel) in packed.chunks_exact(panel_len).enumerate() {
                        let panel = panel.chunks(DEPTH * T::COLUMNS);
                        let starts = phase.starts.chunks(DEPTH).zip(panel);
                        for (j, (offsets, panel)) in starts.enumerate() {
                            let product = WindowProduct {
                                data: &data[line + column..],
                                offsets,
                                step: phase.line_step(),
                                panel,
                                add: j > 0,
                            };
                            write_sums(phase.shape, &product, lines.sums());
                        }
                        lines.take_tile(i, column);
                    }
                }
                lines.finish(tile_lines.min(height - row), out);
            }
            lines.write(out);
            lines.start_slice(slice + 1);
        }
    }
}
