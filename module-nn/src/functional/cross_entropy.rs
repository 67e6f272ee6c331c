use module_core::{DType, Error, ErrorKind, Result, Tensor};
use serde::{Deserialize, Serialize};

/// How a loss joins the losses of its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduction {
    /// Not at all.
    None,
    /// Their mean, weighted if the loss has weights.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

/// The options of [`cross_entropy`], with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropyOptions<'a> {
    /// A weight for each class, `[classes]`.
    pub weight: Option<&'a Tensor>,
    /// A class whose elements count nothing.
    pub ignore_index: i64,
    /// How the losses of the elements are joined.
    pub reduction: Reduction,
    /// How much of the target is spread evenly over all classes.
    pub label_smoothing: f64,
}

impl Default for CrossEntropyOptions<'_> {
    fn default() -> Self {
        Self {
            weight: None,
            ignore_index: -100,
            reduction: Reduction::Mean,
            label_smoothing: 0.0,
        }
    }
}

/// `-Σ wᶜ · tᶜ · log softmax(x)ᶜ`, where `t` is the target as probabilities of the classes.
///
/// # Shapes
///
/// Logits `[classes]`, `[batch, classes]` or `[batch, classes, …]`. The target holds classes as
/// `I64` in the same shape without the dimension of the classes, or probabilities in the same
/// shape.
///
/// # Errors
///
/// A target of another shape, also where it would broadcast; a class that is out of range; a
/// weight that is not `[classes]`; smoothing outside `[0, 1]`.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::cross_entropy};
///
/// let loss = cross_entropy(&Tensor::from([[0.0_f32, 0.0]]), &Tensor::from([1_i64]), Default::default())?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn cross_entropy(
    input: &Tensor,
    target: &Tensor,
    options: CrossEntropyOptions<'_>,
) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&options.label_smoothing) {
        let problem = "must be between 0 and 1";
        return Err(Error::argument(
            NAME,
            "label_smoothing",
            options.label_smoothing,
            problem,
        ));
    }
    if input.rank() == 0 {
        let (expected, got) = (
            "logits with a dimension of classes".to_owned(),
            input.shape().clone(),
        );
        return Err(ErrorKind::Shape {
            op: NAME,
            expected,
            got,
        }
        .into());
    }
    let dim = isize::from(input.rank() > 1);
    let classes = input.size(dim)?;
    if let Some(weight) = options
        .weight
        .filter(|weight| **weight.shape() != [classes])
    {
        let (expected, got) = (format!("a weight [{classes}]"), weight.shape().clone());
        return Err(ErrorKind::Shape {
            op: NAME,
            expected,
            got,
        }
        .into());
    }
    if target.shape() == input.shape() && target.dtype().is_floating_point() {
        return of_probabilities(input, target, dim, classes, options);
    }
    let expected = input
        .shape()
        .iter()
        .enumerate()
        .filter(|&(d, _)| d as isize != dim);
    let expected: module_core::Shape = expected.map(|(_, &size)| size).collect();
    if *target.shape() != expected || target.dtype() != DType::I64 {
        let rule = format!(
            "a target holds int64 classes of shape {expected} or probabilities of shape {}, not {}",
            input.shape(),
            target.dtype()
        );
        let (lhs, rhs) = (input.shape().clone(), target.shape().clone());
        return Err(ErrorKind::ShapeMismatch {
            op: NAME,
            lhs,
            rhs,
            rule,
        }
        .into());
    }
    of_classes(input, target, dim, classes, options)
}

const NAME: &str = "cross_entropy";

/// The weights as a column that broadcasts along the classes.
fn column(weight: &Tensor, input: &Tensor, dim: isize) -> Result<Tensor> {
    let sizes: Vec<isize> = (0..input.rank() as isize)
        .map(|d| if d == dim { -1 } else { 1 })
        .collect();
    weight.reshape(sizes)
}

fn of_probabilities(
    input: &Tensor,
    target: &Tensor,
    dim: isize,
    classes: usize,
    options: CrossEntropyOptions<'_>,
) -> Result<Tensor> {
    let smoothing = options.label_smoothing;
    let target = match smoothing > 0.0 {
        true => target
            .mul(1.0 - smoothing)?
            .add(smoothing / classes as f64)?,
        false => target.clone(),
    };
    let mut terms = input.log_softmax(dim)?.mul(&target)?;
    if let Some(weight) = options.weight {
        terms = terms.mul(&column(weight, input, dim)?)?;
    }
    let losses = terms.sum(dim, false)?.neg()?;
    match options.reduction {
        Reduction::None => Ok(losses),
        Reduction::Sum => losses.sum(.., false),
        // The weights of the classes do not enter the divisor here.
        Reduction::Mean => losses.sum(.., false)?.div(losses.numel() as f64),
    }
}

fn of_classes(
    input: &Tensor,
    target: &Tensor,
    dim: isize,
    classes: usize,
    options: CrossEntropyOptions<'_>,
) -> Result<Tensor> {
    let ignored = target.eq(options.ignore_index)?;
    // An ignored element reads class 0 and is masked afterwards.
    let safe = ignored.where_(&target.zeros_like()?, target)?;
    let index = safe.unsqueeze(dim)?;
    let log = input.log_softmax(dim)?;
    let zero = Tensor::zeros((), input.dtype(), &input.device())?;
    let picked = log
        .gather(dim, &index)
        .map_err(|error| class_error(error, classes))?;
    let mut losses = picked.squeeze(dim)?.neg()?;
    let mut weights = losses.detach().ones_like()?;
    if let Some(weight) = options.weight {
        let of_target = weight.index_select(0, &safe.reshape([-1])?)?;
        weights = of_target.reshape_to(target.shape())?;
        losses = losses.mul(&weights)?;
    }
    losses = ignored.where_(&zero, &losses)?;
    let total = ignored.where_(&zero, &weights)?.sum(.., false)?;
    let smoothing = options.label_smoothing;
    if smoothing > 0.0 {
        let weighted = match options.weight {
            Some(weight) => log.mul(&column(weight, input, dim)?)?,
            None => log,
        };
        let spread = ignored.where_(&zero, &weighted.sum(dim, false)?.neg()?)?;
        losses = losses
            .mul(1.0 - smoothing)?
            .add(&spread.mul(smoothing / classes as f64)?)?;
    }
    match options.reduction {
        Reduction::None => Ok(losses),
        Reduction::Sum => losses.sum(.., false),
        Reduction::Mean => losses.sum(.., false)?.div(&total),
    }
}

/// The look-up's error in the words of the loss.
fn class_error(error: Error, classes: usize) -> Error {
    match error.kind() {
        &ErrorKind::Index { index, .. } => Error::argument(
            NAME,
            "target",
            index,
            format!("must be a class below {classes}"),
        ),
        _ => error,
    }
}
