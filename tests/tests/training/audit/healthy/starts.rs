//! Networks with parts that start at zero, and schedules that start at zero.

use module_nn::lora::{self, LoraConfig};
use module_nn::prelude::*;

use super::super::support::cross_entropy_of;
use super::{classes, healthy, rows, step};

/// Audits a training whose schedule starts with a rate of zero, like transformers' linear schedule: parameters that start
/// at zero are still zero in the second pass.
fn warmed_up<M: Module>(build: impl Fn() -> Result<M>, loss: impl Fn(&M) -> Result<Tensor>) {
    healthy(|| {
        let model = build()?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        let mut schedule = LambdaLR::new(&mut optimizer, |step| step as f64 / 100.0)?;
        let loss = &loss;
        Ok((model, move |model: &M| {
            let loss = step(model, &mut optimizer, loss(model)?)?;
            schedule.step(&mut optimizer)?;
            Ok(loss)
        }))
    });
}

/// The gate of a residual block.
#[derive(Module)]
enum Gate {
    /// A scalar.
    Scale { alpha: Parameter },
    /// A normalization after the branch.
    Norm { norm: BatchNorm1d },
    /// Computed from an input of the network other than the main one.
    Computed { gate: Linear },
    /// A scale for each channel, and a random choice of rows.
    Dropped {
        gamma: Parameter,
        depth: StochasticDepth,
    },
}

#[derive(Module)]
struct Block {
    first: Linear,
    second: Linear,
    gate: Gate,
}

impl Block {
    fn new(gate: Gate) -> Result<Self> {
        Ok(Self {
            first: Linear::new(16, 32)?,
            second: Linear::new(32, 16)?,
            gate,
        })
    }
}

impl Forward for Block {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.second.call(self.first.call(x.clone())?.tanh()?)?;
        let y = match &self.gate {
            Gate::Scale { alpha } => y.mul(alpha.tensor())?,
            Gate::Norm { norm } => norm.call(y)?,
            Gate::Computed { gate } => y.mul(&gate.call(x.clone())?)?,
            Gate::Dropped { gamma, depth } => depth.call(y.mul(gamma.tensor())?)?,
        };
        x.add(&y)
    }
}

/// Two blocks between a stem and a head.
fn gated(gate: impl Fn() -> Result<Gate>) -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(6, 16)?)
        .push(Block::new(gate()?)?)
        .push(Block::new(gate()?)?)
        .push(Linear::new(16, 3)?))
}

#[test]
fn branches_that_start_at_zero() {
    let scale = || {
        let alpha = Parameter::new(Tensor::from(0.0_f32))?;
        Ok(Gate::Scale { alpha })
    };
    warmed_up(|| gated(scale), cross_entropy_of);
    let norm = || {
        let norm = BatchNorm1d::new(16)?;
        let weight = norm.get_parameter("weight")?;
        weight.set(weight.detach().zeros_like()?)?;
        Ok(Gate::Norm { norm })
    };
    warmed_up(|| gated(norm), cross_entropy_of);
    let computed = || {
        let gate = Linear::new(16, 16)?;
        for parameter in gate.parameters() {
            parameter.set(parameter.detach().zeros_like()?)?;
        }
        Ok(Gate::Computed { gate })
    };
    warmed_up(|| gated(computed), cross_entropy_of);
}

#[test]
fn scaled_branches_of_which_some_are_left_out() {
    let dropped = || {
        Ok(Gate::Dropped {
            gamma: Parameter::new(Tensor::full([16], 1e-6, DType::F32)?)?,
            depth: StochasticDepth::new(0.1, StochasticDepthMode::Row)?,
        })
    };
    warmed_up(|| gated(dropped), cross_entropy_of);
}

#[test]
fn adapters_whose_first_step_is_by_a_rate_of_zero() {
    let build = || {
        let mut model = super::mlp(6, 16, 3)?;
        lora::add_adapter(&mut model, "default", ["0", "2"], &LoraConfig::new().r(4))?;
        Ok(model)
    };
    warmed_up(build, cross_entropy_of);
}

#[test]
fn scales_that_a_small_rate_moves_by_less_than_their_rounding() {
    healthy(|| {
        let model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(LayerNorm::new(16)?)
            .push(GELU::new())
            .push(Linear::new(16, 3)?);
        let mut optimizer = AdamW::new(&model, 1e-4)?;
        // The first of ten thousand warmup steps.
        let mut schedule = LambdaLR::new(&mut optimizer, |step| step as f64 / 1e4)?;
        Ok((model, move |model: &Sequential| {
            let loss = step(model, &mut optimizer, cross_entropy_of(model)?)?;
            schedule.step(&mut optimizer)?;
            Ok(loss)
        }))
    });
}

#[test]
fn features_that_a_dropout_of_the_input_leaves_out() {
    healthy(|| {
        let model = Sequential::new()
            .push(Dropout::new(0.5)?)
            .push(Linear::new(100, 16)?)
            .push(Tanh::new())
            .push(Linear::new(16, 3)?);
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            let logits = model.call(rows(2, 100)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(2, 3)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}
