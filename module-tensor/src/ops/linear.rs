//! `linear`, an affine map.

use std::borrow::Cow;

use super::{AutocastPolicy, by_saved};
use crate::backend::Operand;
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{Result, Shape};

impl Tensor {
    /// `x·Wᵀ + b`, in one pass and with one entry in the graph.
    ///
    /// # Shapes
    ///
    /// `[…, in_features]`, a weight `[out_features, in_features]` and a bias `[out_features]` give
    /// `[…, out_features]`; a weight `[in_features]` and a bias `[]` give `[…]`.
    ///
    /// A [packed](Self::is_packed) weight gets no gradient. The result then has the dtype of the input, whatever the weight
    /// unpacks to.
    ///
    /// # Errors
    ///
    /// Incompatible shapes, different dtypes or devices.
    ///
    /// # Source
    ///
    /// `torch.nn.functional.linear`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let weight = Tensor::from([[1.0_f32, 2.0]]);
    /// let y = Tensor::from([3.0_f32, 4.0]).linear(&weight, Some(&Tensor::from([0.5_f32])))?;
    /// assert_eq!(y.to_vec::<f32>()?, [11.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn linear(&self, weight: &Self, bias: Option<&Self>) -> Result<Self> {
        const NAME: &str = "linear";
        if weight.is_packed() && weight.rank() == 2 {
            return self.packed_matmul(NAME, &weight.t()?, bias);
        }
        if let Some(out) =
            AutocastPolicy::LowerPrecision.apply([self, weight], [bias], |[x, weight], [bias]| {
                x.linear(weight, bias)
            })
        {
            return out;
        }
        self.check_same(NAME, weight)?;
        if weight.rank() == 1 {
            return self.onto_vector(weight, bias);
        }
        let &[out_features, in_features] = &**weight.shape() else {
            let expected = "a weight [out_features, in_features] or [in_features]";
            return Err(weight.shape().error(NAME, expected));
        };
        let Some((_, leading)) = self
            .shape()
            .split_last()
            .filter(|(last, _)| **last == in_features)
        else {
            let expected = format!("an input whose last dimension is in_features = {in_features}");
            return Err(self.shape().error(NAME, expected));
        };
        if let Some(bias) = bias {
            self.check_same(NAME, bias)?;
            if **bias.shape() != [out_features] {
                let expected = format!("a bias [out_features = {out_features}]");
                return Err(bias.shape().error(NAME, expected));
            }
        }
        let shape: Shape = leading.iter().copied().chain([out_features]).collect();
        shape.checked_numel(NAME, self.dtype().size_in_bytes())?;
        let (a, b) = (self.rows_operand(NAME)?, weight.transposed_operand());
        let backend = self.device().backend();
        let storage = match bias {
            Some(bias) => backend.addmm(bias.plain(NAME)?, a, b)?,
            None => backend.matmul(a, b)?,
        };
        let out = Self::fresh(storage, shape);
        let function = |_: &Self| Linear {
            x: self.saved_for(weight),
            weight: weight.saved_for(self),
        };
        Ok(match bias {
            Some(bias) => out.record([self, weight, bias], function),
            None => out.record([self, weight], function),
        })
    }
}

impl Tensor {
    /// [`linear`](Self::linear) with a weight vector, which leaves no output dimension.
    fn onto_vector(&self, weight: &Self, bias: Option<&Self>) -> Result<Self> {
        if let Some(bias) = bias.filter(|bias| bias.rank() > 0) {
            let expected = "a bias [] beside a weight [in_features]";
            return Err(bias.shape().error("linear", expected));
        }
        let row = weight.unsqueeze(0)?;
        let bias = bias.map(|bias| bias.unsqueeze(0)).transpose()?;
        self.linear(&row, bias.as_ref())?.squeeze(-1)
    }

    /// All dimensions but the last as one.
    pub(super) fn as_rows(&self) -> Result<Cow<'_, Self>> {
        match self.shape().split_last() {
            Some(_) if self.rank() == 2 => Ok(Cow::Borrowed(self)),
            Some((&last, leading)) => {
                let shape = [leading.iter().product(), last].into();
                self.reshape_to(&shape).map(Cow::Owned)
            }
            None => self.reshape_to(&[1, 1].into()).map(Cow::Owned),
        }
    }

    /// [`as_rows`](Self::as_rows) as an operand; packed elements are reported as an error of `op`.
    pub(super) fn rows_operand(&self, op: &'static str) -> Result<Operand> {
        match self.rank() {
            2 => self.plain(op),
            _ => self.detach().as_rows()?.plain(op),
        }
    }

    /// A matrix with its dimensions exchanged, as an operand.
    fn transposed_operand(&self) -> Operand {
        self.operand_with(self.layout.transpose(0, 1))
    }
}

struct Linear {
    x: Option<Tensor>,
    weight: Option<Tensor>,
}

impl Function for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        let mut gradients = Gradients::with_capacity(ctx.input_count());
        gradients.push(by_saved(ctx, 0, self.weight.as_ref(), |weight| {
            grad.matmul(weight)
        })?);
        gradients.push(by_saved(ctx, 1, self.x.as_ref(), |x| {
            grad.as_rows()?.t()?.matmul(&*x.as_rows()?)
        })?);
        if ctx.input_count() == 3 {
            let bias = || grad.as_rows()?.sum(0);
            gradients.push(ctx.needs(2).then(bias).transpose()?);
        }
        Ok(gradients)
    }
}
