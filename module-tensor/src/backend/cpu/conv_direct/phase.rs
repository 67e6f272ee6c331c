//! Places of an output that are reached by the same elements of the kernel.

use super::super::conv::ConvSizes;
use super::super::conv_planes::Planes;
use super::super::window::Window;
use super::shapes::{narrowed, shape_for};
use crate::Result;

/// A grid of places of the output. A convolution has one with all of them; the gradient of its input has one for each
/// remainder of a place by the stride.
pub(super) struct Phase {
    /// Where the planes have what each product of the first place reads.
    pub(super) starts: Vec<u32>,
    /// Where the weight of the first channel has the other factor of each product.
    pub(super) taps: Vec<usize>,
    /// Where the planes have each line of the grid, from the first place on.
    pub(super) lines: Vec<usize>,
    pub(super) size: [usize; 3],
    /// The first place of the grid in a channel of the output, and the steps to the next.
    pub(super) first: usize,
    pub(super) steps: [usize; 3],
    pub(super) shape: [usize; 2],
}

impl Phase {
    /// All places.
    pub(super) fn whole(window: &Window, planes: &Planes) -> Result<Self> {
        let [_, height, width] = window.output;
        Ok(Self {
            starts: narrowed(planes.starts.iter().copied())?,
            taps: (0..window.rows()).collect(),
            lines: planes.outputs.clone(),
            size: window.output,
            first: 0,
            steps: [height * width, width, 1],
            shape: shape_for(height, width).0,
        })
    }

    /// The products of one channel.
    pub(super) fn sums(&self) -> usize {
        self.taps.len() * self.lines.len() * self.size[2]
    }

    /// The elements that tiles read beyond the planes.
    pub(super) fn beyond(&self) -> usize {
        self.shape[0] * self.line_step() + self.shape[1]
    }

    /// How far lines are apart in a plane.
    pub(super) fn line_step(&self) -> usize {
        match self.lines[..] {
            [first, second, ..] => second - first,
            _ => 0,
        }
    }
}

/// The most phases.
const MOST: usize = 64;

/// The places of one dimension of the input with the same remainder by the stride.
struct Remainder {
    /// The first place, and the number of places.
    first: usize,
    count: usize,
    /// Each element of the kernel that reaches them, and the place of the output at which it reaches the first; that
    /// may lie before the output.
    taps: Vec<(usize, isize)>,
}

impl Remainder {
    /// All of one dimension; nothing if a size overflows.
    fn all(window: &Window, d: usize) -> Option<Vec<Self>> {
        let (stride, padding) = (window.stride[d], window.padding[d]);
        let places = window.input[d].min(stride);
        let _ = places.checked_add(padding)?;
        // The place `i` is reached from place `quotient - t` of the output, where `i + padding = stride · quotient +
        // remainder`, by the elements of the kernel that are `stride · t + remainder` from its first.
        let remainder = |first: usize| Self {
            first,
            count: (window.input[d] - first).div_ceil(stride),
            taps: Vec::new(),
        };
        let mut all: Vec<Self> = (0..places).map(remainder).collect();
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
}

/// The phases of the gradient of an input by that of the output, and how planes hold the latter.
pub(super) struct GradientPhases {
    /// Over the gradient of the output, for one element.
    pub(super) window: Window,
    /// For each dimension.
    remainders: [Vec<Remainder>; 3],
}

impl GradientPhases {
    /// Nothing if there are places that no element of the kernel reaches, or many phases of few products.
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
    pub(super) fn phases(&self, sizes: &ConvSizes) -> Result<Vec<Phase>> {
        let [depth, height, width] = &self.remainders;
        let mut phases = Vec::new();
        for z in depth {
            for y in height {
                for x in width {
                    phases.push(self.phase(sizes, [z, y, x])?);
                }
            }
        }
        Ok(phases)
    }

    fn phase(&self, sizes: &ConvSizes, [z, y, x]: [&Remainder; 3]) -> Result<Phase> {
        let [_, high, wide] = self.window.output;
        let [before_z, before_y, before_x] = self.window.padding;
        let [_, input_height, input_width] = sizes.window.input;
        let [_, kernel_height, kernel_width] = sizes.window.kernel;
        let kernel: usize = sizes.window.kernel.iter().product();
        let plane: usize = self.window.output.iter().product();
        let place = |from: isize, padding: usize| from.saturating_add_unsigned(padding) as usize;
        let (mut starts, mut taps) = (Vec::new(), Vec::new());
        for channel in 0..sizes.out_channels {
            for &(tap_z, from_z) in &z.taps {
                for &(tap_y, from_y) in &y.taps {
                    for &(tap_x, from_x) in &x.taps {
                        let line = place(from_z, before_z) * high + place(from_y, before_y);
                        starts.push(channel * plane + line * wide + place(from_x, before_x));
                        let tap = (tap_z * kernel_height + tap_y) * kernel_width + tap_x;
                        taps.push(channel * sizes.window.channels * kernel + tap);
                    }
                }
            }
        }
        let [step_z, step_y, step_x] = sizes.window.stride;
        let line = |line: usize| (line / y.count * high + line % y.count) * wide;
        Ok(Phase {
            starts: narrowed(starts)?,
            taps,
            lines: (0..z.count * y.count).map(line).collect(),
            size: [z.count, y.count, x.count],
            first: (z.first * input_height + y.first) * input_width + x.first,
            steps: [
                step_z * input_height * input_width,
                step_y * input_width,
                step_x,
            ],
            shape: shape_for(y.count, x.count).0,
        })
    }
}
