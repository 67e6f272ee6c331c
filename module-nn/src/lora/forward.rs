//! How layers compute with their adapters.

use module_core::{Bias, Parameter, Result, Shape, Tensor};

use super::adapters::{Adaptable, Adapters, Held};
use super::delta::{add_wider, delta_weight, weight_norm};
use super::parts::SavedCopy;

/// A layer's function of a weight and a bias.
type Compute<'f> = &'f dyn Fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<Tensor>;

impl Adapters {
    /// The output of a layer, `compute`, with its adapters; `project` applies the second factor.
    pub(crate) fn forward(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
        compute: Compute<'_>,
        project: &dyn Fn(&Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let Some(held) = self.held.as_deref() else {
            return compute(input, weight, bias);
        };
        let (weight, bias) = held.own(weight, bias);
        let base = compute(input, &weight, bias.as_ref())?;
        let dtype = base.dtype();
        let mut output = base;
        for (name, state) in held.running() {
            let Some((a, b)) = held.a.get(name).zip(held.b.get(name)) else {
                continue;
            };
            let (a, b) = (a.weight.tensor(), b.weight.tensor());
            let mut x = input.to_dtype(a.dtype())?;
            let dropout = held.dropout.get(name).filter(|dropout| dropout.drops());
            if let Some(dropout) = dropout {
                x = dropout.forward(x)?;
            }
            // The factors are those of a linear layer, even if the weight is transposed.
            let first = match self.adaptable {
                Adaptable::TransposedLinear => project(&x, &a)?,
                _ => compute(&x, &a, None)?,
            };
            let part = project(&first, &b)?.mul(state.scale())?;
            let Some(magnitude) = held.magnitude.get(name) else {
                output = add_wider(&output, &part)?;
                continue;
            };
            // The length is treated as a constant.
            let delta = delta_weight(held, name, self.adaptable, weight.shape())?.detach();
            let norm = weight_norm(&weight, &delta.mul(state.scale())?, self.adaptable)?.detach();
            let factor = along_channels(&magnitude.weight.tensor().div(&norm)?, weight.shape())?;
            let plain = match dropout {
                Some(_) => compute(&x, &weight.unpack()?.to_dtype(x.dtype())?, None)?,
                None => without_bias(&output, bias.as_ref(), weight.shape())?,
            };
            // `(m/‖W'‖ - 1)·x·Wᵀ + m/‖W'‖·part`, in addition to the existing output.
            let rest = plain.to_dtype(part.dtype())?.mul(&factor.sub(1.0)?)?;
            output = add_wider(&output, &rest.add(&factor.mul(&part)?)?)?;
        }
        output.to_dtype(dtype)
    }

    /// The rows of a table, `look_up`, with the adapters of the table.
    pub(crate) fn look_up(
        &self,
        table: &Tensor,
        look_up: &dyn Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let Some(held) = self.held.as_deref() else {
            return look_up(table);
        };
        let (table, _) = held.own(table, None);
        let base = look_up(&table)?;
        let dtype = base.dtype();
        let mut output = base;
        for (name, state) in held.running() {
            let tables = held.embedding_a.get(name).zip(held.embedding_b.get(name));
            let Some((a, b)) = tables else {
                continue;
            };
            let rows = look_up(&a.tensor().t()?)?;
            let part = rows.matmul(&b.tensor().t()?)?.mul(state.scale())?;
            let Some(magnitude) = held.magnitude.get(name) else {
                output = add_wider(&output, &part)?;
                continue;
            };
            let delta = delta_weight(held, name, self.adaptable, table.shape())?.detach();
            let norm = weight_norm(&table, &delta.mul(state.scale())?, self.adaptable)?.detach();
            let factor = magnitude.weight.tensor().div(&norm)?;
            let sum = add_wider(&output, &part)?.to_dtype(factor.dtype())?;
            output = sum.mul(&factor)?;
        }
        output.to_dtype(dtype)
    }

    /// The parameters of a layer that can only be copied, or the copy that replaces them.
    pub(crate) fn own(&self, weight: &Bias, bias: &Bias) -> (Option<Tensor>, Option<Tensor>) {
        let held = self.held.as_deref();
        match held.and_then(Held::copy) {
            Some(copy) => (
                Some(copy.weight.tensor()),
                copy.bias.get().map(Parameter::tensor),
            ),
            None => [weight, bias]
                .map(|own| own.get().map(Parameter::tensor))
                .into(),
        }
    }

    /// A weight that is used in several places, with the adapters added to it; without dropout, as in PEFT.
    pub(crate) fn adapted_weight(&self, weight: Tensor) -> Result<Tensor> {
        let Some(held) = self.held.as_deref() else {
            return Ok(weight);
        };
        let (weight, _) = held.own(&weight, None);
        let dtype = weight.dtype();
        let mut sum = weight;
        for (name, state) in held.running() {
            if held.a.contains_key(name) {
                let delta = delta_weight(held, name, self.adaptable, sum.shape())?;
                sum = add_wider(&sum.unpack()?, &delta.mul(state.scale())?)?;
            }
        }
        sum.to_dtype(dtype)
    }
}

impl Held {
    /// The copy that currently replaces the layer's own parameters.
    fn copy(&self) -> Option<&SavedCopy> {
        self.running().find_map(|(name, _)| self.saved.get(name))
    }

    /// The layer's own weight and bias, or an adapter's copies that replace them.
    pub(super) fn own(&self, weight: &Tensor, bias: Option<&Tensor>) -> (Tensor, Option<Tensor>) {
        match self.copy() {
            Some(copy) => (copy.weight.tensor(), copy.bias.get().map(Parameter::tensor)),
            None => (weight.clone(), bias.cloned()),
        }
    }
}

/// An output minus the bias that was added to it.
fn without_bias(output: &Tensor, bias: Option<&Tensor>, weight: &Shape) -> Result<Tensor> {
    match bias {
        None => Ok(output.clone()),
        Some(bias) => output.sub(&along_channels(bias, weight)?.to_dtype(output.dtype())?),
    }
}

/// A number for each output of a layer, in a shape that broadcasts to its outputs.
fn along_channels(numbers: &Tensor, weight: &Shape) -> Result<Tensor> {
    let spatial = std::iter::repeat_n(1, weight.len().saturating_sub(2));
    let sizes: Vec<isize> = [-1].into_iter().chain(spatial).collect();
    numbers.reshape(sizes.as_slice())
}
