//! Connectionist temporal classification: sums over the paths that give a target, step by step.
//!
//! Everything but the log-probabilities and the gradient is in `f64`: sums over hundreds of steps would lose digits in
//! `f32`, and the loops are compiled once.

mod steps;

use steps::{Direction, Steps};

use super::float::Float;
use super::lanes::number;
use super::map::{FloatKernel, run_float};
use super::memory::filled;
use super::threads::{Items, SplitRows, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, CtcGeometry, Operand, Storage, scratch};
use crate::Result;

const NAME: &str = "ctc_loss";

/// The losses of the sequences.
pub(super) fn ctc(x: &Operand, geometry: &CtcGeometry) -> Result<Storage> {
    run_float(geometry.compute, Losses(x, geometry))
}

/// The gradient of the log-probabilities.
pub(super) fn ctc_backward(grad: &Operand, x: &Operand, geometry: &CtcGeometry) -> Result<Storage> {
    run_float(geometry.compute, Gradient(grad, x, geometry))
}

impl CtcGeometry {
    fn batch(&self) -> usize {
        self.targets.len()
    }

    /// The nanoseconds that a sequence takes, about.
    fn sequence_ns(&self) -> usize {
        let longest = self.targets.iter().map(Vec::len).max().unwrap_or(0);
        self.time.saturating_mul(4 * longest + 64)
    }

    fn steps(&self, sequence: usize) -> Result<Steps<'_>> {
        Steps::new(&self.targets[sequence], self.blank)
    }

    /// The log-probabilities at a step of a sequence.
    fn at<'a, T>(&self, x: &'a [T], step: usize, sequence: usize) -> &'a [T] {
        &x[(step * self.batch() + sequence) * self.labels..][..self.labels]
    }
}

struct Losses<'a>(&'a Operand, &'a CtcGeometry);

impl FloatKernel for Losses<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self(x, geometry) = self;
        let x = to_row_major::<T>(x)?;
        let mut losses = filled(geometry.batch(), T::zero())?;
        let (ns, items) = (geometry.sequence_ns(), Items(&mut losses, 1));
        parallel_for(geometry.batch(), ns, items, &|range, losses| {
            for (sequence, loss) in range.zip(losses.0) {
                let mut steps = geometry.steps(sequence)?;
                let [mut before, mut after] = [steps.start(Direction::Later)?, steps.row()?];
                for step in 0..geometry.input_lengths[sequence] {
                    let x = geometry.at(&x, step, sequence);
                    steps.read(|label| x[label].to_f64());
                    steps.step(Direction::Later, &before, &mut after);
                    std::mem::swap(&mut before, &mut after);
                }
                let total = steps.total(&before);
                *loss = number(total.map_or(f64::INFINITY, |total| -total));
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(losses))
    }
}

struct Gradient<'a>(&'a Operand, &'a Operand, &'a CtcGeometry);

impl FloatKernel for Gradient<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self(grad, x, geometry) = self;
        let (grad, x) = (to_row_major::<T>(grad)?, to_row_major::<T>(x)?);
        let (labels, batch) = (geometry.labels, geometry.batch());
        let mut out = filled(x.len(), T::zero())?;
        let rows = SplitRows {
            rows: out.chunks_exact_mut((batch * labels).max(1)).collect(),
            items: labels,
            between_rows: false,
        };
        let ns = geometry.sequence_ns().saturating_mul(3);
        parallel_for(batch, ns, rows, &|range, mut rows| {
            for (at, sequence) in range.enumerate() {
                let x = |step, label: usize| geometry.at(&x, step, sequence)[label].to_f64();
                let grad = -grad[sequence].to_f64();
                let mut steps = geometry.steps(sequence)?;
                let mut write = |step: usize, label: usize, share: f64| {
                    rows.rows[step][at * labels + label] = number(grad * share);
                };
                let length = geometry.input_lengths[sequence];
                visit_shares(&mut steps, length, &x, &mut write)?;
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    }
}

/// Calls `write` with the share of the paths that have a label at a step, for each step and each label of the target and the
/// blank; never if there are no paths. `x` is the log-probability of a label at a step.
fn visit_shares(
    steps: &mut Steps<'_>,
    length: usize,
    x: &dyn Fn(usize, usize) -> f64,
    write: &mut dyn FnMut(usize, usize, f64),
) -> Result<()> {
    let first = steps.start(Direction::Later)?;
    let width = first.len();
    // The paths up to each step, itself included, after those before the first step.
    let mut up_to = scratch::<f64>(width.saturating_mul(length.saturating_add(1)))?;
    up_to[..width].copy_from_slice(&first);
    for step in 0..length {
        steps.read(|label| x(step, label));
        let (before, after) = up_to[step * width..].split_at_mut(width);
        steps.step(Direction::Later, before, &mut after[..width]);
    }
    let Some(total) = steps.total(&up_to[length * width..]) else {
        return Ok(());
    };
    let [mut after, mut before] = [steps.start(Direction::Earlier)?, steps.row()?];
    for step in (0..length).rev() {
        steps.read(|label| x(step, label));
        steps.step(Direction::Earlier, &after, &mut before);
        std::mem::swap(&mut before, &mut after);
        let up_to = &up_to[(step + 1) * width..][..width];
        steps.shares([up_to, &after], total, |label, share| {
            write(step, label, share)
        });
    }
    Ok(())
}
