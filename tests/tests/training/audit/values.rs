//! Values and gradients which show that nothing is learned.

mod inactive_units;

use module_nn::audit::{Audit, FindingKind};
use module_nn::prelude::*;

use super::support::{
    Net, classes, cross_entropy_of, passing, rows, shows, shows_all, step, trained,
};

#[test]
fn pitfall_39_a_softmax_before_the_cross_entropy() {
    shows(FindingKind::DoubleSoftmax, "2", |bug| {
        let mut model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(Linear::new(16, 3)?);
        if bug {
            model = model.push(Softmax::new(1)?);
        }
        trained(&model, cross_entropy_of)
    });
}

/// A stack of this many layers with scaled weights.
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
        trained(&deep(6, scale)?, cross_entropy_of)
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
        trained(&model, cross_entropy_of)
    });
}

/// A multiplication without weights.
#[derive(Module)]
struct Times {
    factor: f64,
}

impl Forward for Times {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        x.mul(self.factor)
    }
}

#[test]
fn values_that_explode_in_a_layer_without_weights_or_one_that_is_frozen() {
    let kind = FindingKind::ExplodingGradient;
    shows(kind, "1", |bug| {
        let factor = if bug { 1e8 } else { 1.0 };
        let model = Sequential::new()
            .push(Linear::new(6, 3)?)
            .push(Times { factor });
        trained(&model, cross_entropy_of)
    });
    shows(kind, "0", |bug| {
        let frozen = Linear::new(6, 16)?;
        let factor = if bug { 1e8 } else { 1.0 };
        let weight = frozen.weight();
        weight.set(weight.detach().mul(factor)?)?;
        frozen.freeze(Select::all())?;
        let model = Sequential::new()
            .push(frozen)
            .push(LayerNorm::new(16)?)
            .push(Linear::new(16, 3)?);
        trained(&model, cross_entropy_of)
    });
}

/// Uses the weights of its layers without calling them.
#[derive(Module)]
struct Uncalled {
    layers: Vec<Linear>,
    head: Linear,
}

impl Forward for Uncalled {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let mut x = x;
        for layer in &self.layers {
            let bias = layer.get_parameter("bias")?.tensor();
            x = x.linear(&layer.weight().tensor(), Some(&bias))?.tanh()?;
        }
        self.head.call(x)
    }
}

#[test]
fn gradients_that_vanish_in_weights_of_layers_that_are_not_called() {
    shows(FindingKind::VanishingGradient, "layers.0.weight", |bug| {
        let mut layers = vec![Linear::new(6, 16)?];
        for _ in 0..6 {
            let layer = Linear::new(16, 16)?;
            let scale = if bug { 0.02 } else { 1.7 };
            layer.weight().set(layer.weight().detach().mul(scale)?)?;
            layers.push(layer);
        }
        let head = Linear::new(16, 3)?;
        trained(&Uncalled { layers, head }, cross_entropy_of)
    });
}

/// The logarithm of its input, some of which is negative.
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
        let report = trained(&model, cross_entropy_of)?;
        for finding in report.of_kind(FindingKind::NonFiniteValue) {
            let largest = finding.numbers["largest_input"];
            let finite = format!("its input is finite, with values up to {largest:.3e}:");
            assert!(finding.cause.starts_with(&finite), "{finding:?}");
            assert!(largest > 0.1, "{finding:?}");
            assert_eq!(finding.numbers["step"], 0.0);
            assert!(finding.message.ends_with("; the loss is not finite"));
        }
        Ok(report)
    });
}

#[test]
fn data_with_values_that_are_not_finite() {
    shows_all(
        FindingKind::NonFiniteValue,
        &[""],
        "the model itself (Linear) is given NaN; the loss is not finite",
        |bug| {
            let model = Linear::new(6, 3)?;
            trained(&model, |model| {
                // A column that is the same in all rows, normalized by its standard deviation.
                let x = rows(16, 6)?;
                let zero = x.narrow(1, 0..1)?.mul(if bug { 0.0 } else { 1.0 })?;
                let x = Tensor::cat(&[x.narrow(1, 1..6)?, zero.div(&zero.square()?.sqrt()?)?], 1)?;
                CrossEntropyLoss::new().loss(&model.call(x)?, &classes(16, 3)?)
            })
        },
    );
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
        trained(&model, cross_entropy_of)
    });
}

