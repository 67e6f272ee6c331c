//! Training steps that consist of more than a forward pass, a backward pass and a step.

use std::sync::Arc;

use module_nn::CheckpointedSequential;
use module_nn::activation_checkpoint::checkpoint;
use module_nn::optim::{LBFGS, LBFGSConfig};
use module_nn::prelude::*;

use super::{classes, healthy, mlp, rows, step};

fn loss_of(model: &Sequential, count: usize) -> Result<Tensor> {
    let logits = model.call(rows(count, 10)?)?;
    CrossEntropyLoss::new().loss(&logits, &classes(count, 4)?)
}

#[test]
fn gradients_of_several_batches_in_a_step() {
    healthy(|| {
        let model = mlp(10, 16, 4)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            model.zero_grad();
            loss_of(model, 8)?.div(2.0)?.backward()?;
            let loss = loss_of(model, 8)?.div(2.0)?;
            loss.backward()?;
            optimizer.step(model)?;
            Ok(loss)
        }))
    });
}

#[test]
fn gradients_set_to_zero_after_the_step() {
    healthy(|| {
        let model = mlp(10, 16, 4)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            let loss = loss_of(model, 16)?;
            loss.backward()?;
            optimizer.step(model)?;
            model.zero_grad();
            Ok(loss)
        }))
    });
}

#[test]
fn clipped_gradients_and_a_rate_that_starts_low() {
    healthy(|| {
        let model = mlp(10, 16, 4)?;
        let mut optimizer = AdamWConfig::new(1e-3).weight_decay(0.1).build(&model)?;
        let mut schedule = WarmupCosine::new(&mut optimizer, 10, 100)?;
        Ok((model, move |model: &Sequential| {
            model.zero_grad();
            let loss = loss_of(model, 16)?;
            loss.backward()?;
            clip_grad_norm(model, 1.0)?;
            optimizer.step(model)?;
            schedule.step(&mut optimizer)?;
            Ok(loss)
        }))
    });
}

#[test]
fn products_in_bfloat16_with_a_scaled_loss() {
    healthy(|| {
        let model = mlp(10, 16, 4)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        let mut scaler = GradScaler::new();
        Ok((model, move |model: &Sequential| {
            model.zero_grad();
            let loss = autocast(DType::BF16, || loss_of(model, 16))?;
            scaler.scale(&loss)?.backward()?;
            scaler.step(&mut optimizer, model)?;
            scaler.update()?;
            Ok(loss)
        }))
    });
}

#[test]
fn a_scale_that_overflows_in_the_first_steps() {
    healthy(|| {
        let model = mlp(10, 16, 4)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        let mut scaler = GradScalerConfig::new()
            .init_scale(2.0_f64.powi(24))
            .build()?;
        Ok((model, move |model: &Sequential| {
            model.zero_grad();
            let loss = autocast(DType::F16, || loss_of(model, 16))?;
            scaler.scale(&loss)?.backward()?;
            scaler.step(&mut optimizer, model)?;
            scaler.update()?;
            Ok(loss)
        }))
    });
}

#[test]
fn activations_that_are_recomputed() {
    healthy(|| {
        let layers = Sequential::new()
            .push(Linear::new(10, 16)?)
            .push(BatchNorm1d::new(16)?)
            .push(Dropout::new(0.1)?)
            .push(ReLU::new())
            .push(Linear::new(16, 16)?)
            .push(Linear::new(16, 4)?);
        let model = CheckpointedSequential::new(layers, 2)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &CheckpointedSequential| {
            let logits = model.call(rows(16, 10)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 4)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// A block that recomputes itself with its own `forward`.
#[derive(Module)]
struct Again {
    block: Arc<Sequential>,
    head: Linear,
}

impl Forward for Again {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let block = self.block.clone();
        self.head.call(checkpoint(move |x| block.call(x), x)?)
    }
}

#[test]
fn a_block_that_is_recomputed() {
    healthy(|| {
        let model = Again {
            block: Arc::new(mlp(10, 16, 16)?),
            head: Linear::new(16, 4)?,
        };
        let mut optimizer = Adam::new(&model, 1e-3)?;
        Ok((model, move |model: &Again| {
            let logits = model.call(rows(16, 10)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 4)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn a_step_that_also_evaluates() {
    healthy(|| {
        let model = Sequential::new()
            .push(Linear::new(10, 16)?)
            .push(BatchNorm1d::new(16)?)
            .push(ReLU::new())
            .push(Linear::new(16, 4)?);
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            let loss = loss_of(model, 16)?;
            let loss = step(model, &mut optimizer, loss)?;
            model.eval();
            no_grad(|| model.call(rows(4, 10)?))?;
            // With a graph that no pass uses.
            model.call(rows(4, 10)?)?;
            model.train();
            Ok(loss)
        }))
    });
}

#[test]
fn several_batches_with_a_scaled_loss() {
    healthy(|| {
        let model = mlp(10, 16, 4)?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        let mut scaler = GradScaler::new();
        Ok((model, move |model: &Sequential| {
            let mut losses = Vec::new();
            for _ in 0..4 {
                let loss = autocast(DType::F16, || loss_of(model, 8))?.div(4.0)?;
                scaler.scale(&loss)?.backward()?;
                losses.push(loss.detach());
            }
            scaler.unscale(model)?;
            clip_grad_norm(model, 1.0)?;
            scaler.step(&mut optimizer, model)?;
            scaler.update()?;
            model.zero_grad();
            Tensor::stack(&losses, 0)?.sum(..)
        }))
    });
}

#[test]
fn a_step_that_searches_along_its_way() {
    healthy(|| {
        let model = mlp(10, 16, 4)?;
        let mut optimizer: LBFGS = LBFGSConfig::new(0.1).max_iter(5_usize).build(&model)?;
        Ok((model, move |model: &Sequential| {
            let (x, target) = (rows(16, 10)?, classes(16, 4)?);
            let loss = || CrossEntropyLoss::new().loss(&model.call(x.clone())?, &target);
            let before = optimizer.step(model, loss)?;
            Ok(Tensor::from(before))
        }))
    });
}

#[test]
fn a_step_by_the_gradient_of_a_place_nearby() {
    // Sharpness-aware minimization: up along the gradient, a second gradient there, and a step from the starting point.
    healthy(|| {
        let model = mlp(10, 16, 4)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            let (x, target) = (rows(16, 10)?, classes(16, 4)?);
            let loss = || CrossEntropyLoss::new().loss(&model.call(x.clone())?, &target);
            model.zero_grad();
            let first = loss()?;
            first.backward()?;
            let before: Vec<Tensor> = model.parameters().map(Parameter::detach).collect();
            for parameter in model.parameters() {
                let grad = parameter
                    .grad()
                    .ok_or_else(|| Error::custom("no gradient"))?;
                parameter.set(parameter.detach().add(grad.mul(0.05)?)?)?;
            }
            model.zero_grad();
            loss()?.backward()?;
            for (parameter, before) in model.parameters().zip(before) {
                parameter.set(before)?;
            }
            optimizer.step(model)?;
            Ok(first)
        }))
    });
}
