//! The losses of connectionist temporal classification composed of other operations, for devices that lack the kernel and for
//! gradients of the gradient.

use module_core::backend::CtcGeometry;
use module_core::{DType, PadMode, Result, Tensor};

use super::super::loss::widen;

/// The logarithm of the probability of an impossible path. It is finite, so that differences of two are numbers, and sums
/// of many stay finite in `F32`.
const LOG_ZERO: f64 = -1e30;

/// The loss of each sequence, `[batch]`, infinite for an impossible target.
pub(super) fn losses(x: &Tensor, geometry: &CtcGeometry) -> Result<Tensor> {
    let x = widen(x)?;
    let losses = Paths::new(geometry, &x)?.compute_losses(&x, &geometry.input_lengths)?;
    let impossible = losses.ge(-LOG_ZERO / 2.0)?;
    losses.masked_fill(&impossible, f64::INFINITY)
}

/// The states that a path runs through: each label of the target, and a blank around each.
struct Paths {
    /// The label of each state, `[batch, states]`; short targets are filled with blanks.
    labels: Tensor,
    /// [`LOG_ZERO`] if a path must not come from that state, else 0: for the states two before, one before and the same,
    /// `[batch, states, 3]`.
    barred: Tensor,
    /// Whether no path can start there, `[batch, states]`.
    no_start: Tensor,
    /// The last two states of each target, `[batch, 2]`; the same one twice for an empty target.
    ends: Tensor,
    /// Whether the second of the two is the same, `[batch, 2]`.
    no_end: Tensor,
}

impl Paths {
    fn new(geometry: &CtcGeometry, x: &Tensor) -> Result<Self> {
        let targets = &geometry.targets;
        let longest = targets.iter().map(Vec::len).max().unwrap_or(0);
        // The labels are elements of a tensor, so that twice as many can be counted.
        let (batch, states) = (targets.len(), 2 * longest + 1);
        // Whether the states of all fit in memory; one long target makes many.
        Tensor::zeros([batch, states, 3], DType::F64)?;
        let (mut labels, mut barred, mut no_start) = (Vec::new(), Vec::new(), Vec::new());
        let (mut ends, mut no_end) = (Vec::new(), Vec::new());
        for (target, &length) in targets.iter().zip(&geometry.input_lengths) {
            for state in 0..states {
                let label = |state: usize| target.get(state / 2).filter(|_| state % 2 == 1);
                labels.push(label(state).copied().unwrap_or(geometry.blank) as i64);
                let before = state.checked_sub(2).and_then(label);
                let skips = label(state).is_some() && before.is_some() && before != label(state);
                barred.extend([if skips { 0.0 } else { LOG_ZERO }, 0.0, 0.0]);
                // Without a time step, a path has no labels.
                let label_first = !target.is_empty() && length > 0;
                no_start.push(state > usize::from(label_first));
            }
            let last = 2 * target.len();
            ends.extend([last as i64, last.saturating_sub(1) as i64]);
            no_end.extend([false, target.is_empty()]);
        }
        let device = x.device();
        let barred = Tensor::from_vec::<f64>(barred, [batch, states, 3])?;
        let barred = barred.to_dtype(x.dtype())?;
        let flags = |flags| Tensor::from_vec(flags, [batch, states])?.to_device(&device);
        Ok(Self {
            labels: Tensor::from_vec(labels, [batch, states])?.to_device(&device)?,
            barred: barred.to_device(&device)?,
            no_start: flags(no_start)?,
            ends: Tensor::from_vec(ends, [batch, 2])?.to_device(&device)?,
            no_end: Tensor::from_vec(no_end, [batch, 2])?.to_device(&device)?,
        })
    }

    /// The loss of each sequence, `[batch]`; about `-LOG_ZERO` for an impossible one.
    fn compute_losses(&self, x: &Tensor, input_lengths: &[usize]) -> Result<Tensor> {
        let time = x.shape()[0];
        let index = self.labels.unsqueeze(0)?;
        let index = index.expand([time as isize, -1, -1])?;
        let emitted = x.gather(2, &index)?.clamp_min(LOG_ZERO)?;
        let zero = emitted.sum(0)?.zeros_like()?;
        // Before the first time step, only the initial states are possible.
        let mut paths = zero.masked_fill(&self.no_start, LOG_ZERO)?;
        for (t, now) in emitted.unbind(0)?.iter().enumerate() {
            let next = match t {
                0 => paths.add(now)?,
                _ => self.step(&paths)?.add(now)?,
            };
            let over: Vec<bool> = input_lengths.iter().map(|&n| n <= t).collect();
            paths = match over.contains(&true) {
                false => next,
                true => {
                    let over = Tensor::from_vec(over, [input_lengths.len(), 1])?;
                    let over = over.to_device(&x.device())?.expand(next.shape())?;
                    over.where_(&paths, &next)?
                }
            };
        }
        let ends = paths.gather(1, &self.ends)?;
        ends.masked_fill(&self.no_end, LOG_ZERO)?
            .logsumexp(1)?
            .neg()
    }

    /// The probabilities of the paths to each state, from the states one time step before.
    fn step(&self, paths: &Tensor) -> Result<Tensor> {
        let before = paths.pad([2, 0], PadMode::Constant(LOG_ZERO.into()))?;
        let before = before.unfold(1, 3, 1)?;
        before.add(&self.barred)?.logsumexp(-1)
    }
}
