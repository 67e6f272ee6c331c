//! Scaled dot-product attention, a block of queries at a time, so that no matrix of all scores is
//! kept.

use std::ops::Range;

use super::aligned_vec::AlignedVec;
use super::attention_mask::{Mask, Matrices};
use super::attention_products::{write_scores, write_sums};
use super::attention_scores::{Probabilities, ScaleRows, ScoreGrads, Scores, Softmax};
use super::compute::saved_elements;
use super::float::Float;
use super::gemm::{Matrix, MatrixMut, multiply};
use super::map::{FloatKernel, run_float};
use super::memory::{filled, scratch};
use super::simd::run_at_best_level;
use super::threads::{Items, parallel_for};
use super::{
    AttentionGeometry, AttentionInputs, CpuStorage, Operand, Saved, Storage, check_allocatable,
};
use crate::Result;

const NAME: &str = "attention";

/// The maximum number of queries that are processed together, as long as their scores stay in the second-level cache: keys and
/// values are laid out for products once for all of them.
const QUERIES: usize = 128;

/// The number of queries that are processed together otherwise. If queries do not see the keys after them, more would compute
/// more scores that are not seen.
const FEW_QUERIES: usize = 64;

/// The number of scores, for one block of queries, that stay in the second-level cache beside keys and values.
const NEAR: usize = 1 << 15;

pub(super) fn attention(
    inputs: &AttentionInputs,
    geometry: &AttentionGeometry,
) -> Result<(Storage, Saved)> {
    run_float(inputs.query.storage.dtype(), Attention(inputs, geometry))
}

pub(super) fn attention_backward(
    grad: &Operand,
    inputs: &AttentionInputs,
    saved: &Saved,
    geometry: &AttentionGeometry,
) -> Result<[Storage; 3]> {
    let dtype = inputs.query.storage.dtype();
    run_float(dtype, Gradient(grad, inputs, saved, geometry))
}

/// The sizes of one attention.
#[derive(Clone, Copy)]
struct AttentionSizes {
    batch: usize,
    length: usize,
    keys: usize,
    width: usize,
    value_width: usize,
}

impl AttentionSizes {
    fn of(inputs: &AttentionInputs) -> Result<Self> {
        let shapes = [&inputs.query, &inputs.key, &inputs.value].map(|x| x.layout.shape());
        let [&[batch, length, width], &[_, keys, _], &[_, _, value_width]] =
            shapes.map(|shape| &**shape)
        else {
            return Err(shapes[0].error(NAME, "three dimensions"));
        };
        Ok(Self {
            batch,
            length,
            keys,
            width,
            value_width,
        })
    }

    /// The cost of one element of the batch in nanoseconds.
    fn element_ns(self, geometry: &AttentionGeometry) -> usize {
        let window = geometry.causal.and_then(|causal| causal.window);
        let keys = window.map_or(self.keys, |window| {
            self.keys.min(window.saturating_add(self.queries(geometry)))
        });
        let products = self.length.saturating_mul(keys);
        if self.length == 1 {
            // Keys and values are read once, which takes longer than to multiply them.
            return products.saturating_mul(self.width + self.value_width) / 8;
        }
        products.saturating_mul(self.width + self.value_width + 32) / 32
    }

    /// The number of queries that are processed together.
    fn queries(self, geometry: &AttentionGeometry) -> usize {
        let is_near = self.keys.saturating_mul(QUERIES) <= NEAR;
        let most = if geometry.causal.is_none() && is_near {
            QUERIES
        } else {
            FEW_QUERIES
        };
        most.min(self.length)
    }

    /// Memory of so many elements for results: those that are not written are 0.
    fn results<T: Float>(self, geometry: &AttentionGeometry, len: usize) -> Result<AlignedVec<T>> {
        match self.writes_all(geometry) {
            true => scratch(len),
            false => filled(len, T::zero()),
        }
    }

    /// Whether every query sees every key, so that each block writes its whole results.
    fn writes_all(self, geometry: &AttentionGeometry) -> bool {
        geometry.causal.is_none() && self.keys > 0 && self.length > 0
    }

