//! The output of a direct convolution, and the gradient of its input, where the kernel's elements change sides.

use std::ops::Range;

use super::super::aligned_vec::Workspace;
use super::super::conv::{ConvSizes, parts_of_channels};
use super::super::conv_planes::Planes;
use super::super::float::Float;
use super::super::gemm::blocks as blocks_of;
use super::super::lanes::are_finite;
use super::super::simd::WindowProduct;
use super::super::threads::{Items, parallel_for};
use super::super::transpose::columns_of_lines;
use super::super::window::Window;
use super::finished_lines::FinishedLines;
use super::in_place::{InPlace, Margins};
use super::map::Map;
use super::phase::{GradientPhases, Phase};
use super::shapes::Shape;
use super::taps::{MOST_OF_INPUT, TapLists, TilesAlong};
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
    /// The channels of what is written, of one group, and their positions.
    channels: usize,
    positions: usize,
    /// How far channels are apart in the weight, and the weight's elements of a group.
    channel_step: usize,
    weight_len: usize,
    phases: Vec<Phase>,
}

impl<'a> Forward<'a> {
    pub(super) fn new(sizes: &'a ConvSizes, map: &'a Map, shape: Shape) -> Result<Self> {
        let window = &sizes.window;
        Ok(Self {
            planes: &map.planes,
            window,
            batch: sizes.batch,
            groups: sizes.groups,
            channels: sizes.out_channels,
            positions: window.positions(),
            channel_step: window.rows(),
            weight_len: sizes.out_channels * window.rows(),
            phases: vec![Phase::whole(sizes, map, shape)?],
        })
    }

