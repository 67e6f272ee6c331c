//! Connectionist temporal classification: the probability of a sequence of labels, given those of each time
//! step, at whichever time steps its labels appear.

use module_core::{
    DType, Error, Integers, Lengths, PadMode, Result, Shape, Tensor, is_autocast_enabled,
    no_autocast,
};

use super::Reduction;
use super::loss::{check_floating, widen};
use crate::CTCLossConfig;

const NAME: &str = "ctc_loss";

/// The logarithm of the probability of an impossible path. It is finite, so that differences of two are numbers, and sums
/// of many stay finite in `F32`.
const LOG_ZERO: f64 = -1e30;

/// The negative log-probability of each target, summed over all paths of labels that produce it: repeated labels count
/// once, and blanks are dropped.
///
/// The gradient is that of this function for any input. PyTorch's is that of `log_softmax` and this loss combined; both
/// give the same gradient to the input of `log_softmax`. A target that no path can produce has the gradient 0.
///
/// Source: Graves et al., *Connectionist Temporal Classification: Labeling Unsegmented Sequence
/// Data with Recurrent Neural Networks* (2006).
///
/// # Shapes
///
/// Log-probabilities `[time, batch, labels]`; targets as `I64`, `I32` or `U8`, `[batch, length]` with padding after each,
/// or concatenated `[sum of the lengths]`; the input and target lengths, [`Lengths`] of the batch. Without the batch:
/// `[time, labels]`, `[length]`, and one length of each.
///
/// # Errors
///
/// Other shapes, or empty ones; a target label that is out of range or the blank; lengths beyond the tensors.
///
/// # Example
///
/// ```
/// use module_nn::{CTCLossConfig, DType, Tensor, functional::ctc_loss};
///
/// let x = Tensor::full([2, 2], 0.5_f64.ln(), DType::F64)?;
/// let loss = ctc_loss(&x, &Tensor::from([1_i64]), [2], [1], &CTCLossConfig::new())?;
/// assert!((loss.item::<f64>()? + 0.75_f64.ln()).abs() < 1e-12);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn ctc_loss<'a, 'b>(
    log_probs: &Tensor,
    targets: &Tensor,
    input_lengths: impl Into<Lengths<'a>>,
    target_lengths: impl Into<Lengths<'b>>,
    options: &CTCLossConfig,
) -> Result<Tensor> {
    let lengths = (input_lengths.into(), target_lengths.into());
    match is_autocast_enabled() {
        true => {
            let wide = widen(log_probs)?;
            no_autocast(|| loss(&wide, targets, lengths.0, lengths.1, options))
        }
        false => loss(log_probs, targets, lengths.0, lengths.1, options),
    }
}

/// [`ctc_loss`], compiled once.
fn loss(
    log_probs: &Tensor,
    targets: &Tensor,
    input_lengths: Lengths<'_>,
    target_lengths: Lengths<'_>,
    options: &CTCLossConfig,
) -> Result<Tensor> {
    check_floating(NAME, log_probs)?;
    let x = match log_probs.rank() {
        2 => log_probs.unsqueeze(1)?,
        _ => log_probs.clone(),
    };
    let &[time, batch, labels] = &**x.shape() else {
        let expected = "[time, batch, labels] or [time, labels]";
        return Err(log_probs.shape().error(NAME, expected));
    };
    if x.numel() == 0 {
        let expected = "at least one time step, one sequence and one label";
        return Err(log_probs.shape().error(NAME, expected));
    }
    let blank = options.blank;
    if blank >= labels {
        let problem = format!("must be one of the {labels} label(s)");
        return Err(Error::argument(NAME, "blank", blank, problem));
    }
    let input_lengths = lengths("input_lengths", input_lengths, batch, time)?;
    let target_lengths = lengths("target_lengths", target_lengths, batch, usize::MAX)?;
    let targets = split_targets(targets, &target_lengths, log_probs.rank() == 2)?;
    for &label in targets.iter().flatten() {
        if usize::try_from(label).is_ok_and(|l| l < labels && l != blank) {
            continue;
        }
        let problem = format!("must be a label below {labels} that is not the blank, {blank}");
        return Err(Error::argument(NAME, "targets", label, problem));
    }
    let x = widen(&x)?;
    let losses =
        Paths::new(&targets, &input_lengths, blank, &x)?.compute_losses(&x, &input_lengths)?;
    let losses = if log_probs.rank() == 2 {
        losses.squeeze(0)?
    } else {
        losses
    };
    let impossible = losses.ge(-LOG_ZERO / 2.0)?;
    let instead = if options.zero_infinity {
        0.0
    } else {
        f64::INFINITY
    };
    let losses = losses.masked_fill(&impossible, instead)?;
    let losses = match options.reduction {
        Reduction::None => losses,
        Reduction::Sum => losses.sum(..)?,
        Reduction::Mean => {
            let lengths: Vec<f64> = target_lengths.iter().map(|&n| n.max(1) as f64).collect();
            let divisors = Tensor::from_vec(lengths, losses.shape())?;
            let divisors = divisors
                .to_dtype(losses.dtype())?
                .to_device(&losses.device())?;
            losses.div(&divisors)?.mean(..)?
        }
    };
    losses.to_dtype(log_probs.dtype())
}

