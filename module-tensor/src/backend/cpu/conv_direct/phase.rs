//! Positions of an output that are reached by the same elements of the kernel.

use super::super::conv::ConvSizes;
use super::super::float::Float;
use super::super::window::Window;
use super::in_place::InPlace;
use super::map::Map;
use super::shapes::Shape;
use super::taps::{Reach, TapLists, TilesAlong, offsets, share_of_input, tiles_of};
use crate::Result;

/// A grid of positions of the output. A convolution has one with all of them; the gradient of its input has one for each
/// remainder of a position by the stride.
pub(super) struct Phase {
    /// The range that each kernel element reads, along each dimension.
    reaches: [Vec<Reach>; 3],
    /// The offset of what each kernel element reads for the first output position, in the first of the channels that are
    /// summed.
    starts: Vec<u32>,
    /// The offset of each kernel element in the weight.
    pub(super) elements: Vec<usize>,
    /// The number of channels that are summed, and the distances between them in the input and in the weight.
    pub(super) channels: usize,
    pub(super) channel_steps: [usize; 2],
    /// Where the planes have each line of the grid, from the first position on.
    pub(super) lines: Vec<usize>,
    pub(super) size: [usize; 3],
    /// The first position of the grid in a channel of the output, and the steps to the next.
    pub(super) first: usize,
    pub(super) steps: [usize; 3],
    pub(super) shape: Shape,
}

impl Phase {
    /// All positions.
    pub(super) fn whole(sizes: &ConvSizes, map: &Map, shape: Shape) -> Result<Self> {
        let window = &sizes.window;
        let [_, height, width] = window.output;
        let kernel = window.kernel.iter().product();
        Ok(Self {
            reaches: Reach::all(window),
            starts: offsets(map.planes.starts[..kernel].iter().copied())?,
            elements: (0..kernel).collect(),
            channels: window.channels,
            channel_steps: [map.channel_step(kernel), kernel],
            lines: map.lines.clone(),
            size: window.output,
            first: 0,
            steps: [height * width, width, 1],
            shape,
        })
    }

    /// The products of each position.
    pub(super) fn rows(&self) -> usize {
        self.channels * self.elements.len()
    }

    /// The products of one channel.
    pub(super) fn sums(&self) -> usize {
        self.rows() * self.lines.len() * self.size[2]
    }

    /// Its tiles, with products with padding or without.
    pub(super) fn tiles(&self, skip: bool) -> [TilesAlong; 3] {
        tiles_of(&self.reaches, self.size, self.shape, skip)
    }

    /// The share of products that are not with padding.
    pub(super) fn share_of_input(&self) -> f64 {
        share_of_input(&self.reaches, self.size)
    }

    /// The products of its tiles.
    pub(super) fn taps(&self, tiles: [TilesAlong; 3]) -> TapLists {
        TapLists::new(tiles, &self.starts, self.channels)
    }

    /// How it reads a map where it lies, if its positions are as far apart there as the columns of tiles.
    pub(super) fn in_place(&self, map: [usize; 3]) -> Option<InPlace> {
        if self.reaches[2]
            .iter()
            .any(|reach| reach.step != self.shape.step)
        {
            return None;
        }
        InPlace::new(&self.reaches, self.size, map)
    }

    /// Reads a map where it lies.
    pub(super) fn read_in_place(self, in_place: InPlace) -> Result<Self> {
        Ok(Self {
            starts: offsets(in_place.starts)?,
            lines: in_place.lines,
            channel_steps: [in_place.channel_step, self.channel_steps[1]],
            ..self
        })
    }

    /// The elements that it reads, with those that its tiles read beyond their own positions.
    pub(super) fn reach(&self) -> usize {
        let start = self.starts.iter().copied().max().unwrap_or(0) as usize;
        let line = self.lines.iter().copied().max().unwrap_or(0);
        let channels = (self.channels - 1) * self.channel_steps[0];
        channels + start + line + self.size[2] * self.shape.step + self.beyond()
    }

    /// Whether another has the positions to the right of its own, so that both fill lines of the output.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        let own = (self.steps[2], self.first + 1, self.size, self.shape);
        own == (2, other.first, other.size, other.shape)
    }

    /// The elements that tiles read beyond the planes.
    pub(super) fn beyond(&self) -> usize {
        let last = self.lines_of_tile().last().unwrap_or(0);
        last + self.shape.columns * self.shape.step
    }

    /// Where planes have each line of a tile, from the first on.
    pub(super) fn lines_of_tile(&self) -> impl Iterator<Item = usize> {
        let step = match self.lines[..] {
            [first, second, ..] => second - first,
            _ => 0,
        };
        (0..self.shape.lines).map(move |line| line * step)
    }
}

/// The most phases.
const MOST: usize = 64;

/// The positions of one dimension of the input with the same remainder by the stride.
struct Remainder {
    /// The first position, and the number of positions.
    first: usize,
    count: usize,
    /// Each element of the kernel that reaches them, and the position of the output at which it reaches the first; that
    /// may lie before the output.
    taps: Vec<(usize, isize)>,
}

