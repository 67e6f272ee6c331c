//! Classification losses.

mod options;

pub use options::{CrossEntropyOptions, NllLossOptions, Reduction};

use super::AutocastPolicy;
use super::fused::{gradient, or_composed};
use crate::backend::{CrossEntropyGeometry, CrossEntropyInputs, Saved};
use crate::loss_watch::LossCall;
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled, one};
use crate::{Error, ErrorKind, Integers, Result, ShapeError};

impl Tensor {
    /// The cross-entropy of logits with classes or probabilities:
    ///
    /// ```text
    /// -Σ wᶜ · tᶜ · log softmax(x)ᶜ
    /// ```
    ///
    /// where `t` is the target as class probabilities. With class targets, neither these nor the log-softmax are ever
    /// stored.
    ///
    /// # Shapes
    ///
    /// Logits `[classes]`, `[batch, classes]` or `[batch, classes, …]`. The target holds classes as `I64`, `I32` or `U8` in
    /// the same shape without the class dimension, or probabilities in the same shape.
    ///
    /// # Errors
    ///
    /// A target of another shape, even if it would broadcast; a class that is out of range; an `ignore_index` of 0 or more
    /// with probabilities, which have no class to ignore; a weight that is not `[classes]`; smoothing outside `[0, 1]`;
    /// logits that are not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[0.0_f32, 0.0]]);
    /// let loss = x.cross_entropy(&Tensor::from([1_i64]), Default::default())?;
    /// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn cross_entropy(&self, target: &Self, options: CrossEntropyOptions<'_>) -> Result<Self> {
        const NAME: &str = "cross_entropy";
        let loss = |[x, target]: [&Self; 2], [weight]: [Option<&Self>; 1]| {
            x.cross_entropy(target, options.weight(weight))
        };
        if let Some(out) = AutocastPolicy::Float32.apply([self, target], [options.weight], loss) {
            return out;
        }
        LossCall::of_classes(NAME, [self, target], options.ignore_index).show();
        self.storage.check_plain(NAME)?;
        if !(0.0..=1.0).contains(&options.label_smoothing) {
            let problem = "must be between 0 and 1";
            let smoothing = options.label_smoothing;
            return Err(Error::argument(NAME, "label_smoothing", smoothing, problem));
        }
        let dim = self.check_classes(NAME, options.weight)?;
        if target.shape() == self.shape() && target.dtype().is_floating_point() {
            if options.ignore_index >= 0 {
                let problem = "is for targets of classes, but the target holds probabilities; leave it negative";
                let index = options.ignore_index;
                return Err(Error::argument(NAME, "ignore_index", index, problem));
            }
            return self.of_probabilities(target, dim, options);
        }
        let target = &self.classes(NAME, target, dim)?;
        let CrossEntropyOptions {
            ignore_index,
            reduction,
            label_smoothing,
            ..
        } = options;
        let mut entropy = Entropy {
            dim,
            weight: options.weight.cloned(),
            ignore_index,
            label_smoothing,
        };
        let tracked = entropy.weight.as_ref().is_some_and(Self::requires_grad);
        let kernel = match tracked && is_grad_enabled() {
            // Weights with a gradient of their own.
            true => Ok(None),
            false => entropy.of_logits(self, target),
        };
        let losses = or_composed(kernel, || {
            entropy.widen()?;
            let logarithms = self.widened()?.log_softmax(dim as isize)?;
            entropy.of_logarithms(&logarithms, target)
        });
        let losses = losses.map_err(|error| entropy.class_error(NAME, error, self))?;
        entropy
            .reduce_losses(&losses, target, reduction)?
            .to_dtype(self.dtype())
    }

    /// The negative log-likelihood of classes under log-probabilities: `-wᶜ · xᶜ` at the class `c` of each element.
    ///
    /// # Shapes
    ///
    /// As [`cross_entropy`](Self::cross_entropy) with classes.
    ///
    /// # Errors
    ///
    /// As [`cross_entropy`](Self::cross_entropy) with classes.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[-1.0_f32, -2.0], [-3.0, -4.0]]);
    /// let loss = x.nll_loss(&Tensor::from([1_i64, 0]), Default::default())?;
    /// assert_eq!(loss.item::<f32>()?, 2.5);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn nll_loss(&self, target: &Self, options: NllLossOptions<'_>) -> Result<Self> {
        const NAME: &str = "nll_loss";
        let loss = |[x, target]: [&Self; 2], [weight]: [Option<&Self>; 1]| {
            x.nll_loss(target, options.weight(weight))
        };
        if let Some(out) = AutocastPolicy::Float32.apply([self, target], [options.weight], loss) {
            return out;
        }
        LossCall::of_classes(NAME, [self, target], options.ignore_index).show();
        let dim = self.check_classes(NAME, options.weight)?;
        let target = &self.classes(NAME, target, dim)?;
        let entropy = Entropy {
            dim,
            weight: options.weight.map(Self::widened).transpose()?,
            ignore_index: options.ignore_index,
            label_smoothing: 0.0,
        };
        let losses = entropy.of_logarithms(&self.widened()?, target);
        let losses = losses.map_err(|error| entropy.class_error(NAME, error, self))?;
        let loss = entropy.reduce_losses(&losses, target, options.reduction)?;
        loss.to_dtype(self.dtype())
    }

    /// The class dimension, whose size the weight has.
    fn check_classes(&self, op: &'static str, weight: Option<&Self>) -> Result<usize> {
        self.check_floating(op)?;
        let dim = usize::from(self.rank() > 1);
        let Some(&classes) = self.shape().get(dim) else {
            return Err(self.shape().error(op, "logits with a dimension of classes"));
        };
        if let Some(weight) = weight {
            self.check_same(op, weight)?;
            if **weight.shape() != [classes] {
                let expected = format!("a weight [{classes}]");
                return Err(weight.shape().error(op, expected));
            }
        }
        Ok(dim)
    }

    /// The classes of a target as `I64`.
    fn classes(&self, op: &'static str, target: &Self, dim: usize) -> Result<Self> {
        self.check_device(op, target)?;
        let expected = self.shape().reduced(&[dim], false);
        if *target.shape() == expected {
            return target.to_integers(op, Integers::Classes);
        }
        let rule = format!(
            "a target holds integer classes of shape {expected} or floating-point probabilities of shape {}; its dtype is {}",
            self.shape(),
            target.dtype()
        );
        let (lhs, rhs) = (self.shape().clone(), target.shape().clone());
        Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into())
    }

    fn of_probabilities(
        &self,
        target: &Self,
        dim: usize,
        options: CrossEntropyOptions<'_>,
    ) -> Result<Self> {
        let smoothing = options.label_smoothing;
        let even = smoothing / self.shape()[dim] as f64;
        let target = match smoothing > 0.0 {
            true => target.mul(1.0 - smoothing)?.add(even)?,
            false => target.clone(),
        };
        let mut terms = self.log_softmax(dim as isize)?.mul(&target)?;
        if let Some(weight) = options.weight {
            terms = terms.mul(&column(weight, self, dim)?)?;
        }
        let losses = terms.sum([dim])?.neg()?;
        match options.reduction {
            Reduction::None => Ok(losses),
            Reduction::Sum => losses.sum(..),
            // The weights of the classes do not enter the divisor here.
            Reduction::Mean => losses.sum(..)?.div(losses.numel() as f64),
        }
    }
}

