//! What the loss does not reach, and what it reaches and nobody knows of.

use module_nn::audit::FindingKind;
use module_nn::prelude::*;

use super::support::{audited, classes, rows, shows, shows_all, step};

/// A network whose second layer is called or not.
#[derive(Module)]
struct Skipping {
    first: Linear,
    second: Linear,
    head: Linear,
    #[module(skip)]
    bug: bool,
}

impl Forward for Skipping {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let mut x = self.first.call(x)?.relu()?;
        if !self.bug {
            x = self.second.call(x)?.relu()?;
        }
        self.head.call(x)
    }
}

#[test]
fn pitfall_32_a_parameter_that_the_loss_does_not_reach() {
    shows(FindingKind::UnreachedParameter, "second", |bug| {
        let model = Skipping {
            first: Linear::new(6, 16)?,
            second: Linear::new(16, 16)?,
            head: Linear::new(16, 3)?,
            bug,
        };
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let logits = model.call(rows(16, 6)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

/// Its pass runs a network and then computes something else, after a video about modules.
#[derive(Module)]
struct Discarding {
    mlp: Linear,
    w: Parameter,
    b: Parameter,
    #[module(skip)]
    bug: bool,
}

impl Forward for Discarding {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let out = self.mlp.call(x.clone())?;
        let x = if self.bug { x } else { out };
        self.w.tensor().mul(&x)?.add(self.b.tensor())
    }
}

#[test]
fn pitfall_35_an_output_that_is_computed_and_discarded() {
    let unused = "result unused";
    shows_all(FindingKind::UnreachedParameter, &["mlp"], unused, |bug| {
        let model = Discarding {
            mlp: Linear::new(4, 4)?,
            w: Parameter::new(rows(1, 4)?)?,
            b: Parameter::new(rows(1, 4)?)?,
            bug,
        };
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let loss = MSELoss::new().loss(&model.call(rows(16, 4)?)?, &rows(16, 4)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

/// Scales by a parameter that it makes in its pass, or by one of its own.
#[derive(Module)]
struct Making {
    hidden: Linear,
    scale: Parameter,
    #[module(skip)]
    bug: bool,
}

impl Forward for Making {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.hidden.call(x)?.mul(self.scale.tensor())?;
        match self.bug {
            // A layer that is drawn anew in each pass.
            true => Linear::new(4, 4)?.call(x),
            false => Ok(x),
        }
    }
}

#[test]
fn pitfall_08_a_layer_that_is_made_in_the_pass() {
    shows(FindingKind::UnregisteredParameter, "", |bug| {
        let model = Making {
            hidden: Linear::new(6, 4)?,
            scale: Parameter::new(rows(1, 4)?)?,
            bug,
        };
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let loss = MSELoss::new().loss(&model.call(rows(16, 6)?)?, &rows(16, 4)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

#[test]
fn pitfall_33_a_tensor_that_is_trained_and_not_registered() {
    shows(FindingKind::UnregisteredParameter, "", |bug| {
        let model = Linear::new(6, 4)?;
        let scale = rows(1, 4)?;
        let scale = if bug { scale.with_grad()? } else { scale };
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let y = model.call(rows(16, 6)?)?.mul(&scale)?;
            let loss = MSELoss::new().loss(&y, &rows(16, 4)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

/// Cuts the graph behind its first two layers.
#[derive(Module)]
struct Cutting {
    first: Linear,
    second: Linear,
    head: Linear,
    #[module(skip)]
    bug: bool,
}

impl Forward for Cutting {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.second.call(self.first.call(x)?.tanh()?)?.tanh()?;
        let x = if self.bug { x.detach() } else { x };
        self.head.call(x)
    }
}

#[test]
fn pitfall_34_a_graph_that_is_cut() {
    // The last module before the cut: what comes before it is not trained either.
    shows(FindingKind::CutGraph, "second", |bug| {
        let model = Cutting {
            first: Linear::new(6, 16)?,
            second: Linear::new(16, 16)?,
            head: Linear::new(16, 3)?,
            bug,
        };
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            let logits = model.call(rows(16, 6)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
            step(&model, &mut optimizer, loss)
        })
    });
}

#[test]
fn pitfall_45_a_gradient_of_the_step_before() {
    shows(FindingKind::StaleGradient, "weight", |bug| {
        let model = Linear::new(6, 3)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        audited(&model, || {
            if !bug {
                model.zero_grad();
            }
            let logits = model.call(rows(16, 6)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
            loss.backward()?;
            optimizer.step(&model)?;
            Ok(loss)
        })
    });
}
