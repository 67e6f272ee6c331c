//! Convolutions of small images: the windows of several samples side by side, so that the product of
//! matrices is wide and reads the weight once for all of them.

use super::conv::{ConvSizes, resized};
use super::conv_windows::join;
use super::float::Float;
use super::gemm::{Matrix, MatrixMut, multiply};
use super::threads::{Items, parallel_for};
use crate::Result;

/// Memory that is used again for the next samples.
#[derive(Default)]
struct Buffers<T> {
    columns: Vec<T>,
    output: Vec<T>,
}

impl ConvSizes {
    /// The gradient of the input, so many samples at a time; `out` holds zeros.
    pub(super) fn run_joined<T: Float>(
        &self,
        grad: &[T],
        weight: &[T],
        samples: usize,
        out: &mut [T],
    ) -> Result<()> {
        let output = samples * self.out_channels * self.window.positions();
        let input = samples * self.window.input_len();
        let steps = output * self.window.rows() / 16;
        let count = self.batch.div_ceil(samples);
        parallel_for(count, steps, Items(out, input), &|range, out| {
            let mut buffers = Buffers::default();
            for (i, out) in range.zip(out.0.chunks_mut(input)) {
                let grad = &grad[i * output..grad.len().min((i + 1) * output)];
                self.joined_input(grad, weight, out, &mut buffers)?;
            }
            Ok(())
        })
    }

    fn joined_input<T: Float>(
        &self,
        grad: &[T],
        weight: &[T],
        out: &mut [T],
        buffers: &mut Buffers<T>,
    ) -> Result<()> {
        let (o, windows) = (self.out_channels, self.window.positions());
        let joined = grad.len() / o;
        let output = resized(&mut buffers.output, grad.len())?;
        let grad = join(grad, o, windows, output);
        for tile in self.window.tiles() {
            let rows = tile.rows.clone();
            let columns = resized(&mut buffers.columns, rows.len() * joined)?;
            let weight = Matrix::new(weight, o).part(rows.clone()).t();
            let unfolded = MatrixMut::new(columns, rows.len());
            multiply(T::one(), weight, Matrix::new(grad, o), false, unfolded);
            let len = self.window.input_len();
            let (samples, ns) = (out.len() / len, rows.len() * windows / 2);
            parallel_for(samples, ns, Items(out, len), &|range, out| {
                let columns = &columns[range.start * windows..];
                self.window.fold(columns, &tile, out.0, [joined, windows]);
                Ok(())
            })?;
        }
        Ok(())
    }
}
