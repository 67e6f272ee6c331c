//! The cross-entropy of the logits of a linear map, without holding all of them in memory.

use module_core::autograd::grad_with;
use module_core::{
    AutocastPolicy, Backward, BackwardOptions, CrossEntropyOptions, DType, Error, Function,
    Gradients, Reduction, Result, Tensor, enable_grad, is_grad_enabled, no_grad,
};

use super::loss::widen;
use crate::config::{check_positive, config};

config! {
    /// How [`linear_cross_entropy`] splits its rows into chunks, so that only the logits of one chunk are in memory: those
    /// arguments of PyTorch's `LinearCrossEntropyOptions` that affect memory.
    ///
    /// The others choose a precision (sums here always use `F32` or more), or allow a second backward pass, which is always
    /// allowed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::functional::LinearCrossEntropyOptions;
    ///
    /// let options = LinearCrossEntropyOptions::new().chunking_method("aspect_ratio:4".to_owned());
    /// assert_eq!(options.batch_chunk_size, None);
    /// let options = options.chunking_method(None).batch_chunk_size(1024);
    /// assert_eq!(serde_json::to_value(&options)?["batch_chunk_size"], 1024);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct LinearCrossEntropyOptions {
        optional {
            /// The number of rows of a chunk.
            batch_chunk_size: Option<usize> = None,
            /// How the number of rows is chosen if it is not given: `"auto"`, `"aspect_ratio"`, for which the logits of a
            /// chunk take as much memory as the input, or `"aspect_ratio:N"`, an N-th of it.
            chunking_method: Option<String> = String::from("auto"),
        }
    }
}

impl LinearCrossEntropyOptions {
    /// Refuses meaningless options.
    pub(crate) fn check(&self, op: &'static str) -> Result<()> {
        if let Some(rows) = self.batch_chunk_size {
            check_positive(op, "batch_chunk_size", rows)?;
        }
        self.factor(op).map(drop)
    }

    /// The divisor of the aspect ratio, if one is given.
    fn factor(&self, op: &'static str) -> Result<Option<usize>> {
        let Some(method) = &self.chunking_method else {
            return Ok(None);
        };
        let factor = match method.as_str() {
            "auto" => return Ok(None),
            "aspect_ratio" => Some(1),
            method => (method.strip_prefix("aspect_ratio:")).and_then(|n| n.parse().ok()),
        };
        factor
            .filter(|&factor| factor > 0)
            .map(Some)
            .ok_or_else(|| {
                let problem = "must be `auto`, `aspect_ratio` or `aspect_ratio:N`";
                Error::argument(op, "chunking_method", method, problem)
            })
    }

    /// The rows of a chunk, as PyTorch chooses them.
    fn rows(&self, batch: usize, inputs: usize, classes: usize, dense: bool) -> Result<usize> {
        const NAME: &str = "linear_cross_entropy";
        let given = self.batch_chunk_size.map(|rows| rows.min(batch));
        let factor = self.factor(NAME)?;
        let auto = self.chunking_method.as_deref() == Some("auto") && given.is_none();
        let rows = if auto || factor.is_some() {
            let wider = classes.div_ceil(inputs.max(1)).max(1);
            let by_ratio = batch.div_ceil(wider).next_power_of_two() / factor.unwrap_or(1);
            by_ratio.min(batch)
        } else {
            given.unwrap_or(batch)
        };
        if given.is_some_and(|given| given != rows) {
            let problem = format!("gives chunks whose size differs from the method's, {rows}");
            return Err(Error::argument(
                NAME,
                "batch_chunk_size",
                given.unwrap_or(0),
                problem,
            ));
        }
        let most = match dense {
            true => batch / 2,
            false => batch.saturating_mul(classes) / (4 * inputs.max(1)),
        };
        let most = 1 << most.max(1).ilog2();
        Ok(if auto { rows.min(most) } else { rows }.max(1))
    }
}

/// The options of [`linear_cross_entropy`], with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinearCrossEntropyArguments<'a> {
    /// Added to the logits, in the shape of the weight without its last dimension.
    pub linear_bias: Option<&'a Tensor>,
    /// A weight for each class, `[classes]`.
    pub weight: Option<&'a Tensor>,
    /// How the per-element losses are reduced.
    pub reduction: Reduction,
    /// An ignored target class; -100 by default, and none for probabilities.
    pub ignore_index: Option<i64>,
    /// How much of the target is spread evenly over all classes.
    pub label_smoothing: f64,
    /// How the rows are split; without it all logits are in memory at once.
    pub options: Option<&'a LinearCrossEntropyOptions>,
}

