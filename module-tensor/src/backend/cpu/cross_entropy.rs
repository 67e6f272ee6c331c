//! The cross-entropy of logits with classes, without a tensor of probabilities.

// As in `softmax.rs`.
#![allow(clippy::needless_range_loop)]

use super::aligned_vec::AlignedVec;
use super::compute::saved_elements;
use super::float::Float;
use super::lanes::{number, split, sum_of2};
use super::logsumexp::log_sums;
use super::map::{FloatKernel, run_float};
use super::memory::{filled, scratch};
use super::simd::{Loop, run_at_best_level};
use super::softmax::Lanes;
use super::threads::{Items, parallel_for};
use super::view::{to_row_major, to_vec};
use super::{
    CpuStorage, CrossEntropyGeometry, CrossEntropyInputs, Operand, Saved, Storage,
    check_allocatable,
};
use crate::{Result, ShapeError};

const NAME: &str = "cross_entropy";

pub(super) fn cross_entropy(
    inputs: &CrossEntropyInputs,
    geometry: &CrossEntropyGeometry,
) -> Result<(Storage, Saved)> {
    run_float(inputs.x.storage.dtype(), CrossEntropy(inputs, geometry))
}

pub(super) fn cross_entropy_backward(
    grad: &Operand,
    inputs: &CrossEntropyInputs,
    saved: &Saved,
    geometry: &CrossEntropyGeometry,
) -> Result<Storage> {
    let dtype = inputs.x.storage.dtype();
    run_float(dtype, Gradient(grad, inputs, saved, geometry))
}

impl CrossEntropyGeometry {
    fn lanes(&self) -> Lanes {
        Lanes {
            size: self.classes,
            inner: self.inner,
        }
    }

    /// The share of the target that each class gets by smoothing, and the share of the class itself.
    fn shares(&self) -> (f64, f64) {
        let spread = self.label_smoothing / self.classes as f64;
        (spread, 1.0 - self.label_smoothing)
    }

    /// The class, or `None` where it is ignored.
    fn class(&self, target: i64) -> Result<Option<usize>> {
        if target == self.ignore_index {
            return Ok(None);
        }
        match usize::try_from(target) {
            Ok(class) if class < self.classes => Ok(Some(class)),
            _ => Err(ShapeError::Index {
                op: NAME,
                index: target,
                size: self.classes,
            }
            .into()),
        }
    }
}

/// The weights of the classes, 1 for each if there are none.
fn weights<T: Float>(weight: Option<&Operand>, classes: usize) -> Result<AlignedVec<T>> {
    match weight {
        Some(weight) => to_vec(weight),
        None => {
            check_allocatable::<T>(classes)?;
            Ok(vec![T::one(); classes].into())
        }
    }
}

struct CrossEntropy<'a>(&'a CrossEntropyInputs, &'a CrossEntropyGeometry);

impl FloatKernel for CrossEntropy<'_> {
    type Output = (Storage, Saved);

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<(Storage, Saved)> {
        let Self(inputs, geometry) = self;
        let (x, target) = (
            to_row_major::<T>(&inputs.x)?,
            to_row_major::<i64>(&inputs.target)?,
        );
        let weight = weights::<T>(inputs.weight.as_ref(), geometry.classes)?;
        let lanes = geometry.lanes();
        check_allocatable::<[f64; 2]>(target.len())?;
        let mut logs = if x.is_empty() {
            vec![f64::NEG_INFINITY; target.len()]
        } else {
            log_sums(&x, lanes)
        };
        // An infinite logit has no probability.
        for log in logs.iter_mut().filter(|log| log.is_infinite()) {
            *log = f64::NAN;
        }
        let (spread, own) = geometry.shares();
        let mut losses = filled(target.len(), T::zero())?;
        for (i, ((loss, &target), &log)) in
            losses.iter_mut().zip(target.iter()).zip(&logs).enumerate()
        {
            let Some(class) = geometry.class(target)? else {
                continue;
            };
            let start = i / lanes.inner * lanes.block() + i % lanes.inner;
            let surprise = |class: usize| {
                let x = x[start + class * lanes.inner];
                weight[class].to_f64() * (log - x.to_f64())
            };
            let mut total = own * surprise(class);
            if spread > 0.0 {
                let (high, low) = split::<T>(log);
                let all = if lanes.inner == 1 {
                    let row = &x[start..start + lanes.size];
                    let sum = sum_of2(row, &weight, |x, w| high.minus(x).plus(low).times(w));
                    sum.to_f64()
                } else {
                    (0..lanes.size).map(surprise).sum()
                };
                total += spread * all;
            }
            *loss = number(total);
        }
        let saved = Saved::new([CpuStorage::wrap(logs)]);
        Ok((CpuStorage::wrap(losses), saved))
    }
}

struct Gradient<'a>(
    &'a Operand,
    &'a CrossEntropyInputs,
    &'a Saved,
    &'a CrossEntropyGeometry,
);

