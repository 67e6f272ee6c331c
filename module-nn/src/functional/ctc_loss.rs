//! Connectionist temporal classification: the probability of a sequence of labels, given those of each time
//! step, at whichever time steps its labels appear.

mod composed;
mod fused;

use module_core::backend::CtcGeometry;
use module_core::{
    Error, Integers, Lengths, Result, Shape, Tensor, is_autocast_enabled, no_autocast,
};

use super::Reduction;
use super::loss::{check_floating, compute_dtype, widen};
use crate::CTCLossConfig;

const NAME: &str = "ctc_loss";

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
    let input_lengths = input_lengths.get(NAME, "input_lengths")?;
    if input_lengths.len() == time && time != batch && log_probs.rank() == 3 {
        let expected = format!(
            "log-probabilities [time, batch, labels] of {time} sequence(s), as many as input_lengths (`transpose(0, 1)` turns [batch, time, labels] into this)"
        );
        return Err(log_probs.shape().error(NAME, expected));
    }
    let target_lengths = target_lengths.get(NAME, "target_lengths")?;
    check_lengths("input_lengths", &input_lengths, batch, time)?;
    check_lengths("target_lengths", &target_lengths, batch, usize::MAX)?;
    let targets = split_targets(targets, &target_lengths, log_probs.rank() == 2)?;
    let checked = |label: i64| match usize::try_from(label) {
        Ok(label) if label < labels && label != blank => Ok(label),
        _ => {
            let problem = format!("must be a label below {labels} that is not the blank, {blank}");
            Err(Error::argument(NAME, "targets", label, problem))
        }
    };
    let targets = targets
        .into_iter()
        .map(|target| target.into_iter().map(checked).collect());
    let geometry = CtcGeometry {
        time,
        labels,
        blank,
        input_lengths: input_lengths.into_owned(),
        targets: targets.collect::<Result<_>>()?,
        compute: compute_dtype(&x),
    };
    let mut losses = fused::losses(&x, geometry)?;
    if log_probs.rank() == 2 {
        losses = losses.squeeze(0)?;
    }
    if options.zero_infinity {
        losses = losses.masked_fill(&losses.eq(f64::INFINITY)?, 0.0)?;
    }
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

/// Checks that there is a length for each sequence, at most `most`.
fn check_lengths(name: &'static str, lengths: &[usize], batch: usize, most: usize) -> Result<()> {
    if lengths.len() != batch {
        let expected = format!("{name} of shape [{batch}]");
        return Err(Shape::from(lengths.len()).error(NAME, expected));
    }
    if let Some(length) = lengths.iter().find(|&&length| length > most) {
        let problem = format!("must be between 0 and the {most} time step(s) of the input");
        return Err(Error::argument(NAME, name, length, problem));
    }
    Ok(())
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use module_core::DType;
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
    fn the_kernel_agrees_with_the_composed_losses() -> Result<()> {
        // Empty and impossible targets, repeated labels, sequences without steps, and more states than a vector has.
        let targets = [vec![], vec![], vec![2], vec![1, 1], vec![2; 9], vec![1, 2]];
        let mut targets = targets.to_vec();
        targets.push((0..23).map(|i| 1 + i * i % 2).collect());
        targets.push(vec![2, 1, 1]);
        let geometry = CtcGeometry {
            time: 40,
            labels: 4,
            blank: 3,
            input_lengths: vec![40, 0, 0, 3, 16, 2, 40, 33],
            targets,
            compute: DType::F64,
        };
        let x = Tensor::randn([40, 8, 4], DType::F64)?.mul(5.0)?;
        // Some labels are impossible at some steps.
        let barred = Tensor::rand([40, 8, 4], DType::F64)?.lt(0.03)?;
        for x in [x.clone(), x.masked_fill(&barred, f64::NEG_INFINITY)?] {
            let run = |kernel: bool| {
                let x = x.detach().with_grad()?;
                let losses = match kernel {
                    true => fused::losses(&x, geometry.clone())?,
                    false => composed::losses(&x, &geometry)?,
                };
                losses.backward_with(
                    &Tensor::linspace(1.0, 2.0, 8, DType::F64)?,
                    Default::default(),
                )?;
                let grad = x.grad().map_or_else(|| x.zeros_like(), Ok)?;
                let mut numbers = losses.detach().to_vec::<f64>()?;
                numbers.extend(grad.to_vec::<f64>()?);
                Ok::<_, Error>(numbers)
            };
            let (kernel, composed) = (run(true)?, run(false)?);
            let finite = kernel[..8].iter().filter(|loss| loss.is_finite()).count();
            assert!(finite > 2, "{kernel:?}");
            assert_eq!(kernel[1..3], [0.0, f64::INFINITY]);
            for (i, (a, b)) in kernel.iter().zip(&composed).enumerate() {
                assert!(a == b || (a - b).abs() < 1e-9, "{i}: {a} and {b}");
            }
        }
        Ok(())
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
