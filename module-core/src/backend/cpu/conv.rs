//! Convolutions as matrix products over unfolded windows, one sample and one group at a time.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2};

use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::view::to_cow;
use super::{ConvGeometry, ConvOp, CpuStorage, Operand, Storage, room};
use crate::{Error, Result};

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
            geometry: Sizes::new(geometry)?,
        },
    )
}

/// A geometry with one spatial dimension is one with three, two of them of size 1.
struct Sizes {
    batch: usize,
    groups: usize,
    /// Channels of one group.
    in_channels: usize,
    out_channels: usize,
    input: [usize; 3],
    output: [usize; 3],
    kernel: [usize; 3],
    stride: [usize; 3],
    padding: [usize; 3],
    dilation: [usize; 3],
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
        let (&[batch, _, ref input_size @ ..], &[out, in_channels, ref kernel @ ..]) =
            (&**input, &**weight)
        else {
            return Err(input.error("conv", "[batch, channels, size…]"));
        };
        let padded = |sizes: &[usize], fill: usize| {
            let mut three = [fill; 3];
            let start = 3_usize.saturating_sub(sizes.len());
            for (to, &from) in three[start..].iter_mut().zip(sizes) {
                *to = from;
            }
            three
        };
        Ok(Self {
            batch,
            groups: *groups,
            in_channels,
            out_channels: out / groups,
            input: padded(input_size, 1),
            output: padded(output.get(2..).unwrap_or_default(), 1),
            kernel: padded(kernel, 1),
            stride: padded(&geometry.stride, 1),
            padding: padded(&geometry.padding, 0),
            dilation: padded(&geometry.dilation, 1),
        })
    }

    /// Rows and columns of the unfolded windows of one sample and group.
    fn unfolded(&self) -> (usize, usize) {
        (
            self.in_channels * self.kernel.iter().product::<usize>(),
            self.places(),
        )
    }

    fn places(&self) -> usize {
        self.output.iter().product()
    }

    /// The elements of one sample and group of the input.
    fn input_len(&self) -> usize {
        self.in_channels * self.input.iter().product::<usize>()
    }

    fn output_len(&self) -> usize {
        self.out_channels * self.places()
    }

    fn weight_len(&self) -> usize {
        self.out_channels * self.unfolded().0
    }

    /// For kernel place `k` in dimension `d`: the output range whose input place lies inside,
    /// with the input place of its start.
    fn inside(&self, d: usize, k: usize) -> (usize, usize, usize) {
        let shift = k * self.dilation[d];
        let first = self.padding[d]
            .saturating_sub(shift)
            .div_ceil(self.stride[d]);
        // One past the last output place whose input place is below the input's size.
        let end = (self.input[d] + self.padding[d])
            .saturating_sub(shift)
            .div_ceil(self.stride[d]);
        let end = end.min(self.output[d]);
        if first >= end {
            return (end, end, 0);
        }
        (first, end, first * self.stride[d] + shift - self.padding[d])
    }

    /// Calls `f` with the start of an unfolded row segment, the start of the input segment and
    /// their length; neighbours are `stride[2]` apart in the input.
    fn segments(&self, mut f: impl FnMut(usize, usize, usize)) {
        let [kd, kh, kw] = self.kernel;
        let [_, oh, ow] = self.output;
        let [id, ih, iw] = self.input;
        let places = self.places();
        for channel in 0..self.in_channels {
            for a in 0..kd {
                let (d0, d1, di) = self.inside(0, a);
                for b in 0..kh {
                    let (h0, h1, hi) = self.inside(1, b);
                    for c in 0..kw {
                        let (w0, w1, wi) = self.inside(2, c);
                        if w0 >= w1 {
                            continue;
                        }
                        let row = (((channel * kd + a) * kh + b) * kw + c) * places;
                        for d in d0..d1 {
                            let z = di + (d - d0) * self.stride[0];
                            for h in h0..h1 {
                                let y = hi + (h - h0) * self.stride[1];
                                let to = row + (d * oh + h) * ow + w0;
                                let from = ((channel * id + z) * ih + y) * iw + wi;
                                f(to, from, w1 - w0);
                            }
                        }
                    }
                }
            }
        }
    }

    fn unfold<T: Float>(&self, input: &[T], columns: &mut [T]) {
        let step = self.stride[2];
        self.segments(|to, from, n| {
            let columns = &mut columns[to..to + n];
            if step == 1 {
                columns.copy_from_slice(&input[from..from + n]);
            } else {
                for (to, from) in columns.iter_mut().zip(input[from..].iter().step_by(step)) {
                    *to = *from;
                }
            }
        });
    }

    fn fold<T: Float>(&self, columns: &[T], input: &mut [T]) {
        let step = self.stride[2];
        self.segments(|from, to, n| {
            let places = input[to..].iter_mut().step_by(step);
            for (to, from) in places.zip(&columns[from..from + n]) {
                *to = to.plus(*from);
            }
        });
    }
}

