//! Values and gradients that show that nothing is learned.

use module_nn::audit::{AuditReport, FindingKind};
use module_nn::prelude::*;

use super::support::{audited, classes, rows, shows, step};

/// A perceptron, trained for two steps.
fn trained(
    model: &Sequential,
    loss: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<AuditReport> {
    let mut optimizer = SGD::new(model, 0.05)?;
    audited(model, || {
        let logits = model.call(rows(16, 6)?)?;
        let loss = loss(&logits, &classes(16, 3)?)?;
        step(model, &mut optimizer, loss)
    })
}

fn cross_entropy(logits: &Tensor, target: &Tensor) -> Result<Tensor> {
    CrossEntropyLoss::new().loss(logits, target)
}

#[test]
fn pitfall_39_a_softmax_before_the_cross_entropy() {
    shows(FindingKind::DoubleSoftmax, "2", |bug| {
        let mut model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(Linear::new(16, 3)?);
        if bug {
            model = model.push(Softmax::new(1)?);
        }
        trained(&model, cross_entropy)
    });
}

/// So many layers behind each other, whose weights are scaled.
fn deep(layers: usize, scale: f64) -> Result<Sequential> {
    let mut model = Sequential::new().push(Linear::new(6, 16)?);
    for _ in 0..layers {
        let layer = Linear::new(16, 16)?;
        layer.weight().set(layer.weight().detach().mul(scale)?)?;
        model = model.push(layer).push(Tanh::new());
    }
    Ok(model.push(Linear::new(16, 3)?))
}

#[test]
fn pitfall_40_gradients_that_vanish() {
    shows(FindingKind::VanishingGradient, "0.weight", |bug| {
        let scale = if bug { 0.02 } else { 1.7 };
        trained(&deep(6, scale)?, cross_entropy)
    });
}

#[test]
fn pitfall_40_values_that_explode() {
    shows(FindingKind::ExplodingGradient, "1", |bug| {
        let mut model = Sequential::new();
        let scale = if bug { 1e4 } else { 1.0 };
        for (inputs, outputs) in [(6, 16), (16, 16), (16, 3)] {
            let layer = Linear::new(inputs, outputs)?;
            layer.weight().set(layer.weight().detach().mul(scale)?)?;
            model = model.push(layer);
        }
        trained(&model, cross_entropy)
    });
}

/// The logarithm of its input, of which some is negative.
#[derive(Module)]
struct Logarithm {
    scale: Parameter,
    #[module(skip)]
    bug: bool,
}

impl Forward for Logarithm {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = if self.bug { x } else { x.abs()?.add(0.1)? };
        x.log()?.mul(self.scale.tensor())
    }
}

#[test]
fn pitfall_59_the_first_module_with_a_value_that_is_not_finite() {
    shows(FindingKind::NonFiniteValue, "1", |bug| {
        let model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(Logarithm {
                scale: Parameter::new(Tensor::ones([16], DType::F32)?)?,
                bug,
            })
            .push(Linear::new(16, 3)?);
        trained(&model, cross_entropy)
    });
}

#[test]
fn pitfall_41_units_that_are_never_active() {
    shows(FindingKind::DeadUnits, "1", |bug| {
        let hidden = Linear::new(6, 16)?;
        if bug {
            let bias = hidden.get_parameter("bias")?;
            bias.set(bias.detach().sub(50.0)?)?;
        }
        let model = Sequential::new()
            .push(hidden)
            .push(ReLU::new())
            .push(Linear::new(16, 3)?);
        trained(&model, cross_entropy)
    });
}

#[test]
fn pitfall_50_units_that_start_equal() {
    shows(FindingKind::SymmetricUnits, "0.weight", |bug| {
        let hidden = Linear::new(6, 16)?;
        if bug {
            hidden
                .weight()
                .set(Tensor::full([16, 6], 0.1, DType::F32)?)?;
            let bias = hidden.get_parameter("bias")?;
            bias.set(bias.detach().zeros_like()?)?;
        }
        let model = Sequential::new()
            .push(hidden)
            .push(Tanh::new())
            .push(Linear::new(16, 3)?);
        trained(&model, cross_entropy)
    });
}
