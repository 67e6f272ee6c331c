//! Convolutions of small images: the windows of several samples side by side, so that the product of
//! matrices is wide and reads the weight once for all of them.

use super::ConvOp;
use super::conv::{ConvSizes, resized};
use super::float::Float;
use super::gemm::{Matrix, MatrixMut, multiply};
use super::threads::{Items, parallel_for};
use super::window::Tile;
use crate::Result;

/// Images with more windows are worked on one by one.
const SMALL: usize = 128;

/// The approximate number of windows that are joined.
const WIDE: usize = 256;

/// Memory that is used again for the next samples.
#[derive(Default)]
struct Buffers<T> {
    columns: Vec<T>,
    output: Vec<T>,
}

impl ConvSizes {
    /// The number of samples that are processed together, if it is more than one.
    pub(super) fn joined_samples(&self) -> Option<usize> {
        let windows = self.window.places();
        let small = windows <= SMALL && self.groups == 1 && !self.is_thin();
        let samples = WIDE.div_ceil(windows.max(1)).min(self.batch);
        (small && samples > 1).then_some(samples)
    }

    /// A convolution, so many samples at a time; `out` holds zeros.
    pub(super) fn run_joined<T: Float>(
        &self,
        op: ConvOp,
        a: &[T],
        b: &[T],
        samples: usize,
        out: &mut [T],
    ) -> Result<()> {
        let (input, output) = (
            self.window.input_len(),
            self.out_channels * self.window.places(),
        );
        let steps = samples * self.out_channels * self.window.rows() * self.window.places() / 16;
        let count = self.batch.div_ceil(samples);
        let of =
            |i: usize, len: usize| i * samples * len..((i + 1) * samples).min(self.batch) * len;
        match op {
            ConvOp::Forward => {
                parallel_for(count, steps, Items(out, samples * output), &|range, out| {
                    let mut buffers = Buffers::default();
                    for (i, out) in range.zip(out.0.chunks_mut(samples * output)) {
                        self.joined_forward(&a[of(i, input)], b, out, &mut buffers)?;
                    }
                    Ok(())
                })
            }
            ConvOp::Input => {
                parallel_for(count, steps, Items(out, samples * input), &|range, out| {
                    let mut buffers = Buffers::default();
                    for (i, out) in range.zip(out.0.chunks_mut(samples * input)) {
                        self.joined_input(&a[of(i, output)], b, out, &mut buffers)?;
                    }
                    Ok(())
                })
            }
            ConvOp::Weight => {
                // One after the other, so that they are added in one order.
                let mut buffers = Buffers::default();
                (0..count).try_for_each(|i| {
                    let (a, b) = (&a[of(i, input)], &b[of(i, output)]);
                    self.joined_weight(a, b, out, &mut buffers)
                })
            }
        }
    }

    fn joined_forward<T: Float>(
        &self,
        input: &[T],
        weight: &[T],
        out: &mut [T],
        buffers: &mut Buffers<T>,
    ) -> Result<()> {
        let (o, windows) = (self.out_channels, self.window.places());
        let joined = input.len() / self.window.input_len() * windows;
        let output = resized(&mut buffers.output, o * joined)?;
        for tile in self.window.tiles() {
            let columns = self.joined_columns(input, &tile, &mut buffers.columns)?;
            let weight = Matrix::new(weight, o).part(tile.rows.clone());
            let add = tile.rows.start > 0;
            multiply(T::one(), weight, columns, add, MatrixMut::new(output, o));
        }
        for (sample, out) in out.chunks_exact_mut(o * windows).enumerate() {
            let channels = out
                .chunks_exact_mut(windows)
                .zip(output.chunks_exact(joined));
            for (out, output) in channels {
                out.copy_from_slice(&output[sample * windows..][..windows]);
            }
        }
        Ok(())
    }

    fn joined_input<T: Float>(
        &self,
        grad: &[T],
        weight: &[T],
        out: &mut [T],
        buffers: &mut Buffers<T>,
    ) -> Result<()> {
        let (o, windows) = (self.out_channels, self.window.places());
        let joined = grad.len() / o;
        let grad = join(grad, o, windows, &mut buffers.output)?;
        for tile in self.window.tiles() {
            let rows = tile.rows.clone();
            let columns = resized(&mut buffers.columns, rows.len() * joined)?;
            let weight = Matrix::new(weight, o).part(rows.clone()).t();
            let unfolded = MatrixMut::new(columns, rows.len());
            multiply(T::one(), weight, Matrix::new(grad, o), false, unfolded);
            let samples = out.chunks_exact_mut(self.window.input_len());
            for (sample, out) in samples.enumerate() {
                let columns = &columns[sample * windows..];
                self.window.fold(columns, &tile, out, joined);
            }
        }
        Ok(())
    }

    fn joined_weight<T: Float>(
        &self,
        input: &[T],
        grad: &[T],
        out: &mut [T],
        buffers: &mut Buffers<T>,
    ) -> Result<()> {
        let (o, windows) = (self.out_channels, self.window.places());
        let grad = join(grad, o, windows, &mut buffers.output)?;
        for tile in self.window.tiles() {
            let columns = self.joined_columns(input, &tile, &mut buffers.columns)?;
            let out = MatrixMut::new(out, o).part(tile.rows.clone());
            multiply(T::one(), Matrix::new(grad, o), columns.t(), true, out);
        }
        Ok(())
    }

    /// The windows of several samples side by side.
    fn joined_columns<'a, T: Float>(
        &self,
        input: &[T],
        tile: &Tile,
        buffer: &'a mut Vec<T>,
    ) -> Result<Matrix<'a, T>> {
        let windows = self.window.places();
        let inputs = input.chunks_exact(self.window.input_len());
        let joined: usize = inputs.len() * windows;
        let columns = resized(buffer, tile.rows.len() * joined)?;
        for (sample, input) in inputs.enumerate() {
            let columns = &mut columns[sample * windows..];
            self.window.unfold(input, tile, columns, joined);
        }
        Ok(Matrix::new(columns, tile.rows.len()))
    }
}

/// `[samples, channels, windows]` as `[channels, samples · windows]`.
fn join<'a, T: Float>(
    x: &[T],
    channels: usize,
    windows: usize,
    buffer: &'a mut Vec<T>,
) -> Result<&'a [T]> {
    let joined = x.len() / channels;
    let to = resized(buffer, x.len())?;
    for (sample, x) in x.chunks_exact(channels * windows).enumerate() {
        for (channel, x) in x.chunks_exact(windows).enumerate() {
            to[channel * joined + sample * windows..][..windows].copy_from_slice(x);
        }
    }
    Ok(to)
}