struct Convolution<'a> {
    op: ConvOp,
    a: &'a Operand,
    b: &'a Operand,
    geometry: Sizes,
}

impl FloatKernel for Convolution<'_> {
    const NAME: &'static str = "convolution";
    type Output = Storage;

    fn run<T: Float>(self) -> Result<Storage> {
        let Self {
            op,
            a,
            b,
            geometry: sizes,
        } = self;
        let (a, b) = (to_cow::<T>(a)?, to_cow::<T>(b)?);
        let blocks = sizes.batch * sizes.groups;
        let len = match op {
            ConvOp::Forward => blocks * sizes.output_len(),
            ConvOp::Input => blocks * sizes.input_len(),
            ConvOp::Weight => sizes.groups * sizes.weight_len(),
        };
        room::<T>(len)?;
        let mut out = vec![T::zero(); len];
        let (rows, places) = sizes.unfolded();
        if len == 0 || rows == 0 || places == 0 || sizes.out_channels == 0 {
            return Ok(CpuStorage::wrap(out));
        }
        // Each factor is the size of a tensor; their product may be too large for anything.
        room::<T>(rows.saturating_mul(places))?;
        let mut columns = vec![T::zero(); rows * places];
        let (o, i, w) = (sizes.output_len(), sizes.input_len(), sizes.weight_len());
        for block in 0..blocks {
            let group = block % sizes.groups;
            match op {
                ConvOp::Forward => {
                    sizes.unfold(&a[block * i..(block + 1) * i], &mut columns);
                    let weight = matrix(&b[group * w..(group + 1) * w], sizes.out_channels)?;
                    let columns = matrix(&columns, rows)?;
                    let out = &mut out[block * o..(block + 1) * o];
                    let mut out = matrix_mut(out, sizes.out_channels)?;
                    general_mat_mul(T::one(), &weight, &columns, T::zero(), &mut out);
                }
                ConvOp::Input => {
                    let grad = matrix(&a[block * o..(block + 1) * o], sizes.out_channels)?;
                    let weight = matrix(&b[group * w..(group + 1) * w], sizes.out_channels)?;
                    let mut target = matrix_mut(&mut columns, rows)?;
                    general_mat_mul(T::one(), &weight.t(), &grad, T::zero(), &mut target);
                    sizes.fold(&columns, &mut out[block * i..(block + 1) * i]);
                }
                ConvOp::Weight => {
                    sizes.unfold(&a[block * i..(block + 1) * i], &mut columns);
                    let grad = matrix(&b[block * o..(block + 1) * o], sizes.out_channels)?;
                    let columns = matrix(&columns, rows)?;
                    let out = &mut out[group * w..(group + 1) * w];
                    let mut out = matrix_mut(out, sizes.out_channels)?;
                    general_mat_mul(T::one(), &grad, &columns.t(), T::one(), &mut out);
                }
            }
        }
        Ok(CpuStorage::wrap(out))
    }
}

fn matrix<T>(values: &[T], rows: usize) -> Result<ArrayView2<'_, T>> {
    ArrayView2::from_shape((rows, values.len() / rows.max(1)), values).map_err(shape)
}

fn matrix_mut<T>(values: &mut [T], rows: usize) -> Result<ArrayViewMut2<'_, T>> {
    ArrayViewMut2::from_shape((rows, values.len() / rows.max(1)), values).map_err(shape)
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
