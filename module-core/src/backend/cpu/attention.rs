//! Scaled dot-product attention, a block of queries at a time, so that no matrix of all scores is
//! kept.

use std::borrow::Cow;

use ndarray::{ArrayView2, ArrayViewMut2};

use super::float::Float;
use super::gemm::multiply;
use super::lanes::{exp, max, number, split, sum, sum_of2, update};
use super::map::{FloatKernel, run_float};
use super::memory::filled;
use super::threads::{Items, divide};
use super::view::{array_view, to_cow};
use super::{AttentionGeometry, AttentionInputs, CpuStorage, Operand, Storage, elements, room};
use crate::layout::Layout;
use crate::{Error, Result};

/// How many queries are worked on together.
const QUERIES: usize = 64;

pub(super) fn attention(
    inputs: &AttentionInputs,
    geometry: &AttentionGeometry,
) -> Result<[Storage; 2]> {
    run_float(inputs.query.storage.dtype(), Attention(inputs, geometry))
}

pub(super) fn attention_backward(
    grad: &Operand,
    outputs: &[Operand; 2],
    inputs: &AttentionInputs,
    geometry: &AttentionGeometry,
) -> Result<[Storage; 3]> {
    let dtype = inputs.query.storage.dtype();
    run_float(dtype, Gradient(grad, outputs, inputs, geometry))
}

/// The sizes of one attention.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    length: usize,
    keys: usize,
    width: usize,
    value_width: usize,
}

impl Sizes {
    fn of(inputs: &AttentionInputs) -> Result<Self> {
        let shapes = [&inputs.query, &inputs.key, &inputs.value].map(|x| x.layout.shape());
        let [&[batch, length, width], &[_, keys, _], &[_, _, value_width]] =
            shapes.map(|shape| &**shape)
        else {
            return Err(shapes[0].error("attention", "three dimensions"));
        };
        Ok(Self {
            batch,
            length,
            keys,
            width,
            value_width,
        })
    }

    /// How long one element of the batch takes.
    fn steps(self) -> usize {
        let products = self.length.saturating_mul(self.keys);
        products.saturating_mul(self.width + self.value_width + 32) / 32
    }

    /// Blocks of queries: where they start and end, and how many keys they see.
    fn blocks(
        self,
        geometry: &AttentionGeometry,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, usize)> {
        let causal = geometry.is_causal;
        (0..self.length).step_by(QUERIES).map(move |start| {
            let end = self.length.min(start + QUERIES);
            (
                start..end,
                if causal {
                    self.keys.min(end)
                } else {
                    self.keys
                },
            )
        })
    }
}

/// The mask where it lies: what is expanded is neither copied nor read twice from memory.
struct Mask<'a, T: Clone> {
    values: Cow<'a, [T]>,
    /// Where each element of the batch starts.
    starts: Vec<usize>,
    query_stride: usize,
    /// 1, or 0 if one value is for all keys.
    key_stride: usize,
}

impl<'a, T: Float> Mask<'a, T> {
    fn of(mask: Option<&'a Operand>, sizes: Sizes) -> Result<Option<Self>> {
        let Some(mask) = mask else { return Ok(None) };
        // Checks that the layout lies within the memory.
        array_view::<T>(&mask.storage, &mask.layout)?;
        let contiguous;
        let (values, layout) = match mask.layout.strides().last() {
            Some(0 | 1) => (Cow::from(elements::<T>(mask)?), &mask.layout),
            _ => {
                contiguous = Layout::contiguous(mask.layout.shape().clone());
                (to_cow::<T>(mask)?, &contiguous)
            }
        };
        let (shape, strides) = (layout.shape(), layout.strides());
        let (&[ref lead @ .., _, _], &[ref lead_strides @ .., query_stride, key_stride]) =
            (&**shape, strides)
        else {
            return Err(shape.error("attention", "a mask of two dimensions or more"));
        };
        let mut starts = vec![layout.offset()];
        for (&size, &stride) in lead.iter().zip(lead_strides) {
            let inner = |&start: &usize| (0..size).map(move |i| start + i * stride);
            starts = starts.iter().flat_map(inner).collect();
        }
        if starts.len() != sizes.batch {
            return Err(shape.error("attention", "a mask for each element of the batch"));
        }
        Ok(Some(Self {
            values,
            starts,
            query_stride,
            key_stride,
        }))
    }

    /// Adds the mask of a query to the scores of the first keys.
    fn add(&self, row: &mut [T], batch: usize, query: usize) {
        let start = self.starts[batch] + query * self.query_stride;
        if self.key_stride == 0 {
            let value = self.values[start];
            row.iter_mut().for_each(|score| *score = score.plus(value));
        } else {
            let values = &self.values[start..][..row.len()];
            update(row, values, T::plus);
        }
    }
}

/// A matrix over a slice; the sizes were computed from it.
fn matrix<T>(x: &[T], rows: usize, width: usize) -> Result<ArrayView2<'_, T>> {
    ArrayView2::from_shape((rows, width), x).map_err(shape)
}

