//! Parameters that the loss does not reach, and values that it reaches but nobody registered.

use module_nn::audit::{Audit, FindingKind};
use module_nn::prelude::*;

use super::support::{
    Net, Pass, audited, classes, cross_entropy_of, passing, rows, shows, shows_all, trained,
    trained_by,
};

const UNREACHED: FindingKind = FindingKind::UnreachedParameter;

#[test]
fn pitfall_32_a_parameter_that_the_loss_does_not_reach() {
    shows_all(UNREACHED, &["second"], "was not called", |bug| {
        passing(bug, |net, x| net.head.call(net.first.call(x)?.tanh()?))
    });
}

#[test]
fn a_layer_that_is_called_without_a_graph() {
    shows_all(UNREACHED, &["first"], "under `no_grad`", |bug| {
        passing(bug, |net, x| {
            let x = no_grad(|| net.first.call(x))?.tanh()?;
            net.head.call(net.second.call(x)?.tanh()?)
        })
    });
}

/// A layer that ignores one of its parameters.
#[derive(Module)]
struct Forgetting {
    layer: Linear,
    scale: Parameter,
    #[module(skip)]
    bug: bool,
}

impl Forward for Forgetting {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.layer.call(x)?;
        if self.bug {
            Ok(x)
        } else {
            x.mul(self.scale.tensor())
        }
    }
}

#[test]
fn a_parameter_that_the_pass_does_not_use() {
    shows_all(UNREACHED, &["scale"], "was called", |bug| {
        let model = Forgetting {
            layer: Linear::new(6, 3)?,
            scale: Parameter::new(rows(1, 3)?)?,
            bug,
        };
        trained(&model, cross_entropy_of)
    });
}

#[test]
fn an_unused_layer_beside_one_of_the_same_input() {
    // The input of the second is not a result of the first, although it has its shape.
    shows_all(UNREACHED, &["0"], "result unused", |bug| {
        let model = [Linear::new(6, 6)?, Linear::new(6, 3)?];
        trained(&model, |model| {
            let x = rows(16, 6)?;
            let hidden = model[0].call(x.clone())?;
            let logits = model[1].call(if bug { x } else { hidden })?;
            CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)
        })
    });
}

/// A forward pass that runs a network and then computes something else, as in a tutorial video about modules.
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
    shows_all(UNREACHED, &["mlp"], unused, |bug| {
        let model = Discarding {
            mlp: Linear::new(4, 4)?,
            w: Parameter::new(rows(1, 4)?)?,
            b: Parameter::new(rows(1, 4)?)?,
            bug,
        };
        trained(&model, |model| {
            MSELoss::new().loss(&model.call(rows(16, 4)?)?, &rows(16, 4)?)
        })
    });
}

/// Scales by a parameter that it creates in its forward pass, or by a registered one.
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
            // A layer that is created again in each pass.
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
        trained(&model, |model| {
            MSELoss::new().loss(&model.call(rows(16, 6)?)?, &rows(16, 4)?)
        })
    });
}

#[test]
fn pitfall_33_a_tensor_that_is_trained_and_not_registered() {
    shows(FindingKind::UnregisteredParameter, "", |bug| {
        let model = Linear::new(6, 4)?;
        let scale = rows(1, 4)?;
        let scale = if bug { scale.with_grad()? } else { scale };
        trained(&model, |model| {
            let y = model.call(rows(16, 6)?)?.mul(&scale)?;
            MSELoss::new().loss(&y, &rows(16, 4)?)
        })
    });
}

#[test]
fn pitfall_34_a_graph_that_is_cut() {
    // The last module before the cut: modules before it are not trained either.
    let lost = "no gradient reaches 4 parameters, `first.weight` the first of them";
    shows_all(FindingKind::CutGraph, &["second"], lost, |bug| {
        let report = passing(bug, |net, x| {
            let x = net.second.call(net.first.call(x)?.tanh()?)?;
            net.head.call(x.detach())
        })?;
        for finding in report.of_kind(FindingKind::CutGraph) {
            assert_eq!(finding.numbers["parameters"], 4.0);
        }
        Ok(report)
    });
}

/// The findings of one step of a [`Net`] with the given forward pass, with their paths.
fn found(pass: Pass) -> Vec<(FindingKind, String)> {
    let report = fork_rng(0, || {
        let model = Net::new(pass)?;
        trained_by(Audit::new(&model).steps(1), &model, cross_entropy_of)
    });
    let report = report.unwrap();
    let found = report.findings().iter();
    found.map(|it| (it.kind, it.path.clone())).collect()
}