#[test]
fn probabilities_that_a_loop_makes_of_logits() {
    // No module produces them, so only the graph shows them.
    shows(FindingKind::DoubleSoftmax, "", |bug| {
        let model = Net::new(Net::plain)?;
        trained(&model, |model| {
            let logits = model.call(rows(16, 6)?)?.reshape([4, 4, 3])?;
            let logits = if bug { logits.softmax(2)? } else { logits };
            let logits = logits.flatten(0, 1)?;
            logits.cross_entropy(&classes(16, 3)?, Default::default())
        })
    });
}

#[test]
fn probabilities_that_no_softmax_made() {
    shows(FindingKind::DoubleSoftmax, "", |bug| {
        passing(bug, |net, x| {
            let x = net.plain(x)?.exp()?;
            x.div(&x.sum_keepdim(1)?)
        })
    });
}

#[test]
fn an_entropy_of_probabilities_that_is_only_shown() {
    let report = fork_rng(0, || {
        let model = Net::new(Net::plain)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Audit::new(&model).run(|_| {
            let (logits, target) = (model.call(rows(16, 6)?)?, classes(16, 3)?);
            let loss = logits.cross_entropy(&target, Default::default())?;
            let shown = logits
                .softmax(1)?
                .cross_entropy(&target, Default::default())?;
            Ok((step(&model, &mut optimizer, loss)?, shown))
        })
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn weights_that_start_as_nan() {
    let model = Sequential::new().push(Linear::new(6, 3).unwrap());
    let weight = model.get_parameter("0.weight").unwrap();
    weight
        .set(Tensor::full([3, 6], f64::NAN, DType::F32).unwrap())
        .unwrap();
    let report = trained(&model, cross_entropy_of).unwrap();
    let finding = &report.findings()[0];
    assert_eq!(finding.kind, FindingKind::NonFiniteValue);
    assert_eq!(finding.path, "0.weight");
    assert!(
        finding.cause.contains("initialized or loaded"),
        "{finding:?}"
    );
}

#[test]
fn a_gradient_that_is_not_finite_of_values_that_are() {
    let report = fork_rng(0, || {
        passing(true, |net, x| {
            let x = net.first.call(x)?;
            // The square root has no slope at zero.
            let x = x.add(&x.mul(0.0)?.abs()?.sqrt()?)?;
            net.head.call(net.second.call(x)?)
        })
    });
    let report = report.unwrap();
    let finding = &report.findings()[0];
    assert_eq!(finding.kind, FindingKind::NonFiniteValue);
    assert_eq!(finding.path, "first", "{report}");
    assert_eq!(
        finding.message,
        "all modules give finite values, and a gradient is not finite, first after `first` (Linear)"
    );
}

#[test]
fn a_loss_that_is_not_finite_of_gradients_that_are() {
    shows_all(
        FindingKind::NonFiniteValue,
        &[""],
        "all modules give finite values, and the loss is not finite, first after the loss",
        |bug| {
            let model = Net::new(Net::plain)?;
            trained(&model, |model| {
                // A term that is returned with the loss.
                let ratio = if bug { f32::NAN } else { 0.0 };
                cross_entropy_of(model)?.add(Tensor::from(ratio))
            })
        },
    );
}

#[test]
fn a_head_that_starts_at_zero() {
    shows(FindingKind::SymmetricUnits, "head.weight", |bug| {
        let model = Net::new(Net::plain)?;
        if bug {
            let weight = model.head.weight();
            weight.set(weight.detach().zeros_like()?)?;
        }
        trained(&model, cross_entropy_of)
    });
}
