//! Networks that train against each other, in each order of training.

use module_nn::autograd::{BackwardOptions, grad};
use module_nn::parametrize::{SpectralNormConfig, spectral_norm};
use module_nn::prelude::*;

use super::{healthy, mlp, rows, step};

#[derive(Module)]
struct Gan {
    generator: Sequential,
    critic: Sequential,
}

/// The loss of labeling these rows as real or as drawn.
fn judge(critic: &Sequential, x: Tensor, real: bool) -> Result<Tensor> {
    let logits = critic.call(x)?;
    let target = logits.detach().full_like(f64::from(u8::from(real)))?;
    BCEWithLogitsLoss::new().loss(&logits, &target)
}

#[test]
fn a_generator_that_is_trained_before_its_critic() {
    // Its pass adds to the gradients of the critic's last step, which are cleared before the critic's own step.
    healthy(|| {
        let model = Gan {
            generator: mlp(4, 16, 8)?,
            critic: mlp(8, 16, 1)?,
        };
        let adam = AdamConfig::new(1e-3).betas((0.5, 0.999));
        let mut of_generator = adam.build(&model.generator)?;
        let mut of_critic = adam.build(&model.critic)?;
        Ok((model, move |model: &Gan| {
            let Gan { generator, critic } = model;
            let drawn = generator.call(rows(16, 4)?)?;
            step(
                generator,
                &mut of_generator,
                judge(critic, drawn.clone(), true)?,
            )?;
            let real = judge(critic, rows(16, 8)?, true)?;
            let loss = real.add(&judge(critic, drawn.detach(), false)?)?;
            step(critic, &mut of_critic, loss)
        }))
    });
}

#[test]
fn a_critic_of_bounded_slope() {
    healthy(|| {
        let layer = |inputs, outputs| {
            spectral_norm(Linear::new(inputs, outputs)?, &SpectralNormConfig::new())
        };
        let model = Gan {
            generator: mlp(4, 16, 8)?,
            critic: Sequential::new()
                .push(layer(8, 16)?)
                .push(LeakyReLUConfig::new().negative_slope(0.2).build()?)
                .push(layer(16, 1)?),
        };
        let adam = AdamConfig::new(1e-3).betas((0.0, 0.9));
        let mut of_generator = adam.build(&model.generator)?;
        let mut of_critic = adam.build(&model.critic)?;
        Ok((model, move |model: &Gan| {
            let Gan { generator, critic } = model;
            let score = |x: Tensor| critic.call(x)?.mean(..);
            let (real, drawn) = (rows(16, 8)?, generator.call(rows(16, 4)?)?);
            // The slope between real and drawn rows should be one.
            let part = Tensor::rand([16, 1], DType::F32)?;
            let between = real
                .mul(&part)?
                .add(&drawn.detach().mul(&part.neg()?.add(1.0)?)?)?;
            let between = between.with_grad()?;
            let create = BackwardOptions::new().create_graph(true);
            let scores = critic.call(between.clone())?.sum(..)?;
            let slopes = grad(&[&scores], &[&between], create)?.pop().flatten();
            let slopes = slopes.ok_or_else(|| Error::custom("no slope"))?;
            let penalty = slopes.norm(2.0, 1)?.sub(1.0)?.square()?.mean(..)?;
            let loss = score(drawn.detach())?.sub(&score(real)?)?;
            step(critic, &mut of_critic, loss.add(&penalty.mul(10.0)?)?)?;
            step(generator, &mut of_generator, score(drawn)?.neg()?)
        }))
    });
}