impl Remainder {
    /// All of one dimension; nothing if a size overflows.
    fn all(window: &Window, d: usize) -> Option<Vec<Self>> {
        let (stride, padding) = (window.stride[d], window.padding[d]);
        let positions = window.input[d].min(stride);
        let _ = positions.checked_add(padding)?;
        // The position `i` is reached from position `quotient - t` of the output, where `i + padding = stride · quotient +
        // remainder`, by the elements of the kernel that are `stride · t + remainder` from its first.
        let remainder = |first: usize| Self {
            first,
            count: (window.input[d] - first).div_ceil(stride),
            taps: Vec::new(),
        };
        let mut all: Vec<Self> = (0..positions).map(remainder).collect();
        for tap in 0..window.kernel[d] {
            let reach = tap * window.dilation[d];
            let (after, before) = (reach % stride, padding % stride);
            let first = after
                .checked_sub(before)
                .unwrap_or_else(|| stride - (before - after));
            if let Some(reached) = all.get_mut(first) {
                let quotient = (first + padding) / stride;
                let from = quotient as isize - (reach / stride) as isize;
                reached.taps.push((tap, from));
            }
        }
        Some(all)
    }

    /// The positions in the gradient of the output that the elements of the kernel read.
    fn reaches(&self, window: &Window, d: usize) -> Vec<Reach> {
        let reach = |&(_, first): &(usize, isize)| Reach {
            first,
            step: 1,
            end: window.input[d],
        };
        self.taps.iter().map(reach).collect()
    }
}

/// The phases of the gradient of an input by that of the output, and how planes hold the latter.
pub(super) struct GradientPhases {
    /// Over the gradient of the output, for one element.
    pub(super) window: Window,
    /// For each dimension.
    remainders: [Vec<Remainder>; 3],
}

impl GradientPhases {
    /// Nothing if there are positions that no element of the kernel reaches, or many phases of few products.
    pub(super) fn new(sizes: &ConvSizes) -> Option<Self> {
        let window = &sizes.window;
        let phases = (0..3).map(|d| window.input[d].min(window.stride[d]));
        if phases.fold(1, usize::saturating_mul) > MOST {
            return None;
        }
        let [depth, height, width] = [0, 1, 2].map(|d| Remainder::all(window, d));
        let remainders = [depth?, height?, width?];
        let (mut padding, mut size) = ([0; 3], [0; 3]);
        for (d, remainders) in remainders.iter().enumerate() {
            let taps = remainders.iter().flat_map(|remainder| &remainder.taps);
            let least = taps.map(|&(_, from)| from).min()?;
            padding[d] = usize::try_from(-least.min(0)).ok()?;
            for remainder in remainders {
                let last = remainder.taps.iter().map(|&(_, from)| from).max()?;
                let end = last.checked_add_unsigned(remainder.count + padding[d])?;
                size[d] = size[d].max(usize::try_from(end).ok()?);
            }
        }
        let window = Window {
            channels: sizes.out_channels,
            input: window.output,
            output: size,
            kernel: [1; 3],
            stride: [1; 3],
            padding,
            dilation: [1; 3],
        };
        Some(Self { window, remainders })
    }

    /// The size and the number of sums of each phase.
    pub(super) fn sizes(&self) -> impl Iterator<Item = [usize; 3]> {
        let [depth, height, width] = &self.remainders;
        let slices = depth
            .iter()
            .flat_map(move |z| height.iter().map(move |y| (z, y)));
        slices.flat_map(move |(z, y)| width.iter().map(move |x| [z.count, y.count, x.count]))
    }

    /// The phases of an input of `sizes`.
    pub(super) fn phases<T: Float>(&self, sizes: &ConvSizes) -> Result<Vec<Phase>> {
        let [depth, height, width] = &self.remainders;
        let mut phases = Vec::new();
        for z in depth {
            for y in height {
                for x in width {
                    phases.push(self.phase::<T>(sizes, [z, y, x])?);
                }
            }
        }
        Ok(phases)
    }

    fn phase<T: Float>(&self, sizes: &ConvSizes, [z, y, x]: [&Remainder; 3]) -> Result<Phase> {
        let [_, high, wide] = self.window.output;
        let [before_z, before_y, before_x] = self.window.padding;
        let [_, input_height, input_width] = sizes.window.input;
        let [_, kernel_height, kernel_width] = sizes.window.kernel;
        let kernel: usize = sizes.window.kernel.iter().product();
        let plane: usize = self.window.output.iter().product();
        let position = |from: isize, padding: usize| from.saturating_add_unsigned(padding) as usize;
        let (mut starts, mut elements) = (Vec::new(), Vec::new());
        for &(tap_z, from_z) in &z.taps {
            for &(tap_y, from_y) in &y.taps {
                for &(tap_x, from_x) in &x.taps {
                    let line = position(from_z, before_z) * high + position(from_y, before_y);
                    starts.push(line * wide + position(from_x, before_x));
                    elements.push((tap_z * kernel_height + tap_y) * kernel_width + tap_x);
                }
            }
        }
        let [step_z, step_y, step_x] = sizes.window.stride;
        let line = |line: usize| (line / y.count * high + line % y.count) * wide;
        Ok(Phase {
            reaches: [(z, 0), (y, 1), (x, 2)]
                .map(|(remainder, d)| remainder.reaches(&self.window, d)),
            starts: offsets(starts)?,
            elements,
            channels: sizes.out_channels,
            channel_steps: [plane, sizes.window.channels * kernel],
            lines: (0..z.count * y.count).map(line).collect(),
            size: [z.count, y.count, x.count],
            first: (z.first * input_height + y.first) * input_width + x.first,
            steps: [
                step_z * input_height * input_width,
                step_y * input_width,
                step_x,
            ],
            shape: Shape::at_level::<T>(sizes.window.channels, y.count, x.count),
        })
    }
}
