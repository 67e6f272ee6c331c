//! Gradients in scaled branches and next to them.

use module_nn::audit::{Audit, AuditReport, FindingKind};
use module_nn::prelude::*;

use super::support::{cross_entropy_of, shows, trained, trained_by};

const KIND: FindingKind = FindingKind::VanishingGradient;

/// A stack of layers through which almost no gradient flows; their biases start at zero.
fn shrinking() -> Result<Sequential> {
    let mut model = Sequential::new();
    for _ in 0..6 {
        let layer = Linear::new(16, 16)?;
        layer.weight().set(layer.weight().detach().mul(0.02)?)?;
        let bias = layer.get_parameter("bias")?;
        bias.set(bias.detach().zeros_like()?)?;
        model = model.push(layer).push(Tanh::new());
    }
    Ok(model)
}

/// The value of a gate, computed from its parameter.
type Opening = fn(&Tensor) -> Result<Tensor>;

/// The scaled output of some layers, added to the input.
#[derive(Module)]
struct Branch {
    layers: Sequential,
    gamma: Parameter,
    #[module(skip)]
    opening: Opening,
}

impl Branch {
    fn new(layers: Sequential, gamma: f64) -> Result<Self> {
        Self::gated(layers, gamma, |gamma| Ok(gamma.clone()))
    }

    fn gated(layers: Sequential, gamma: f64, opening: Opening) -> Result<Self> {
        let gamma = Parameter::new(Tensor::full([16], gamma, DType::F32)?)?;
        Ok(Self {
            layers,
            gamma,
            opening,
        })
    }
}

impl Forward for Branch {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        // A product without weights, like that of attention.
        let y = self.layers.call(x.clone())?;
        let y = y.matmul(&Tensor::eye(16, 16, DType::F32)?)?;
        let y = y.mul(&(self.opening)(&self.gamma.tensor())?)?;
        x.add(&y.unsqueeze(0)?.squeeze(0)?)
    }
}

/// A network with a layer before a branch and one after it.
fn with_branch(branch: Branch) -> Result<AuditReport> {
    let model = Sequential::new()
        .push(Linear::new(6, 16)?)
        .push(branch)
        .push(Linear::new(16, 3)?);
    trained(&model, cross_entropy_of)
}

#[test]
fn a_branch_that_is_scaled_as_others_are_is_looked_at() {
    // A branch that starts close to zero is not.
    for gamma in [1.0, 0.1, 0.01] {
        shows(KIND, "1.layers.0.weight", |bug| {
            let gamma = if bug { gamma } else { 1e-6 };
            with_branch(Branch::new(shrinking()?, gamma)?)
        });
    }
}

#[test]
fn a_gate_that_starts_half_open_is_looked_at() {
    shows(KIND, "1.layers.0.weight", |bug| {
        let opening: Opening = if bug { Tensor::sigmoid } else { Tensor::tanh };
        with_branch(Branch::gated(shrinking()?, 0.0, opening)?)
    });
}

#[test]
fn a_branch_that_nothing_will_open_is_looked_at() {
    shows(KIND, "1.layers.0.weight", |bug| {
        let branch = Branch::new(shrinking()?, 1e-4)?;
        if bug {
            branch.gamma.freeze();
        }
        with_branch(branch)
    });
}

#[test]
fn what_is_around_a_closed_branch_is_looked_at() {
    shows(KIND, "0.weight", |bug| {
        let model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(if bug { shrinking()? } else { Sequential::new() })
            .push(Branch::new(shrinking()?, 1e-6)?)
            .push(Linear::new(16, 3)?);
        let report = trained(&model, cross_entropy_of)?;
        for finding in report.of_kind(KIND) {
            // There is no finding about the branch, which the gradient reaches first.
            assert!(!finding.message.contains("`2."), "{finding:?}");
        }
        Ok(report)
    });
}

#[test]
fn a_small_head_opens_no_branch() {
    // Its bias does not bypass it.
    #[derive(Module)]
    struct Head {
        weight: Parameter,
        bias: Parameter,
    }

    impl Forward for Head {
        type Output = Tensor;

        fn forward(&self, x: Tensor) -> Result<Tensor> {
            x.matmul(&self.weight.tensor())?.add(self.bias.tensor())
        }
    }

    shows(KIND, "1.layers.4.weight", |bug| {
        let layers = if bug { shrinking()? } else { Sequential::new() };
        let model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(Branch::new(layers, 1.0)?)
            .push(Head {
                weight: Parameter::new(Tensor::randn([16, 3], DType::F32)?.mul(1e-4)?)?,
                bias: Parameter::new(Tensor::randn([3], DType::F32)?)?,
            });
        // Before a step makes it larger.
        trained_by(Audit::new(&model).steps(1), &model, cross_entropy_of)
    });
}

/// Experts, with a mask that selects one for each row.
#[derive(Module)]
struct Masked {
    experts: Vec<Linear>,
    head: Linear,
    #[module(skip)]
    closed: bool,
}

impl Forward for Masked {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let taken = Tensor::arange(0, x.size(0)? as i64, DType::I64)?;
        let taken = taken.remainder(if self.closed { 2_i64 } else { 3 })?;
        let mut y = Tensor::zeros([x.size(0)?, 16], DType::F32)?;
        for (i, expert) in self.experts.iter().enumerate() {
            let mask = taken.eq(i as i64)?.to_dtype(DType::F32)?.unsqueeze(1)?;
            y = y.add(&expert.call(x.clone())?.mul(&mask)?)?;
        }
        self.head.call(y.tanh()?)
    }
}

#[test]
fn a_gradient_of_zeros_means_that_a_branch_is_closed() {
    shows(KIND, "experts.2.weight", |bug| {
        let experts: Result<_> = (0..3).map(|_| Linear::new(6, 16)).collect();
        let model = Masked {
            experts: experts?,
            head: Linear::new(16, 3)?,
            closed: bug,
        };
        let report = trained(&model, cross_entropy_of)?;
        for finding in report.of_kind(KIND) {
            assert!(finding.cause.contains("a mask or gate"), "{finding:?}");
        }
        Ok(report)
    });
    // A shrinking one is not.
    let report = fork_rng(0, || with_branch(Branch::new(shrinking()?, 1.0)?)).unwrap();
    let finding = report.of_kind(KIND).next().unwrap();
    assert!(
        finding.cause.contains("shrinks in each layer"),
        "{finding:?}"
    );
}