/// The cross-entropy between a target and the logits `x Wᵀ + b`.
///
/// With `options` the logits are computed one chunk of rows at a time, and again in the backward pass, so that a large
/// vocabulary takes no more memory than its weight. A second derivative, trainable class weights or targets, and further
/// dimensions of the weight need all logits at once.
///
/// # Shapes
///
/// An input `[in_features]` or `[batch, in_features]`, a weight `[classes, …, in_features]`, a target as in
/// [`cross_entropy`](super::cross_entropy) for logits `[batch, classes, …]`.
///
/// # Errors
///
/// Incompatible shapes, an ignored class with probabilities, those of [`cross_entropy`](super::cross_entropy).
///
/// # Example
///
/// ```
/// use module_nn::Tensor;
/// use module_nn::functional::{LinearCrossEntropyArguments, linear_cross_entropy};
///
/// let x = Tensor::from([[1.0_f32, 2.0]]);
/// let w = Tensor::from([[0.0_f32, 0.0], [0.0, 0.0]]);
/// let options = LinearCrossEntropyArguments::default();
/// let loss = linear_cross_entropy(&x, &w, &Tensor::from([1_i64]), options)?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn linear_cross_entropy(
    input: &Tensor,
    linear_weight: &Tensor,
    target: &Tensor,
    arguments: LinearCrossEntropyArguments<'_>,
) -> Result<Tensor> {
    // The logits in half precision, and their loss in `F32`.
    let loss = |[x, weight]: [&Tensor; 2], [linear_bias]: [Option<&Tensor>; 1]| {
        let arguments = LinearCrossEntropyArguments {
            linear_bias,
            ..arguments
        };
        let dtype = match input.dtype() {
            DType::F16 | DType::BF16 => DType::F32,
            dtype => dtype,
        };
        compute_loss(x, weight, target, arguments, dtype)
    };
    let bias = arguments.linear_bias;
    let policy = AutocastPolicy::LowerPrecision;
    match policy.apply([input, linear_weight], [bias], loss) {
        Some(out) => out,
        None => compute_loss(input, linear_weight, target, arguments, input.dtype()),
    }
}

/// The loss, in `dtype`.
fn compute_loss(
    input: &Tensor,
    linear_weight: &Tensor,
    target: &Tensor,
    arguments: LinearCrossEntropyArguments<'_>,
    dtype: DType,
) -> Result<Tensor> {
    const NAME: &str = "linear_cross_entropy";
    let wrong = |expected: String, got: &Tensor| Err(got.shape().error(NAME, expected));
    let &[classes, ref further @ .., inputs] = &**linear_weight.shape() else {
        return wrong("a weight [classes, …, in_features]".into(), linear_weight);
    };
    let batched = match **input.shape() {
        [size] if size == inputs && further.is_empty() => false,
        [_, size] if size == inputs => true,
        _ if further.is_empty() => {
            return wrong(format!("an input [{inputs}] or [batch, {inputs}]"), input);
        }
        _ => return wrong(format!("an input [batch, {inputs}]"), input),
    };
    let out: Vec<usize> = [&[classes], further].concat();
    if let Some(bias) = arguments.linear_bias.filter(|bias| **bias.shape() != *out) {
        return wrong(format!("a bias {out:?}"), bias);
    }
    let lead = if batched { input.size(0)? } else { 1 };
    let logits_shape = match batched {
        true => [&[lead], &*out].concat(),
        false => out.clone(),
    };
    let dense = **target.shape() == *logits_shape && target.dtype().is_floating_point();
    if let (true, Some(ignored)) = (dense, arguments.ignore_index) {
        let problem = "cannot be given with probabilities as the target";
        return Err(Error::argument(NAME, "ignore_index", ignored, problem));
    }
    let entropy = CrossEntropyOptions::new()
        .weight(arguments.weight)
        .ignore_index(arguments.ignore_index.unwrap_or(-100))
        .reduction(arguments.reduction)
        .label_smoothing(arguments.label_smoothing);
    let rows = match arguments.options {
        Some(options) => options.rows(lead, inputs, classes, dense)?,
        None => lead,
    };
    let learns = |tensor: &Tensor| tensor.requires_grad() && is_grad_enabled();
    if rows >= lead || !further.is_empty() || learns(target) || arguments.weight.is_some_and(learns)
    {
        let units = out.iter().product::<usize>();
        let flat = linear_weight.reshape([units, inputs])?;
        let bias = arguments.linear_bias.map(|bias| bias.reshape(units));
        let logits = input.linear(&flat, bias.transpose()?.as_ref())?;
        return logits
            .to_dtype(dtype)?
            .reshape(&*logits_shape)?
            .cross_entropy(target, entropy);
    }
    let chunked = Chunked {
        input: input.clone(),
        linear_weight: linear_weight.clone(),
        bias: arguments.linear_bias.cloned(),
        target: target.clone(),
        weight: arguments.weight.cloned(),
        ignore_index: entropy.ignore_index,
        label_smoothing: entropy.label_smoothing,
        rows,
    };
    let losses = no_grad(|| chunked.losses())?;
    let total = match entropy.reduction {
        Reduction::Mean if dense => Some(Tensor::from(lead as f64).to_dtype(losses.dtype())?),
        Reduction::Mean => Some(chunked.weights()?.to_dtype(losses.dtype())?),
        _ => None,
    };
    let learned = [Some(input), Some(linear_weight), arguments.linear_bias];
    let losses = losses.record(learned.into_iter().flatten(), |_| chunked);
    let loss = match (entropy.reduction, total) {
        (Reduction::None, _) => losses,
        (_, None) => losses.sum(..)?,
        (_, Some(total)) => losses.sum(..)?.div(&total)?,
    };
    loss.to_dtype(dtype)
}