/// The contribution of one element to the gradients of its logits: `pull · pᶜ - even · wᶜ`, and `- own` at its
/// class.
struct Slope<T> {
    high: T,
    low: T,
    pull: T,
    even: T,
    /// The index of the class, and the number that is subtracted there; `None` where the element is ignored.
    own: Option<(usize, T)>,
}

impl FloatKernel for Gradient<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self(grad, inputs, saved, geometry) = self;
        let (x, target) = (
            to_row_major::<T>(&inputs.x)?,
            to_row_major::<i64>(&inputs.target)?,
        );
        let grad = to_row_major::<T>(grad)?;
        let [log] = saved.storages(NAME)?;
        let log = saved_elements::<f64>(log, target.len(), NAME)?;
        let weight = weights::<T>(inputs.weight.as_ref(), geometry.classes)?;
        let lanes = geometry.lanes();
        let (spread, own) = geometry.shares();
        let all: f64 = weight.iter().map(|w| w.to_f64()).sum();
        check_allocatable::<T>(x.len())?;
        let mut out = scratch::<T>(x.len())?;
        if x.is_empty() {
            return Ok(CpuStorage::wrap(out));
        }
        let slope = |i: usize| -> Result<Slope<T>> {
            let class = geometry.class(target[i])?;
            let (high, low) = split::<T>(log[i]);
            let grad = grad[i].to_f64();
            let weight = class.map_or(0.0, |class| weight[class].to_f64() * own);
            Ok(Slope {
                high,
                low,
                pull: number(grad * (weight + spread * all)),
                even: number(grad * spread),
                own: class.map(|class| (class, number(grad * weight))),
            })
        };
        check_allocatable::<[T; 4]>(lanes.inner)?;
        let block = lanes.block();
        let items = Items(&mut out, block);
        parallel_for(x.len() / block, block, items, &|range, mut out| {
            // The slopes of neighbors, part by part, so that the loops over them are plain.
            let mut parts = [(); 4].map(|()| Vec::with_capacity(lanes.inner));
            for (at, i) in range.enumerate() {
                let (out, x) = (out.at(at), &x[i * block..][..block]);
                if lanes.inner == 1 {
                    let slope = slope(i)?;
                    let Some((class, own)) = slope.own else {
                        out.fill(T::zero());
                        continue;
                    };
                    run_at_best_level(Row {
                        out,
                        x,
                        weight: &weight,
                        slope: &slope,
                    });
                    out[class] = out[class].minus(own);
                    continue;
                }
                parts.iter_mut().for_each(Vec::clear);
                let [highs, lows, pulls, evens] = &mut parts;
                for j in 0..lanes.inner {
                    let slope = slope(i * lanes.inner + j)?;
                    highs.push(slope.high);
                    lows.push(slope.low);
                    let counts = slope.own.is_some();
                    pulls.push(if counts { slope.pull } else { T::zero() });
                    evens.push(if counts { slope.even } else { T::zero() });
                }
                run_at_best_level(Block {
                    out,
                    x,
                    weight: &weight,
                    slopes: [highs, lows, pulls, evens],
                });
                for j in 0..lanes.inner {
                    if let Some((class, own)) = slope(i * lanes.inner + j)?.own {
                        let out = &mut out[class * lanes.inner + j];
                        *out = out.minus(own);
                    }
                }
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    }
}

/// The slopes of one element's logits, its own class left out.
struct Row<'a, T> {
    out: &'a mut [T],
    x: &'a [T],
    weight: &'a [T],
    slope: &'a Slope<T>,
}

impl<T: Float> Loop for Row<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let &Slope {
            high,
            low,
            pull,
            even,
            ..
        } = self.slope;
        let (out, len) = (self.out, self.x.len());
        let (out, x, weight) = (&mut out[..len], self.x, &self.weight[..len]);
        for i in 0..len {
            let share = x[i].minus(high).minus(low).exp_of_negative();
            out[i] = share.times(pull).minus(weight[i].times(even));
        }
    }
}

/// The same for neighbors, class by class.
struct Block<'a, T> {
    out: &'a mut [T],
    x: &'a [T],
    weight: &'a [T],
    /// The high and low parts of the logarithms, the pulls and the evens.
    slopes: [&'a [T]; 4],
}

impl<T: Float> Loop for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let [highs, lows, pulls, evens] = self.slopes;
        let inner = highs.len();
        let (lows, pulls, evens) = (&lows[..inner], &pulls[..inner], &evens[..inner]);
        let rows = self.out.chunks_exact_mut(inner);
        let rows = rows.zip(self.x.chunks_exact(inner));
        for ((out, x), &weight) in rows.zip(self.weight) {
            let (out, x) = (&mut out[..inner], &x[..inner]);
            for i in 0..inner {
                let share = x[i].minus(highs[i]).minus(lows[i]).exp_of_negative();
                out[i] = share.times(pulls[i]).minus(weight.times(evens[i]));
            }
        }
    }
}
