//! Convolutions: matrix products over unfolded windows, tile by tile of one sample and group; sums of
//! shifted lines where the channels are too few for a product to pay.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};

use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::view::to_cow;
use super::window::{Window, add_steps, three};
use super::{ConvGeometry, ConvOp, CpuStorage, Operand, Storage, room};
use crate::{Error, Result};

/// The unfolded windows of a tile should stay in the second cache.
const TILE: usize = 1 << 17;
/// Places of a tile, below which packing the weight anew for each would show.
const PLACES: usize = 256;

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
            sizes: Sizes::new(geometry)?,
        },
    )
}

struct Sizes {
    batch: usize,
    groups: usize,
    /// Output channels of one group.
    out_channels: usize,
    /// The windows over one sample and group.
    window: Window,
}

impl Sizes {
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
    fn is_thin(&self) -> bool {
        self.out_channels == 1 || self.out_channels * self.window.channels <= 4
    }
}

struct Convolution<'a> {
    op: ConvOp,
    a: &'a Operand,
    b: &'a Operand,
    sizes: Sizes,
}

impl FloatKernel for Convolution<'_> {
    const NAME: &'static str = "convolution";
    type Output = Storage;

    fn run<T: Float>(self) -> Result<Storage> {
        let Self { op, a, b, sizes } = self;
        let (a, b) = (to_cow::<T>(a)?, to_cow::<T>(b)?);
        let Sizes {
            batch,
            groups,
            out_channels,
            ref window,
        } = sizes;
        let (rows, places) = (window.rows(), window.places());
        // The elements of one sample and group.
        let (input, output, weight) = (
            window.input_len(),
            out_channels * places,
            out_channels * rows,
        );
        let blocks = batch * groups;
        let (len, a_len, b_len, out_len) = match op {
            ConvOp::Forward => (blocks * output, input, weight, output),
            ConvOp::Input => (blocks * input, output, weight, input),
            ConvOp::Weight => (groups * weight, input, output, weight),
        };
        room::<T>(len)?;
        let mut out = vec![T::zero(); len];
        if len == 0 || rows == 0 || places == 0 || out_channels == 0 {
            return Ok(CpuStorage::wrap(out));
        }
        let mut columns = Vec::new();
        for block in 0..blocks {
            let group = block % groups;
            // The weight, and its gradient, belongs to the group, whatever the sample.
            let (b_at, out_at) = match op {
                ConvOp::Weight => (block, group),
                _ => (group, block),
            };
            let a = &a[block * a_len..][..a_len];
            let b = &b[b_at * b_len..][..b_len];
            let out = &mut out[out_at * out_len..][..out_len];
            if window.is_pointwise() {
                sizes.pointwise(op, a, b, out)?;
            } else if sizes.is_thin() {
                sizes.shifted(op, a, b, out);
            } else {
                sizes.unfolded(op, a, b, out, &mut columns)?;
            }
        }
        Ok(CpuStorage::wrap(out))
    }
}

impl Sizes {
    /// The columns are the input itself.
    fn pointwise<T: Float>(&self, op: ConvOp, a: &[T], b: &[T], out: &mut [T]) -> Result<()> {
        let (o, c) = (self.out_channels, self.window.channels);
        match op {
            ConvOp::Forward => {
                multiply(matrix(b, o)?, matrix(a, c)?, T::zero(), matrix_mut(out, o)?)
            }
            ConvOp::Input => multiply(
                matrix(b, o)?.reversed_axes(),
                matrix(a, o)?,
                T::zero(),
                matrix_mut(out, c)?,
            ),
            ConvOp::Weight => multiply(
                matrix(b, o)?,
                matrix(a, c)?.reversed_axes(),
                T::one(),
                matrix_mut(out, o)?,
            ),
        }
        Ok(())
    }

