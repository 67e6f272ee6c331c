//! Convolutions: matrix products over unfolded windows, tile by tile of one sample and group.

use super::conv_planes::Planes;
use super::float::Float;
use super::gemm::{Matrix, MatrixMut, multiply};
use super::map::{FloatKernel, run_float};
use super::memory::{filled, scratch};
use super::threads::{Items, num_threads, parallel_for};
use super::view::to_row_major;
use super::window::{Window, three};
use super::{ConvGeometry, ConvOp, CpuStorage, Operand, Storage, check_allocatable};
use crate::Result;

pub(super) fn convolution(
    op: ConvOp,
    a: &Operand,
    b: &Operand,
    geometry: &ConvGeometry,
) -> Result<Storage> {
    run_float(
        a.storage.dtype(),
        Convolution {
            op,
            a,
            b,
            sizes: ConvSizes::new(geometry)?,
        },
    )
}

pub(super) struct ConvSizes {
    pub(super) batch: usize,
    pub(super) groups: usize,
    /// Output channels of one group.
    pub(super) out_channels: usize,
    /// The windows over one sample and group.
    pub(super) window: Window,
}

impl ConvSizes {
    fn new(geometry: &ConvGeometry) -> Result<Self> {
        let ConvGeometry {
            input,
            weight,
            output,
            groups,
            ..
        } = geometry;
        let (&[batch, _, ref size @ ..], &[out, channels, ref kernel @ ..]) = (&**input, &**weight)
        else {
            return Err(input.error("conv", "[batch, channels, size…]"));
        };
        Ok(Self {
            batch,
            groups: *groups,
            out_channels: out / groups,
            window: Window {
                channels,
                input: three(size, 1),
                output: three(output.get(2..).unwrap_or_default(), 1),
                kernel: three(kernel, 1),
                stride: three(&geometry.stride, 1),
                padding: three(&geometry.padding, 0),
                dilation: three(&geometry.dilation, 1),
            },
        })
    }

    /// Whether a product of matrices would be one of vectors.
    pub(super) fn is_thin(&self) -> bool {
        self.out_channels == 1 || self.out_channels * self.window.channels <= 4
    }

    /// The convolution of the output's gradient whose output is the input's gradient, if there is one
    /// and it is the better way: with a step of 1, by the flipped kernel.
    fn input_gradient_as_conv(&self) -> Option<Self> {
        let Self {
            batch,
            groups,
            out_channels,
            ref window,
        } = *self;
        let mut padding = [0; 3];
        for (d, padding) in padding.iter_mut().enumerate() {
            let reach = window.dilation[d] * (window.kernel[d] - 1);
            *padding = reach.checked_sub(window.padding[d])?;
        }
        let turned = Self {
            batch,
            groups,
            out_channels: window.channels,
            window: Window {
                channels: out_channels,
                input: window.output,
                output: window.input,
                kernel: window.kernel,
                stride: [1; 3],
                padding,
                dilation: window.dilation,
            },
        };
        // A large weight for a few positions takes longer to turn than their gradients to spread.
        let few = batch.saturating_mul(window.positions()) < 128;
        let better = turned.is_thin() || (turned.out_channels >= 8 && !few);
        (window.stride == [1; 3] && better).then_some(turned)
    }

    /// The weight for [`turned`](Self::turned): `[groups, channels, out_channels, kernel]` with the
    /// kernel from back to front.
    fn turn<T: Float>(&self, weight: &[T]) -> Result<Vec<T>> {
        check_allocatable::<T>(weight.len())?;
        let (o, c) = (self.out_channels, self.window.channels);
        let kernel: usize = self.window.kernel.iter().product();
        let mut turned = Vec::with_capacity(weight.len());
        for group in weight.chunks_exact(o * c * kernel) {
            for channel in 0..c {
                for weight in group.chunks_exact(c * kernel) {
                    let kernel = &weight[channel * kernel..(channel + 1) * kernel];
                    turned.extend(kernel.iter().rev());
                }
            }
        }
        Ok(turned)
    }
}

struct Convolution<'a> {
    op: ConvOp,
    a: &'a Operand,
    b: &'a Operand,
    sizes: ConvSizes,
}

impl FloatKernel for Convolution<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "convolution"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self { op, a, b, sizes } = self;
        let (a, b) = (to_row_major::<T>(a)?, to_row_major::<T>(b)?);
        let empty = sizes.batch == 0 || a.is_empty() || b.is_empty();
        if op == ConvOp::Input
            && !empty
            && !sizes.window.is_pointwise()
            && !sizes.is_linear()
            && let Some(turned) = sizes.input_gradient_as_conv()
        {
            return turned.run_turned(&a, &b, &sizes);
        }
        sizes.run(op, &a, &b)
    }
}