/// The weights as a column that broadcasts along the classes.
fn column(weight: &Tensor, input: &Tensor, dim: usize) -> Result<Tensor> {
    let sizes = (0..input.rank()).map(|d| if d == dim { weight.numel() } else { 1 });
    weight.reshape_to(&sizes.collect())
}

/// A cross-entropy with classes.
#[derive(Clone)]
struct Entropy {
    dim: usize,
    weight: Option<Tensor>,
    ignore_index: i64,
    label_smoothing: f64,
}

impl Entropy {
    /// Widens the weights for composed operations, once for all of their uses.
    fn widen(&mut self) -> Result<()> {
        self.weight = self.weight.as_ref().map(Tensor::widened).transpose()?;
        Ok(())
    }

    fn geometry(&self, x: &Tensor) -> CrossEntropyGeometry {
        let shape = x.shape();
        let (before, after) = (&shape[..self.dim], &shape[self.dim + 1..]);
        CrossEntropyGeometry {
            outer: before.iter().product(),
            classes: shape[self.dim],
            inner: after.iter().product(),
            ignore_index: self.ignore_index,
            label_smoothing: self.label_smoothing,
            compute: x.compute_dtype(),
        }
    }

    /// The losses of the elements, by the kernel.
    fn of_logits(&self, x: &Tensor, target: &Tensor) -> Result<Option<Tensor>> {
        let Some(kernels) = x.device().backend().cross_entropy() else {
            return Ok(None);
        };
        let inputs = CrossEntropyInputs {
            x: x.operand(),
            target: target.operand(),
            weight: self.weight.as_ref().map(Tensor::operand),
        };
        let (losses, saved) = kernels.forward(inputs, &self.geometry(x))?;
        let losses = target.like_shape(losses);
        Ok(Some(losses.record([x], |_| CrossEntropy {
            x: x.clone(),
            target: target.clone(),
            saved,
            entropy: self.clone(),
        })))
    }