/// The losses of the rows, computed one chunk of rows at a time.
struct Chunked {
    input: Tensor,
    linear_weight: Tensor,
    bias: Option<Tensor>,
    target: Tensor,
    weight: Option<Tensor>,
    ignore_index: i64,
    label_smoothing: f64,
    rows: usize,
}

impl Chunked {
    /// The ranges of rows that are computed together.
    fn chunks(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let count = self.input.shape().first().copied().unwrap_or(0);
        (0..count)
            .step_by(self.rows)
            .map(move |start| start..count.min(start + self.rows))
    }

    /// The losses of some rows, in the dtype in which sums are computed.
    fn of_rows(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        target: &Tensor,
    ) -> Result<Tensor> {
        let logits = widen(&input.linear(weight, bias)?)?;
        let classes = self.weight.as_ref().map(widen).transpose()?;
        let target = match target.dtype().is_floating_point() {
            true => target.to_dtype(logits.dtype())?,
            false => target.clone(),
        };
        logits.cross_entropy(
            &target,
            CrossEntropyOptions::new()
                .weight(classes.as_ref())
                .ignore_index(self.ignore_index)
                .reduction(Reduction::None)
                .label_smoothing(self.label_smoothing),
        )
    }

    fn losses(&self) -> Result<Tensor> {
        let of_chunk = |rows: std::ops::Range<usize>| {
            let (input, target) = (
                self.input.narrow(0, rows.clone())?,
                self.target.narrow(0, rows)?,
            );
            self.of_rows(&input, &self.linear_weight, self.bias.as_ref(), &target)
        };
        let losses = self.chunks().map(of_chunk).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&losses, 0)
    }

    /// The total weight of the rows.
    fn weights(&self) -> Result<Tensor> {
        let ignored = self.target.eq(self.ignore_index)?;
        match &self.weight {
            None => ignored.logical_not()?.sum(..),
            Some(weight) => {
                let classes = self.target.masked_fill(&ignored, 0_i64)?;
                let each = widen(weight)?.index_select(0, &classes)?;
                each.masked_fill(&ignored, 0.0)?.sum(..)
            }
        }
    }
}

impl Function for Chunked {
    fn name(&self) -> &'static str {
        "linear_cross_entropy"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let learned = [
            Some(&self.input),
            Some(&self.linear_weight),
            self.bias.as_ref(),
        ];
        let needed: Vec<usize> = (0..ctx.input_count()).filter(|&i| ctx.needs(i)).collect();
        let mut gradients: Gradients = (0..ctx.input_count()).map(|_| None).collect();
        if needed.is_empty() {
            return Ok(gradients);
        }
        if is_grad_enabled() {
            // A gradient of the gradient needs all logits.
            let [input, weight] = [&self.input, &self.linear_weight];
            let losses = self.of_rows(input, weight, self.bias.as_ref(), &self.target)?;
            let to: Vec<&Tensor> = needed
                .iter()
                .filter_map(|&i| learned.get(i).copied()?)
                .collect();
            let options = BackwardOptions::new().create_graph(true);
            let found = grad_with(&[&losses], &[ctx.grad()], &to, options)?;
            for (&i, gradient) in needed.iter().zip(found) {
                if let Some(slot) = gradients.get_mut(i) {
                    *slot = gradient;
                }
            }
            return Ok(gradients);
        }
        let leaf = |i: usize, x: &Tensor| match needed.contains(&i) {
            true => x.detach().with_grad(),
            false => Ok(x.detach()),
        };
        let weight = leaf(1, &self.linear_weight)?;
        let bias = self.bias.as_ref().map(|bias| leaf(2, bias)).transpose()?;
        let mut of_input = Vec::new();
        for rows in self.chunks() {
            let input = leaf(0, &self.input.detach().narrow(0, rows.clone())?)?;
            let target = self.target.narrow(0, rows.clone())?;
            let losses = enable_grad(|| self.of_rows(&input, &weight, bias.as_ref(), &target))?;
            let grad = ctx.grad().narrow(0, rows)?;
            let leaves = [Some(&input), Some(&weight), bias.as_ref()];
            let to: Vec<&Tensor> = needed
                .iter()
                .filter_map(|&i| leaves.get(i).copied()?)
                .collect();
            let found = grad_with(&[&losses], &[&grad], &to, BackwardOptions::default())?;
            for (&i, gradient) in needed.iter().zip(found) {
                let (Some(gradient), Some(slot)) = (gradient, gradients.get_mut(i)) else {
                    continue;
                };
                match slot.take() {
                    _ if i == 0 => of_input.push(gradient),
                    None => *slot = Some(gradient),
                    Some(sum) => *slot = Some(sum.add(&gradient)?),
                }
            }
        }
        if let (false, Some(slot)) = (of_input.is_empty(), gradients.first_mut()) {
            *slot = Some(Tensor::cat(&of_input, 0)?);
        }
        Ok(gradients)
    }
}

#[cfg(test)]
mod tests;