impl ConvSizes {
    /// The convolution by the weight that `original` [turns](Self::turn).
    fn run_turned<T: Float>(&self, input: &[T], weight: &[T], original: &Self) -> Result<Storage> {
        if const { T::HAS_CONV_LOOPS } && self.is_by_tiles::<T>(ConvOp::Input) {
            let len = self.output_len();
            check_allocatable::<T>(len)?;
            let mut out = scratch(len)?;
            if self.run_by_tiles(input, weight, true, &mut out)? {
                return Ok(CpuStorage::wrap(out));
            }
        }
        self.run_plainly(ConvOp::Forward, input, &original.turn(weight)?)
    }

    fn run<T: Float>(&self, op: ConvOp, a: &[T], b: &[T]) -> Result<Storage> {
        let by_tiles = op != ConvOp::Input && !a.is_empty();
        if const { T::HAS_CONV_LOOPS } && by_tiles && self.is_by_tiles::<T>(op) {
            let len = match op {
                ConvOp::Weight => self.groups * self.out_channels * self.window.rows(),
                _ => self.output_len(),
            };
            check_allocatable::<T>(len)?;
            let mut out = scratch(len)?;
            let finite = match op {
                ConvOp::Weight => self.run_weight_by_tiles(a, b, &mut out)?,
                _ => self.run_by_tiles(a, b, false, &mut out)?,
            };
            if finite {
                return Ok(CpuStorage::wrap(out));
            }
        }
        self.run_plainly(op, a, b)
    }

    /// The elements of the whole output.
    fn output_len(&self) -> usize {
        self.batch * self.groups * self.out_channels * self.window.positions()
    }

    /// Not by tiles.
    fn run_plainly<T: Float>(&self, op: ConvOp, a: &[T], b: &[T]) -> Result<Storage> {
        let Self {
            batch,
            groups,
            out_channels,
            ref window,
        } = *self;
        let (rows, windows) = (window.rows(), window.positions());
        // The elements of one sample and group.
        let (input, output, weight) = (
            window.input_len(),
            out_channels * windows,
            out_channels * rows,
        );
        let blocks = batch * groups;
        let (len, a_len, b_len, out_len) = match op {
            ConvOp::Forward => (blocks * output, input, weight, output),
            ConvOp::Input => (blocks * input, output, weight, input),
            ConvOp::Weight => (groups * weight, input, output, weight),
        };
        check_allocatable::<T>(len)?;
        let factors = [len, batch, input, rows, windows, out_channels];
        if factors.contains(&0) {
            return Ok(CpuStorage::wrap(filled(len, T::zero())?));
        }
        if self.is_linear() {
            let mut out = scratch(len)?;
            self.run_linear(op, a, b, &mut out);
            return Ok(CpuStorage::wrap(out));
        }
        if let Some(samples) = self.joined_pointwise() {
            let mut out = scratch(len)?;
            self.run_joined_pointwise(op, samples, [a, b], &mut out)?;
            return Ok(CpuStorage::wrap(out));
        }
        if op != ConvOp::Input && !self.is_thin() && !window.is_pointwise() && Planes::fit(window) {
            let mut out = scratch(len)?;
            if (op == ConvOp::Forward && self.run_by_planes(a, b, &mut out)?)
                || (!self.sums_few_places(op) && self.run_directly(op, [a, b], &mut out)?)
                || self.run_windows(op, [a, b], &mut out)?
            {
                return Ok(CpuStorage::wrap(out));
            }
        }
        if op == ConvOp::Input && window.stride != [1; 3] {
            let mut out = scratch(len)?;
            if self.run_input_gradient_directly(a, b, &mut out)? {
                return Ok(CpuStorage::wrap(out));
            }
        }
        // Gradients are added up.
        let mut out = match op {
            ConvOp::Forward => scratch(len)?,
            ConvOp::Input | ConvOp::Weight => filled(len, T::zero())?,
        };
        if op == ConvOp::Forward && self.is_depthwise::<T>() {
            self.run_depthwise(a, b, &mut out)?;
            return Ok(CpuStorage::wrap(out));
        }
        if op == ConvOp::Weight && self.run_depthwise_gradient(a, b, &mut out)? {
            return Ok(CpuStorage::wrap(out));
        }
        if op == ConvOp::Input
            && let Some(samples) = self.joined_samples()
        {
            self.run_joined(a, b, samples, &mut out)?;
            return Ok(CpuStorage::wrap(out));
        }
        // The gradient of the input is added line by line.
        let by_planes = self.is_thin() && op != ConvOp::Input && !window.is_pointwise();
        let planes = by_planes.then(|| Planes::new(window)).flatten();
        // The weight, and its gradient, belongs to the group, whatever the sample.
        let one = |block: usize, out: &mut [T], buffer: &mut Vec<T>| {
            let b_at = match op {
                ConvOp::Weight => block,
                _ => block % groups,
            };
            let a = &a[block * a_len..][..a_len];
            let b = &b[b_at * b_len..][..b_len];
            if window.is_pointwise() {
                self.pointwise(op, a, b, out);
                Ok(())
            } else if self.is_thin() {
                self.run_few_channels(op, a, b, out, (planes.as_ref(), buffer))
            } else {
                self.run_unfolded(op, a, b, out, buffer)
            }
        };
        let steps = (out_channels * rows).saturating_mul(windows) / 16;
        if op == ConvOp::Weight {
            // Each group's samples one after the other, so that they are added in one order.
            let steps = steps.saturating_mul(batch);
            parallel_for(
                groups,
                steps,
                Items(&mut out, out_len),
                &|groups_here, out| {
                    let mut buffer = Vec::new();
                    for (group, out) in groups_here.zip(out.0.chunks_exact_mut(out_len)) {
                        for sample in 0..batch {
                            one(sample * groups + group, out, &mut buffer)?;
                        }
                    }
                    Ok(())
                },
            )?;
        } else {
            parallel_for(blocks, steps, Items(&mut out, out_len), &|blocks, out| {
                let mut buffer = Vec::new();
                for (block, out) in blocks.zip(out.0.chunks_exact_mut(out_len)) {
                    one(block, out, &mut buffer)?;
                }
                Ok(())
            })?;
        }
        Ok(CpuStorage::wrap(out))
    }