    /// The columns of a tile after the other.
    fn unfolded<T: Float>(
        &self,
        op: ConvOp,
        a: &[T],
        b: &[T],
        out: &mut [T],
        columns: &mut Vec<T>,
    ) -> Result<()> {
        let (window, o) = (&self.window, self.out_channels);
        let rows = window.rows();
        let places = (TILE / rows).max(PLACES);
        for tile in window.tiles(places, 4 * places) {
            let part = tile.places.clone();
            let len = rows.saturating_mul(part.len());
            if columns.len() < len {
                room::<T>(len)?;
                columns.resize(len, T::zero());
            }
            let columns = &mut columns[..len];
            match op {
                ConvOp::Forward => {
                    window.unfold(a, &tile, columns);
                    let out = part_mut(matrix_mut(out, o)?, part);
                    multiply(matrix(b, o)?, matrix(columns, rows)?, T::zero(), out);
                }
                ConvOp::Input => {
                    let grad = self::part(matrix(a, o)?, part);
                    let weight = matrix(b, o)?.reversed_axes();
                    multiply(weight, grad, T::zero(), matrix_mut(columns, rows)?);
                    window.fold(columns, &tile, out);
                }
                ConvOp::Weight => {
                    window.unfold(a, &tile, columns);
                    let grad = self::part(matrix(b, o)?, part);
                    let columns = matrix(columns, rows)?.reversed_axes();
                    multiply(grad, columns, T::one(), matrix_mut(out, o)?);
                }
            }
        }
        Ok(())
    }

    /// Lines of the input times one element of the weight each.
    fn shifted<T: Float>(&self, op: ConvOp, a: &[T], b: &[T], out: &mut [T]) {
        let window = &self.window;
        let (rows, places, step) = (window.rows(), window.places(), window.stride[2]);
        let whole = window.whole();
        for channel in 0..self.out_channels {
            window.inner_segments(&whole, |row, line, input, length| {
                let weight = channel * rows + row;
                let output = channel * places + line;
                match op {
                    ConvOp::Forward => {
                        let (weight, out) = (b[weight], &mut out[output..output + length]);
                        if step == 1 {
                            add_steps(&a[input..input + length], |v| v.times(weight), 1, out);
                        } else {
                            for (out, v) in out.iter_mut().zip(a[input..].iter().step_by(step)) {
                                *out = out.plus(v.times(weight));
                            }
                        }
                    }
                    ConvOp::Input => {
                        let (weight, grad) = (b[weight], &a[output..output + length]);
                        add_steps(grad, |v| v.times(weight), step, &mut out[input..]);
                    }
                    ConvOp::Weight => {
                        let product = dot(&a[input..], step, &b[output..output + length]);
                        out[weight] = out[weight].plus(product);
                    }
                }
            });
        }
    }
}

/// The product of every `step`-th element of `a` with the elements of `b`.
fn dot<T: Float>(a: &[T], step: usize, b: &[T]) -> T {
    let mut sum = T::zero();
    if step > 1 {
        for (a, b) in a.iter().step_by(step).zip(b) {
            sum = sum.plus(a.times(*b));
        }
        return sum;
    }
    // Several sums side by side, as the processor computes them.
    let a = &a[..b.len()];
    let mut sums = [T::zero(); 8];
    let (pairs, rest) = (a.chunks_exact(8), a.len() / 8 * 8);
    for (a, b) in pairs.zip(b.chunks_exact(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum = sum.plus(a.times(*b));
        }
    }
    for (a, b) in a[rest..].iter().zip(&b[rest..]) {
        sum = sum.plus(a.times(*b));
    }
    sums.into_iter().fold(sum, T::plus)
}

fn multiply<T: Float>(
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    beta: T,
    mut out: ArrayViewMut2<'_, T>,
) {
    general_mat_mul(T::one(), &a, &b, beta, &mut out);
}

fn matrix<T>(values: &[T], rows: usize) -> Result<ArrayView2<'_, T>> {
    ArrayView2::from_shape((rows, values.len() / rows.max(1)), values).map_err(shape)
}

fn matrix_mut<T>(values: &mut [T], rows: usize) -> Result<ArrayViewMut2<'_, T>> {
    ArrayViewMut2::from_shape((rows, values.len() / rows.max(1)), values).map_err(shape)
}

/// Some columns of a matrix.
fn part<T>(mut matrix: ArrayView2<'_, T>, columns: Range<usize>) -> ArrayView2<'_, T> {
    matrix.slice_axis_inplace(Axis(1), Slice::from(columns));
    matrix
}

fn part_mut<T>(mut matrix: ArrayViewMut2<'_, T>, columns: Range<usize>) -> ArrayViewMut2<'_, T> {
    matrix.slice_axis_inplace(Axis(1), Slice::from(columns));
    matrix
}

/// Shapes are checked above the backend; a mistake there is reported, not computed with.
fn shape(error: ndarray::ShapeError) -> Error {
    Error::argument(
        "conv",
        "shape",
        error,
        "the operands do not have the checked shapes",
    )
}