    /// The gradient of the input.
    pub(super) fn of_gradient<T: Float>(
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
            positions: window.input.iter().product(),
            channel_step: window.kernel.iter().product(),
            weight_len: sizes.out_channels * window.rows(),
            phases: phases.phases::<T>(sizes)?,
        })
    }

    /// The panels of the weight for a phase: group after group, panel after panel.
    fn pack<'w, T: Float>(
        &self,
        phase: &Phase,
        weight: &[T],
        packed: &'w mut Workspace<T>,
    ) -> Result<&'w [T]> {
        let columns = phase.shape.channels::<T>();
        let panels = self.channels.div_ceil(columns);
        let panel_len = phase.rows() * columns;
        let packed = packed.of(self.groups * panels * panel_len);
        let items = Items(&mut *packed, panel_len);
        parallel_for(self.groups * panels, panel_len / 2, items, &|range, out| {
            for (i, panel) in range.zip(out.0.chunks_exact_mut(panel_len)) {
                self.pack_panel(phase, [i / panels, i % panels * columns], weight, panel);
            }
            Ok(())
        })?;
        Ok(packed)
    }

    /// The weight of the channels of a group from the `first` on.
    fn pack_panel<T: Float>(
        &self,
        phase: &Phase,
        [group, first]: [usize; 2],
        weight: &[T],
        panel: &mut [T],
    ) {
        let columns = phase.shape.channels::<T>();
        let is_whole =
            phase.rows() == self.channel_step && phase.channel_steps[1] == phase.elements.len();
        let count = columns.min(self.channels - first);
        let weight = &weight[group * self.weight_len + first * self.channel_step..];
        if count < columns {
            panel.fill(T::zero());
        }
        if is_whole {
            let rows = weight.chunks_exact(self.channel_step).take(count);
            columns_of_lines(rows, panel, columns);
            return;
        }
        let summed = (0..phase.channels).map(|channel| channel * phase.channel_steps[1]);
        let elements = summed.flat_map(|from| phase.elements.iter().map(move |at| from + at));
        for (row, element) in panel.chunks_exact_mut(columns).zip(elements) {
            let channels = weight[element..].iter().step_by(self.channel_step);
            row.iter_mut()
                .take(count)
                .zip(channels)
                .for_each(|(to, &from)| *to = from);
        }
    }

    /// The products of the tiles of each phase, and how samples are read if that is where they lie.
    fn taps(&mut self, is_finite: bool) -> Result<(Vec<TapLists>, Option<Margins>)> {
        let tiles = |skip: bool| self.phases.iter().map(move |phase| phase.tiles(skip));
        let mut all: Vec<[TilesAlong; 3]> = tiles(is_finite).collect();
        let skips_all = all.iter().flatten().all(|along| along.skips_all);
        let in_place = self
            .phases
            .iter()
            .map(|phase| phase.in_place(self.window.input));
        let in_place: Option<Vec<InPlace>> = in_place.collect();
        let mut margins = None;
        if let Some(in_place) = in_place.filter(|_| skips_all) {
            let before = in_place
                .iter()
                .map(|in_place| in_place.margin)
                .max()
                .unwrap_or(0);
            let phases = std::mem::take(&mut self.phases).into_iter().zip(in_place);
            self.phases = phases
                .map(|(phase, in_place)| phase.read_in_place(in_place.with_margin(before)))
                .collect::<Result<_>>()?;
            let len = self.phases.iter().map(Phase::reach).max().unwrap_or(0);
            margins = Some(Margins::new(before, len, self.window.input_len()));
        } else if self
            .phases
            .iter()
            .all(|phase| phase.share_of_input() > MOST_OF_INPUT)
        {
            all = tiles(false).collect();
        }
        let taps = self
            .phases
            .iter()
            .zip(all)
            .map(|(phase, tiles)| phase.taps(tiles));
        Ok((taps.collect(), margins))
    }

    /// Overwrites `out`.
    pub(super) fn run<T: Float>(mut self, input: &[T], weight: &[T], out: &mut [T]) -> Result<()> {
        let (taps, margins) = self.taps(are_finite(weight))?;
        let mut memory: Vec<Workspace<T>> = Vec::new();
        memory.resize_with(self.phases.len(), Workspace::new);
        let packed = self.phases.iter().zip(&mut memory);
        let packed: Vec<&[T]> = packed
            .map(|(phase, memory)| self.pack(phase, weight, memory))
            .collect::<Result<_>>()?;
        let blocks = self.batch * self.groups;
        let shared = self.phases.iter().map(|phase| phase.shape.channels::<T>());
        let shared = shared.max().unwrap_or(1);
        let parts = parts_of_channels(self.channels, shared, blocks);
        let len = self.channels / parts * self.positions;
        let sums = self.phases.iter().map(Phase::sums).sum::<usize>();
        let ns = self.channels / parts * sums / 48;
        let beyond = self.phases.iter().map(Phase::beyond).max();
        let beside = self.phases_beside();
        let data_len = match &margins {
            Some(margins) => margins.len,
            None => self.planes.len + beyond.unwrap_or(0),
        };
        let input_len = self.window.input_len();
        parallel_for(blocks * parts, ns, Items(out, len), &|range, out| {
            let mut memory = [const { Workspace::new() }; 2];
            let [planes, lines] = &mut memory;
            let planes = planes.of(data_len);
            if margins.is_none() {
                planes.fill(T::zero());
            }
            let mut filled = None;
            for (item, out) in range.zip(out.0.chunks_exact_mut(len)) {
                let (block, part) = (item / parts, item % parts);
                let start = block * input_len;
                let data = match margins
                    .as_ref()
                    .and_then(|margins| margins.find(input, start))
                {
                    Some(data) => data,
                    None => {
                        if filled.replace(block) != Some(block) {
                            let input = &input[start..][..input_len];
                            match &margins {
                                Some(margins) => margins.copy(input, planes),
                                None => self.planes.fill(input, planes),
                            }
                        }
                        &*planes
                    }
                };
                for beside in &beside {
                    let (phases, taps) = (&self.phases[beside.clone()], &taps[beside.clone()]);
                    let columns = phases[0].shape.channels::<T>();
                    let count = self.channels.div_ceil(columns) / parts;
                    let first = (block % self.groups * parts + part) * count;
                    // As many panels as stay in the cache are read for a tile, while its windows do too.
                    let rows = phases.iter().map(Phase::rows).max().unwrap_or(1);
                    let together = (CACHED / (rows * columns)).clamp(1, count);
                    let channels = out.chunks_mut(together * columns * self.positions);
                    for (panels, out) in blocks_of(first..first + count, together).zip(channels) {
                        let part = |i: usize| PhasePart {
                            phase: &phases[i],
                            taps: &taps[i],
                            packed: packed_panels(&phases[i], packed[beside.start + i], &panels),
                        };
                        let beside: Vec<PhasePart<'_, T>> = (0..phases.len()).map(part).collect();
                        self.write_channels(&beside, data, lines, out);
                    }
                }
            }
            Ok(())
        })
    }

    /// The phases, of which two are written together if their positions fill lines.
    fn phases_beside(&self) -> Vec<Range<usize>> {
        let (mut beside, mut first) = (Vec::new(), 0);
        while let Some(phase) = self.phases.get(first) {
            let next = self.phases.get(first + 1);
            let end = first + 1 + usize::from(next.is_some_and(|next| phase.is_beside(next)));
            beside.push(first..end);
            first = end;
        }
        beside
    }

    /// The positions of phases beside each other in the channels of some panels, of one sample.
    fn write_channels<T: Float>(
        &self,
        beside: &[PhasePart<'_, T>],
        data: &[T],
        memory: &mut Workspace<T>,
        out: &mut [T],
    ) {
        let first = beside[0].phase;
        let ([depth, height, width], shape) = (first.size, first.shape);
        let lines_of_tile: Vec<usize> = first.lines_of_tile().collect();
        let channels = out.len() / self.positions;
        let mut lines = FinishedLines::new(first, [beside.len(), channels], self.positions, memory);
        let panels = channels.div_ceil(shape.channels::<T>());
        for slice in 0..depth {
            for row in 0..height.div_ceil(shape.lines) {
                for column in 0..width.div_ceil(shape.columns) {
                    for panel in 0..panels {
                        for (part, sums) in beside.iter().zip(lines.sums()) {
                            let tile = [slice, row, column];
                            part.sum_tile(tile, panel, data, &lines_of_tile, sums);
                        }
                        lines.take_tile(panel, column * shape.columns);
                    }
                }
                lines.finish(shape.lines.min(height - row * shape.lines), out);
            }
            lines.write(out);
            lines.start_slice(slice + 1);
        }
    }
}

