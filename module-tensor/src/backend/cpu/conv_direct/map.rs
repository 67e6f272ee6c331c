//! Where tiles find the input of a convolution.

use super::super::conv_planes::Planes;
use super::super::window::Window;

/// The input in planes, and where these have the lines that the output reads.
pub(super) struct Map {
    pub(super) planes: Planes,
    /// The position of the input at which each line of the output begins to read.
    pub(super) lines: Vec<usize>,
}

impl Map {
    /// A plane for each remainder of a position by the stride, so that neighboring positions read neighbors.
    pub(super) fn by_remainders(window: &Window) -> Option<Self> {
        let planes = Planes::new(window)?;
        let lines = planes.outputs.clone();
        Some(Self { planes, lines })
    }

    /// One plane for each channel, where positions read what is as far apart as the stride says.
    pub(super) fn whole(window: &Window) -> Option<Self> {
        if window.stride == [1; 3] {
            return Self::by_remainders(window);
        }
        let [depth, height, width] = window.output;
        let [step_z, step_y, step_x] = window.stride;
        let seen =
            |positions: usize, step: usize| (positions - 1).checked_mul(step)?.checked_add(1);
        let output = [
            seen(depth, step_z)?,
            seen(height, step_y)?,
            seen(width, step_x)?,
        ];
        let planes = Planes::new(&Window {
            output,
            stride: [1; 3],
            ..*window
        })?;
        let line = |line: usize| line / height * step_z * output[1] + line % height * step_y;
        let lines = (0..depth * height)
            .map(|i| planes.outputs[line(i)])
            .collect();
        Some(Self { planes, lines })
    }

    /// The elements between channels, for a kernel of so many elements.
    pub(super) fn channel_step(&self, kernel: usize) -> usize {
        let starts = &self.planes.starts;
        starts.get(kernel).map_or(0, |at| at - starts[0])
    }
}