/// The lengths of the sequences, each at most `most`.
fn lengths(
    name: &'static str,
    given: Lengths<'_>,
    batch: usize,
    most: usize,
) -> Result<Vec<usize>> {
    let lengths = given.get(NAME, name)?;
    if lengths.len() != batch {
        let expected = format!("{name} of shape [{batch}]");
        return Err(Shape::from(lengths.len()).error(NAME, expected));
    }
    if let Some(length) = lengths.iter().find(|&&length| length > most) {
        let problem = format!("must be between 0 and the {most} time step(s) of the input");
        return Err(Error::argument(NAME, name, length, problem));
    }
    Ok(lengths.into_owned())
}

/// The labels of each target.
fn split_targets(targets: &Tensor, lengths: &[usize], alone: bool) -> Result<Vec<Vec<i64>>> {
    let targets = &targets.to_integers(NAME, Integers::Classes)?;
    let total = lengths
        .iter()
        .try_fold(0_usize, |sum, &n| sum.checked_add(n));
    let flat = || targets.to_vec::<i64>();
    match (&**targets.shape(), total) {
        (&[most], Some(total)) if most == total || (alone && total <= most) => {
            let mut flat = flat()?.into_iter();
            Ok(lengths
                .iter()
                .map(|&n| flat.by_ref().take(n).collect())
                .collect())
        }
        (&[rows, most], _) if rows == lengths.len() && lengths.iter().all(|&n| n <= most) => {
            let flat = flat()?;
            let row =
                |(i, &n): (usize, &usize)| flat.iter().skip(i * most).take(n).copied().collect();
            Ok(lengths.iter().enumerate().map(row).collect())
        }
        _ => {
            let expected = format!(
                "targets of {} row(s), as long as target_lengths = {lengths:?} or longer, or one after the other",
                lengths.len()
            );
            Err(targets.shape().error(NAME, expected))
        }
    }
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
    fn new(
        targets: &[Vec<i64>],
        input_lengths: &[usize],
        blank: usize,
        x: &Tensor,
    ) -> Result<Self> {
        let longest = targets.iter().map(Vec::len).max().unwrap_or(0);
        // The labels are elements of a tensor, so that twice as many can be counted.
        let (batch, states) = (targets.len(), 2 * longest + 1);
        // Whether the states of all fit in memory; one long target makes many.
        Tensor::zeros([batch, states, 3], DType::F64)?;
        let (mut labels, mut barred, mut no_start) = (Vec::new(), Vec::new(), Vec::new());
        let (mut ends, mut no_end) = (Vec::new(), Vec::new());
        for (target, &length) in targets.iter().zip(input_lengths) {
            for state in 0..states {
                let label = |state: usize| target.get(state / 2).filter(|_| state % 2 == 1);
                labels.push(label(state).copied().unwrap_or(blank as i64));
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use module_core::autograd::{gradcheck, gradgradcheck};

    use super::*;

    #[test]
    fn gradients_are_exact_also_twice() -> Result<()> {
        let (time, letters) = (Tensor::from([5_i64, 4]), Tensor::from([2_i64, 1]));
        let targets = Tensor::from([[1_i64, 1], [2, -7]]);
        // Not normalized: the gradient is that of the loss alone.
        let x = [Tensor::randn([5, 2, 3], DType::F64)?];
        let transposed = [x[0].transpose(0, 2)?.contiguous()?.transpose(0, 2)?];
        for reduction in [Reduction::None, Reduction::Mean, Reduction::Sum] {
            let options = CTCLossConfig::new().reduction(reduction);
            let loss = |x: &[Tensor]| ctc_loss(&x[0], &targets, &time, &letters, &options);
            for x in [&x, &transposed] {
                gradcheck(loss, x)?;
                gradgradcheck(loss, x)?;
            }
        }
        let (none, empty) = (
            Tensor::from([0_i64]),
            Tensor::from_vec(Vec::<i64>::new(), 0)?,
        );
        let options = CTCLossConfig::new();
        let loss = |x: &[Tensor]| ctc_loss(&x[0], &empty, [3], &none, &options);
        gradcheck(loss, &[Tensor::randn([3, 3], DType::F64)?])
    }

    #[test]
    fn a_target_that_no_path_spells_has_no_slope() {
        let x = Tensor::randn([2, 1, 3], DType::F64).unwrap();
        let x = x.with_grad().unwrap();
        // The same label twice needs a blank between.
        let loss = |zero_infinity| {
            let options = CTCLossConfig::new().zero_infinity(zero_infinity);
            ctc_loss(&x, &Tensor::from([[1_i64, 1]]), [2], [2], &options).unwrap()
        };
        assert_eq!(loss(true).item::<f64>().unwrap(), 0.0);
        assert_eq!(loss(false).item::<f64>().unwrap(), f64::INFINITY);
        loss(false).backward().unwrap();
        let slopes = x.grad().unwrap().to_vec::<f64>().unwrap();
        assert!(slopes.iter().all(|&slope| slope == 0.0), "{slopes:?}");
    }
}