    /// Blocks of queries, and the keys that any of a block sees, if there are some.
    fn blocks(
        self,
        geometry: &AttentionGeometry,
    ) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let (causal, keys) = (geometry.causal, self.keys);
        let queries = self.queries(geometry);
        let blocks = (0..self.length).step_by(queries.max(1)).map(move |start| {
            let end = self.length.min(start + queries);
            let seen = match causal {
                Some(causal) => {
                    causal.visible(start, keys).start..causal.visible(end - 1, keys).end
                }
                None => 0..keys,
            };
            (start..end, seen)
        });
        blocks.filter(|(_, seen)| !seen.is_empty())
    }
}

struct Attention<'a>(&'a AttentionInputs, &'a AttentionGeometry);

impl FloatKernel for Attention<'_> {
    /// The output, and what is saved of it: the output as it was computed, and the `ln Σ eˣ` of each row of the
    /// softmax.
    type Output = (Storage, Saved);

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<(Storage, Saved)> {
        let Self(inputs, geometry) = self;
        let sizes = AttentionSizes::of(inputs)?;
        let AttentionSizes {
            batch,
            length,
            keys,
            width,
            value_width,
        } = sizes;
        let query = Matrices::<T>::of(&inputs.query)?;
        let (key, value) = (
            Matrices::<T>::of(&inputs.key)?,
            Matrices::<T>::of(&inputs.value)?,
        );
        let mask = Mask::<T>::of(inputs.mask.as_ref(), batch)?;
        let scores_of = Scores::new(mask.as_ref(), geometry);
        let queries = sizes.queries(geometry);
        check_allocatable::<T>(batch * length * value_width)?;
        check_allocatable::<f64>(batch * length)?;
        check_allocatable::<T>(queries * (keys + width))?;
        let mut out = sizes.results(geometry, batch * length * value_width)?;
        let mut logs = filled(batch * length, f64::NEG_INFINITY)?;
        let one = |b: usize, out: &mut [T], logs: &mut [f64], scores: &mut [T]| -> Result<()> {
            let shared = b / geometry.repeats;
            let (query, key, value) = (query.at(b), key.at(shared), value.at(shared));
            for (range, keys) in sizes.blocks(geometry) {
                let (rows, seen) = (range.len(), keys.len());
                let query = &query[range.start * width..][..rows * width];
                let scores = &mut scores[..rows * seen];
                let key = &key[keys.start * width..][..seen * width];
                write_scores(query, key, width, rows, scores)?;
                let out = &mut out[range.start * value_width..][..rows * value_width];
                let mut shares = [T::zero(); QUERIES];
                let shares = &mut shares[..rows];
                run_at_best_level(Softmax {
                    block: scores_of.block(b, &range, &keys),
                    scores,
                    shares,
                    logs: &mut logs[range],
                });
                let value = &value[keys.start * value_width..][..seen * value_width];
                write_sums(scores, value, value_width, rows, out)?;
                run_at_best_level(ScaleRows {
                    rows: out,
                    width: value_width,
                    factors: shares,
                });
            }
            Ok(())
        };
        let items = (
            Items(&mut out, length * value_width),
            Items(&mut logs, length),
        );
        let batch = if keys == 0 || length == 0 { 0 } else { batch };
        parallel_for(batch, sizes.element_ns(geometry), items, &|batch,
                                                                 (
            mut out,
            mut logs,
        )| {
            let mut scores = vec![T::zero(); queries * keys];
            batch
                .enumerate()
                .try_for_each(|(i, b)| one(b, out.at(i), logs.at(i), &mut scores))
        })?;
        let out = CpuStorage::wrap(out);
        let saved = Saved::new([out.clone(), CpuStorage::wrap(logs)]);
        Ok((out, saved))
    }
}

struct Gradient<'a>(
    &'a Operand,
    &'a AttentionInputs,
    &'a Saved,
    &'a AttentionGeometry,
);