    /// The losses of the elements from their log-probabilities, composed of other operations.
    fn of_logarithms(&self, log: &Tensor, target: &Tensor) -> Result<Tensor> {
        let (dim, smoothing) = (self.dim as isize, self.label_smoothing);
        let (ignored, safe) = self.safe(target)?;
        let picked = log.gather(dim, &safe.unsqueeze(dim)?)?;
        let mut losses = picked.squeeze(dim)?.neg()?;
        if let Some(weight) = self.of_target(&safe)? {
            losses = losses.mul(&weight)?;
        }
        if smoothing > 0.0 {
            let weighted = match &self.weight {
                Some(weight) => log.mul(&column(weight, log, self.dim)?)?,
                None => log.clone(),
            };
            let spread = weighted.sum(dim)?;
            let even = smoothing / log.shape()[self.dim] as f64;
            losses = losses.mul(1.0 - smoothing)?.sub(&spread.mul(even)?)?;
        }
        losses.masked_fill(&ignored, 0.0)
    }

    /// The mask of the ignored targets, and the targets with class 0 there.
    fn safe(&self, target: &Tensor) -> Result<(Tensor, Tensor)> {
        let ignored = target.eq(self.ignore_index)?;
        let safe = target.masked_fill(&ignored, 0_i64)?;
        Ok((ignored, safe))
    }

    /// The weight of the class of each element, if there are weights.
    fn of_target(&self, safe: &Tensor) -> Result<Option<Tensor>> {
        let Some(weight) = &self.weight else {
            return Ok(None);
        };
        let flat = safe.reshape_to(&safe.numel().into())?;
        let picked = weight.index_select(0, &flat)?.reshape_to(safe.shape())?;
        Ok(Some(picked.widened()?))
    }

    fn reduce_losses(
        &self,
        losses: &Tensor,
        target: &Tensor,
        reduction: Reduction,
    ) -> Result<Tensor> {
        let total = || {
            let (ignored, safe) = self.safe(target)?;
            match self.of_target(&safe)? {
                Some(weight) => weight.masked_fill(&ignored, 0.0)?.sum(..),
                None => ignored.logical_not()?.sum(..)?.to_dtype(losses.dtype()),
            }
        };
        match reduction {
            Reduction::None => Ok(losses.clone()),
            Reduction::Sum => losses.sum(..),
            Reduction::Mean => losses.sum(..)?.div(&total()?),
        }
    }

    /// The look-up error in the terms of the loss.
    fn class_error(&self, op: &'static str, error: Error, x: &Tensor) -> Error {
        match error.kind() {
            &ErrorKind::Shape(ShapeError::Index { index, .. }) => {
                let problem = format!("must be a class below {}", x.shape()[self.dim]);
                Error::argument(op, "target", index, problem)
            }
            _ => error,
        }
    }
}

struct CrossEntropy {
    x: Tensor,
    target: Tensor,
    /// `ln Σ eˣ` of each element, in `F64`.
    saved: Saved,
    entropy: Entropy,
}

impl CrossEntropy {
    fn kernel(&self, grad: &Tensor) -> Result<Option<Tensor>> {
        let x = &self.x;
        let Some(kernels) = x.device().backend().cross_entropy() else {
            return Ok(None);
        };
        let inputs = CrossEntropyInputs {
            x: x.operand(),
            target: self.target.operand(),
            weight: self.entropy.weight.as_ref().map(Tensor::operand),
        };
        let geometry = self.entropy.geometry(x);
        let slope = kernels.backward(grad.operand(), inputs, &self.saved, &geometry)?;
        Ok(Some(x.like_shape(slope)))
    }

    /// The same as the kernel, written with differentiable operations: `g (p (own + even Σ w) - even w)`, and `- g own` at
    /// the class.
    fn formula(&self, grad: &Tensor) -> Result<Tensor> {
        let (x, entropy) = (&self.x.widened()?, &self.entropy);
        let dim = entropy.dim as isize;
        let even = entropy.label_smoothing / x.shape()[entropy.dim] as f64;
        let ones = || Tensor::ones(x.shape()[entropy.dim], (x.dtype(), &x.device()));
        let (ignored, safe) = entropy.safe(&self.target)?;
        let grad = grad.masked_fill(&ignored, 0.0)?;
        let own = match entropy.of_target(&safe)? {
            Some(weight) => weight,
            None => grad.detach().ones_like()?,
        };
        let own = own.mul(1.0 - entropy.label_smoothing)?;
        let weight = match &entropy.weight {
            Some(weight) => weight.widened()?,
            None => ones()?,
        };
        let pull = own.add(&weight.sum(..)?.mul(even)?)?.mul(&grad)?;
        let spread = column(&weight, x, entropy.dim)?.mul(even)?;
        let grads = grad.unsqueeze(dim)?;
        let out = x.softmax(dim)?.mul(&pull.unsqueeze(dim)?)?;
        let out = out.sub(&spread.mul(&grads)?)?;
        let at_class = own.mul(&grad)?.neg()?.unsqueeze(dim)?;
        let out = out.scatter_add(dim, &safe.unsqueeze(dim)?, &at_class)?;
        out.to_dtype(self.x.dtype())
    }
}

impl Function for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross_entropy"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(gradient(
            || self.kernel(ctx.grad()),
            || self.formula(ctx.grad()),
        )?)
    }
}