/// A phase in the channels of some panels.
struct PhasePart<'a, T> {
    phase: &'a Phase,
    taps: &'a TapLists,
    packed: &'a [T],
}

impl<T: Float> PhasePart<'_, T> {
    /// One of the tiles of a slice, by its row and its column, in the channels of a panel.
    fn sum_tile(
        &self,
        [slice, row, column]: [usize; 3],
        panel: usize,
        data: &[T],
        lines_of_tile: &[usize],
        sums: &mut [T],
    ) {
        let Self {
            phase,
            taps,
            packed,
        } = *self;
        let ([_, height, _], shape) = (phase.size, phase.shape);
        let (rows, columns) = (phase.elements.len(), shape.channels::<T>());
        let line = phase.lines[slice * height + row * shape.lines];
        let first = line + column * shape.columns * shape.step;
        let list = taps.of_tile([slice, row, column]);
        let panel = &packed[panel * phase.rows() * columns..];
        for (j, part) in list.parts.iter().enumerate() {
            let from = part.channel * phase.channel_steps[0] + first;
            let product = WindowProduct {
                data: &data[from..],
                taps: &list.taps,
                first: part.first,
                count: part.count,
                step: 0,
                channel_steps: [phase.channel_steps[0], rows],
                lines: lines_of_tile,
                panel: &panel[part.channel * rows * columns..],
                add: j > 0,
            };
            shape.write_sums(&product, sums);
        }
    }
}

/// The packed weight of some panels.
fn packed_panels<'a, T: Float>(phase: &Phase, packed: &'a [T], panels: &Range<usize>) -> &'a [T] {
    let len = phase.rows() * phase.shape.channels::<T>();
    &packed[panels.start * len..panels.end * len]
}