impl FloatKernel for Gradient<'_> {
    type Output = [Storage; 3];

    fn name(&self) -> &'static str {
        NAME
    }

    /// With `p` the probabilities, computed anew from what was kept of each row:
    ///
    /// ```text
    /// dv = pᵀ g     ds = scale p (g vᵀ - Σ g y)     dq = ds k     dk = dsᵀ q
    /// ```
    fn run<T: Float>(self) -> Result<[Storage; 3]> {
        let Self(grad, inputs, saved, geometry) = self;
        let sizes = AttentionSizes::of(inputs)?;
        let AttentionSizes {
            batch,
            length,
            keys,
            width,
            value_width,
        } = sizes;
        let query = Matrices::<T>::of(&inputs.query)?;
        let (key, value) = (
            Matrices::<T>::of(&inputs.key)?,
            Matrices::<T>::of(&inputs.value)?,
        );
        let grad = Matrices::<T>::of(grad)?;
        let [y, logs] = saved.storages(NAME)?;
        let y = saved_elements::<T>(y, batch * length * value_width, NAME)?;
        let logs = saved_elements::<f64>(logs, batch * length, NAME)?;
        let mask = Mask::<T>::of(inputs.mask.as_ref(), batch)?;
        let scores_of = Scores::new(mask.as_ref(), geometry);
        let numels = [&inputs.query, &inputs.key, &inputs.value].map(|x| x.layout.shape().numel());
        numels.into_iter().try_for_each(check_allocatable::<T>)?;
        let queries = sizes.queries(geometry);
        check_allocatable::<T>(2 * queries * keys)?;
        let mut query_grad = sizes.results(geometry, numels[0])?;
        let mut key_grad = sizes.results(geometry, numels[1])?;
        let mut value_grad = sizes.results(geometry, numels[2])?;
        let repeats = geometry.repeats;
        let one = |b: usize, grads: [&mut [T]; 3], scratch: &mut [Vec<T>; 2]| -> Result<()> {
            let [query_grad, key_grad, value_grad] = grads;
            let [probabilities, slopes] = scratch;
            let shared = b / repeats;
            let (query, key, value) = (query.at(b), key.at(shared), value.at(shared));
            let (grad, y) = (grad.at(b), &y[b * length * value_width..]);
            for (range, keys) in sizes.blocks(geometry) {
                let (rows, seen) = (range.len(), keys.len());
                let (key_at, value_at) = (keys.start * width, keys.start * value_width);
                let query = &query[range.start * width..][..rows * width];
                let key = &key[key_at..][..seen * width];
                let value = Matrix::new(&value[value_at..][..seen * value_width], seen);
                let out_at = range.start * value_width..range.end * value_width;
                let (grad, y) = (&grad[out_at.clone()], &y[out_at]);
                // What is there from other queries of the same keys.
                let add =
                    !sizes.writes_all(geometry) || !b.is_multiple_of(repeats) || range.start > 0;
                let p = &mut probabilities[..rows * seen];
                let slopes = &mut slopes[..rows * seen];
                write_scores(query, key, width, rows, p)?;
                let (query, key) = (Matrix::new(query, rows), Matrix::new(key, seen));
                run_at_best_level(Probabilities {
                    block: scores_of.block(b, &range, &keys),
                    scores: p,
                    logs: &logs[b * length..][range.clone()],
                });
                let grad_matrix = Matrix::new(grad, rows);
                multiply(
                    T::one(),
                    Matrix::new(p, rows).t(),
                    grad_matrix,
                    add,
                    MatrixMut::new(&mut value_grad[value_at..][..seen * value_width], seen),
                );
                let out = MatrixMut::new(slopes, rows);
                multiply(T::one(), grad_matrix, value.t(), false, out);
                run_at_best_level(ScoreGrads {
                    grads: slopes,
                    p,
                    keys: seen,
                    g: grad,
                    y,
                    width: value_width,
                    scale: scores_of.scale,
                });
                let slopes = Matrix::new(slopes, rows);
                let query_grad = &mut query_grad[range.start * width..][..rows * width];
                let out = MatrixMut::new(query_grad, rows);
                multiply(T::one(), slopes, key, false, out);
                let out = MatrixMut::new(&mut key_grad[key_at..][..seen * width], seen);
                multiply(T::one(), slopes.t(), query, add, out);
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
        let shared_ns = sizes.element_ns(geometry).saturating_mul(3 * repeats);
        parallel_for(shared, shared_ns, items, &|shared,
                                                 (
            mut query,
            (mut key, mut value),
        )| {
            let mut scratch = [(); 2].map(|()| vec![T::zero(); queries * keys]);
            for (i, shared) in shared.enumerate() {
                for r in 0..repeats {
                    let query = &mut query.at(i)[r * length * width..][..length * width];
                    let grads = [query, key.at(i), value.at(i)];
                    one(shared * repeats + r, grads, &mut scratch)?;
                }
            }
            Ok(())
        })?;
        Ok([query_grad, key_grad, value_grad].map(CpuStorage::wrap))
    }
}