    /// Unfolds the input and multiplies, one tile after the other.
    fn run_unfolded<T: Float>(
        &self,
        op: ConvOp,
        a: &[T],
        b: &[T],
        out: &mut [T],
        buffer: &mut Vec<T>,
    ) -> Result<()> {
        let (window, o) = (&self.window, self.out_channels);
        for tile in window.tiles() {
            let (rows, windows) = (tile.rows.clone(), tile.positions.clone());
            let columns = resized(buffer, rows.len().saturating_mul(windows.len()))?;
            match op {
                ConvOp::Forward => {
                    window.unfold(a, &tile, columns, windows.len());
                    let out = MatrixMut::new(out, o).part(windows);
                    let weight = Matrix::new(b, o).part(rows.clone());
                    let columns = Matrix::new(columns, rows.len());
                    // Later tiles add to what earlier ones wrote.
                    multiply(T::one(), weight, columns, rows.start > 0, out);
                }
                ConvOp::Input => {
                    let grad = Matrix::new(a, o).part(windows.clone());
                    let weight = Matrix::new(b, o).part(rows.clone()).t();
                    let unfolded = MatrixMut::new(columns, rows.len());
                    multiply(T::one(), weight, grad, false, unfolded);
                    window.fold(columns, &tile, out, [windows.len(), 0]);
                }
                ConvOp::Weight => {
                    window.unfold(a, &tile, columns, windows.len());
                    let grad = Matrix::new(b, o).part(windows);
                    let columns = Matrix::new(columns, rows.len()).t();
                    let out = MatrixMut::new(out, o).part(rows);
                    multiply(T::one(), grad, columns, true, out);
                }
            }
        }
        Ok(())
    }
}

/// The parts in which threads share the channels of so many samples and groups: whole tiles, or one part if there are enough
/// samples or the channels do not fill tiles.
pub(super) fn parts_of_channels(channels: usize, of_tile: usize, blocks: usize) -> usize {
    match channels.is_multiple_of(of_tile) {
        true if blocks < 2 * num_threads() => channels / of_tile,
        _ => 1,
    }
}

/// The first `len` elements of a buffer, which grows if needed; their values are unspecified.
pub(super) fn resized<T: Float>(buffer: &mut Vec<T>, len: usize) -> Result<&mut [T]> {
    if buffer.len() < len {
        check_allocatable::<T>(len)?;
        buffer.resize(len, T::zero());
    }
    Ok(&mut buffer[..len])
}