fn matrix_mut<T>(x: &mut [T], rows: usize, width: usize) -> Result<ArrayViewMut2<'_, T>> {
    ArrayViewMut2::from_shape((rows, width), x).map_err(shape)
}

fn shape(error: ndarray::ShapeError) -> Error {
    let problem = "the operands do not have the checked shapes";
    Error::argument("attention", "shape", error, problem)
}

/// Adds the mask to a row of scores and says how many of them count.
fn masked<T: Float>(
    row: &mut [T],
    mask: Option<&Mask<'_, T>>,
    geometry: &AttentionGeometry,
    [batch, query]: [usize; 2],
) -> usize {
    if let Some(mask) = mask {
        mask.add(row, batch, query);
    }
    if geometry.is_causal {
        row.len().min(query + 1)
    } else {
        row.len()
    }
}

struct Attention<'a>(&'a AttentionInputs, &'a AttentionGeometry);

impl FloatKernel for Attention<'_> {
    type Output = [Storage; 2];

    fn name(&self) -> &'static str {
        "attention"
    }

    fn run<T: Float>(self) -> Result<[Storage; 2]> {
        let Self(inputs, geometry) = self;
        let sizes = Sizes::of(inputs)?;
        let Sizes {
            batch,
            length,
            keys,
            width,
            value_width,
        } = sizes;
        let query = to_cow::<T>(&inputs.query)?;
        let (key, value) = (to_cow::<T>(&inputs.key)?, to_cow::<T>(&inputs.value)?);
        let mask = Mask::<T>::of(inputs.mask.as_ref(), sizes)?;
        room::<T>(batch * length * value_width)?;
        room::<f64>(batch * length)?;
        room::<T>(QUERIES.min(length) * (keys + width))?;
        let mut out = filled(batch * length * value_width, T::zero())?;
        let mut logs = filled(batch * length, f64::NEG_INFINITY)?;
        let one = |b: usize, out: &mut [T], logs: &mut [f64], scores: &mut [T]| -> Result<()> {
            let shared = b / geometry.repeats;
            let key = &key[shared * keys * width..][..keys * width];
            let value = &value[shared * keys * value_width..][..keys * value_width];
            for (range, seen) in sizes.blocks(geometry) {
                let rows = range.len();
                let query = &query[(b * length + range.start) * width..][..rows * width];
                let scores = &mut scores[..rows * seen];
                multiply(
                    number(geometry.scale),
                    &matrix(query, rows, width)?,
                    &matrix(&key[..seen * width], seen, width)?.reversed_axes(),
                    false,
                    matrix_mut(scores, rows, seen)?,
                );
                let out = &mut out[range.start * value_width..][..rows * value_width];
                let mut shares = [T::zero(); QUERIES];
                for (i, row) in scores.chunks_exact_mut(seen).enumerate() {
                    let at = [b, range.start + i];
                    let count = masked(row, mask.as_ref(), geometry, at);
                    let (row, hidden) = row.split_at_mut(count);
                    hidden.fill(T::zero());
                    let most = max(row);
                    // Nothing is seen: the row stays 0.
                    if most == T::NEG_INFINITY && !row.iter().any(|v| v.is_nan()) {
                        row.fill(T::zero());
                        continue;
                    }
                    row.iter_mut().for_each(|v| *v = v.minus(most));
                    exp(row);
                    let total = sum(row);
                    shares[i] = total.recip();
                    logs[range.start + i] = most.to_f64() + total.to_f64().ln();
                }
                multiply(
                    T::one(),
                    &matrix(scores, rows, seen)?,
                    &matrix(&value[..seen * value_width], seen, value_width)?,
                    false,
                    matrix_mut(out, rows, value_width)?,
                );
                for (out, &share) in out.chunks_exact_mut(value_width.max(1)).zip(&shares) {
                    out.iter_mut().for_each(|v| *v = v.times(share));
                }
            }
            Ok(())
        };
        let items = (
            Items(&mut out, length * value_width),
            Items(&mut logs, length),
        );
        let batch = if keys == 0 || length == 0 { 0 } else { batch };
        divide(
            batch,
            sizes.steps(),
            items,
            &|batch, (mut out, mut logs)| {
                let mut scores = vec![T::zero(); QUERIES.min(length) * keys];
                batch
                    .enumerate()
                    .try_for_each(|(i, b)| one(b, out.at(i), logs.at(i), &mut scores))
            },
        )?;
        Ok([CpuStorage::wrap(out), CpuStorage::wrap(logs)])
    }
}

struct Gradient<'a>(
    &'a Operand,
    &'a [Operand; 2],
    &'a AttentionInputs,
    &'a AttentionGeometry,
);