#[test]
fn one_cut_is_found_in_one_step_for_all_that_it_is_given_to() {
    let cut: Pass = |net, x| {
        let x = net.first.call(x)?.detach();
        net.head.call(x.add(&net.second.call(x.clone())?)?)
    };
    assert_eq!(found(cut), [(FindingKind::CutGraph, "first".to_owned())]);
}

#[test]
fn an_unused_result_before_a_layer_with_another_input_is_not_a_cut() {
    let unused = [(UNREACHED, "second".to_owned())];
    // Of a different shape, created in the pass.
    let other: Pass = |net, x| {
        let y = net.first.call(x)?;
        let _unused = net.second.call(y.clone())?;
        let drawn = net.head.call(Tensor::randn([4, 16], DType::F32)?)?;
        net.head.call(y)?.add(&drawn.mean_keepdim(0)?)
    };
    assert_eq!(found(other), unused);
    // Only inspected.
    let shown: Pass = |net, x| {
        let y = net.first.call(x)?;
        let unused = net.second.call(y.clone())?;
        no_grad(|| net.head.call(unused.detach()))?;
        net.head.call(y)
    };
    assert_eq!(found(shown), unused);
    // Detached for another head, while what was detached is trained.
    let beside: Pass = |net, x| {
        let y = net.first.call(x)?;
        net.head.call(y.clone())?.add(&net.head.call(y.detach())?)
    };
    assert_eq!(found(beside), unused);
}

#[test]
fn an_unused_result_before_a_layer_with_a_frozen_input_is_not_a_cut() {
    shows_all(UNREACHED, &["1"], "result unused", |bug| {
        let layer = || Linear::new(6, 6);
        let model = [layer()?, layer()?, layer()?];
        model[0].freeze(Select::all())?;
        trained(&model, |model| {
            let x = model[0].call(rows(16, 6)?)?;
            let hidden = model[1].call(x.clone())?;
            let logits = model[2].call(if bug { x } else { hidden })?;
            CrossEntropyLoss::new().loss(&logits, &classes(16, 6)?)
        })
    });
}

#[test]
fn a_trunk_that_is_detached_in_every_other_step_is_not_cut() {
    let report = fork_rng(0, || {
        let model = Net::new(Net::plain)?;
        let mut steps = 0;
        trained(&model, |model| {
            steps += 1;
            let x = model.second.call(model.first.call(rows(16, 6)?)?.tanh()?)?;
            let x = if steps == 1 { x.detach() } else { x };
            CrossEntropyLoss::new().loss(&model.head.call(x)?, &classes(16, 3)?)
        })
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_cut_behind_a_module_outside_of_the_model() {
    let report = fork_rng(0, || {
        let (model, outside) = (Net::new(Net::plain)?, Linear::new(16, 16)?);
        trained(&model, |model| {
            let x = outside.call(model.second.call(model.first.call(rows(16, 6)?)?)?)?;
            CrossEntropyLoss::new().loss(&model.head.call(x.detach())?, &classes(16, 3)?)
        })
    });
    let report = report.unwrap();
    let finding = &report.findings()[0];
    assert_eq!(
        (finding.kind, finding.path.as_str()),
        (FindingKind::CutGraph, "")
    );
    assert_eq!(report.findings().len(), 1, "{report}");
}

#[test]
fn a_cut_without_a_backward_pass_is_none() {
    let report = fork_rng(0, || {
        let model =
            Net::new(|net, x| net.head.call(net.second.call(net.first.call(x)?)?.detach()))?;
        audited(&model, || cross_entropy_of(&model))
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_graph_that_is_cut_by_a_copy_of_the_values() {
    shows(FindingKind::CutGraph, "second", |bug| {
        passing(bug, |net, x| {
            let x = net.second.call(net.first.call(x)?.tanh()?)?;
            net.head
                .call(Tensor::from_vec(x.to_vec::<f32>()?, [16, 16])?.tanh()?)
        })
    });
}

#[test]
fn a_graph_that_is_cut_before_a_layer_between() {
    let cut = || {
        passing(true, |net, x| {
            let x = net.first.call(x)?;
            let _unused = net.second.call(x.clone())?;
            net.head.call(x.detach())
        })
    };
    let report = fork_rng(0, cut).unwrap();
    let paths = |kind| {
        let found = report.of_kind(kind);
        found.map(|it| it.path.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(paths(FindingKind::CutGraph), ["first"], "{report}");
    assert_eq!(paths(UNREACHED), ["second"], "{report}");
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
            let loss = cross_entropy_of(&model)?;
            loss.backward()?;
            optimizer.step(&model)?;
            Ok(loss)
        })
    });
}