impl FloatKernel for Gradient<'_> {
    type Output = [Storage; 3];

    fn name(&self) -> &'static str {
        "attention"
    }

    /// With `p` the probabilities, computed anew from what was kept of each row:
    ///
    /// ```text
    /// dv = pᵀ g     ds = p (g vᵀ - Σ g y)     dq = ds k · scale     dk = dsᵀ q · scale
    /// ```
    fn run<T: Float>(self) -> Result<[Storage; 3]> {
        let Self(grad, [y, logs], inputs, geometry) = self;
        let sizes = Sizes::of(inputs)?;
        let Sizes {
            batch,
            length,
            keys,
            width,
            value_width,
        } = sizes;
        let query = to_cow::<T>(&inputs.query)?;
        let (key, value) = (to_cow::<T>(&inputs.key)?, to_cow::<T>(&inputs.value)?);
        let (grad, y, logs) = (to_cow::<T>(grad)?, to_cow::<T>(y)?, to_cow::<f64>(logs)?);
        let mask = Mask::<T>::of(inputs.mask.as_ref(), sizes)?;
        [query.len(), key.len(), value.len()]
            .into_iter()
            .try_for_each(room::<T>)?;
        room::<T>(2 * QUERIES.min(length) * keys)?;
        let mut query_grad = filled(query.len(), T::zero())?;
        let mut key_grad = filled(key.len(), T::zero())?;
        let mut value_grad = filled(value.len(), T::zero())?;
        let scale = number::<T>(geometry.scale);
        let repeats = geometry.repeats;
        let one = |b: usize, grads: [&mut [T]; 3], room: &mut [Vec<T>; 2]| -> Result<()> {
            let [query_grad, key_grad, value_grad] = grads;
            let [probabilities, slopes] = room;
            let shared = b / repeats;
            let key_at = shared * keys * width;
            let value_at = shared * keys * value_width;
            for (range, seen) in sizes.blocks(geometry) {
                let rows = range.len();
                let place = b * length + range.start;
                let query = matrix(&query[place * width..][..rows * width], rows, width)?;
                let key = matrix(&key[key_at..][..seen * width], seen, width)?;
                let value = matrix(&value[value_at..][..seen * value_width], seen, value_width)?;
                let out_at = place * value_width..(place + rows) * value_width;
                let (grad, y) = (&grad[out_at.clone()], &y[out_at]);
                let p = &mut probabilities[..rows * seen];
                let slopes = &mut slopes[..rows * seen];
                multiply(scale, &query, &key.t(), false, matrix_mut(p, rows, seen)?);
                for (i, row) in p.chunks_exact_mut(seen).enumerate() {
                    let at = [b, range.start + i];
                    let count = masked(row, mask.as_ref(), geometry, at);
                    let log = logs[place + i];
                    let count = if log == f64::NEG_INFINITY { 0 } else { count };
                    let (row, hidden) = row.split_at_mut(count);
                    hidden.fill(T::zero());
                    let (high, low) = split::<T>(log);
                    row.iter_mut().for_each(|v| *v = v.minus(high).minus(low));
                    exp(row);
                }
                let p_matrix = matrix(p, rows, seen)?;
                let grad_matrix = matrix(grad, rows, value_width)?;
                multiply(
                    T::one(),
                    &p_matrix.t(),
                    &grad_matrix,
                    true,
                    matrix_mut(&mut value_grad[..seen * value_width], seen, value_width)?,
                );
                multiply(
                    T::one(),
                    &grad_matrix,
                    &value.t(),
                    false,
                    matrix_mut(slopes, rows, seen)?,
                );
                for (i, (slopes, p)) in slopes
                    .chunks_exact_mut(seen)
                    .zip(p.chunks_exact(seen))
                    .enumerate()
                {
                    let at = i * value_width..(i + 1) * value_width;
                    let along = sum_of2(&grad[at.clone()], &y[at], T::times);
                    update(slopes, p, |slope, p| slope.minus(along).times(p));
                }
                let slopes = matrix(slopes, rows, seen)?;
                multiply(
                    scale,
                    &slopes,
                    &key,
                    false,
                    matrix_mut(
                        &mut query_grad[range.start * width..][..rows * width],
                        rows,
                        width,
                    )?,
                );
                multiply(
                    scale,
                    &slopes.t(),
                    &query,
                    true,
                    matrix_mut(&mut key_grad[..seen * width], seen, width)?,
                );
            }
            Ok(())
        };
        // Queries that share a key are one item, so that its gradient is added up in one order.
        let items = (
            Items(&mut query_grad, repeats * length * width),
            (
                Items(&mut key_grad, keys * width),
                Items(&mut value_grad, keys * value_width),
            ),
        );
        let shared = if keys == 0 || length == 0 {
            0
        } else {
            batch / repeats
        };
        let steps = sizes.steps().saturating_mul(3 * repeats);
        divide(shared, steps, items, &|shared,
                                       (
            mut query,
            (mut key, mut value),
        )| {
            let mut room = [(); 2].map(|()| vec![T::zero(); QUERIES.min(length) * keys]);
            for (i, shared) in shared.enumerate() {
                for r in 0..repeats {
                    let query = &mut query.at(i)[r * length * width..][..length * width];
                    let grads = [query, key.at(i), value.at(i)];
                    one(shared * repeats + r, grads, &mut room)?;
                }
            }
            Ok(())
        })?;
        Ok([query_grad, key_grad, value_grad].map(CpuStorage::wrap))
    }
}
