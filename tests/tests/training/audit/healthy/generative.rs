//! Generative networks.

use module_nn::prelude::*;

use super::{healthy, mlp, rows};
use crate::audit::support::step;

#[test]
fn an_autoencoder() {
    healthy(|| {
        let model = Sequential::new()
            .push(mlp(12, 16, 4)?)
            .push(mlp(4, 16, 12)?);
        let mut optimizer = Adam::new(&model, 1e-3)?;
        Ok((model, move |model: &Sequential| {
            let x = rows(16, 12)?;
            let loss = MSELoss::new().loss(&model.call(x.clone())?, &x)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// A variational autoencoder, which draws in its forward pass.
#[derive(Module)]
struct Variational {
    encoder: Linear,
    mean: Linear,
    log_variance: Linear,
    decoder: Sequential,
}

impl Forward for Variational {
    type Output = (Tensor, Tensor, Tensor);

    fn forward(&self, x: Tensor) -> Result<(Tensor, Tensor, Tensor)> {
        let x = self.encoder.call(x)?.relu()?;
        let (mean, log_variance) = (self.mean.call(x.clone())?, self.log_variance.call(x)?);
        let deviation = log_variance.mul(0.5)?.exp()?;
        let z = deviation.mul(&mean.randn_like()?)?.add(&mean)?;
        Ok((self.decoder.call(z)?, mean, log_variance))
    }
}

#[test]
fn a_variational_autoencoder() {
    healthy(|| {
        let model = Variational {
            encoder: Linear::new(12, 16)?,
            mean: Linear::new(16, 3)?,
            log_variance: Linear::new(16, 3)?,
            decoder: mlp(3, 16, 12)?,
        };
        let mut optimizer = Adam::new(&model, 1e-3)?;
        Ok((model, move |model: &Variational| {
            let x = Tensor::rand([16, 12], DType::F32)?;
            let (logits, mean, log_variance) = model.call(x.clone())?;
            let likelihood = BCEWithLogitsLoss::new().loss(&logits, &x)?;
            let divergence = log_variance
                .exp()?
                .add(&mean.mul(&mean)?)?
                .sub(&log_variance)?
                .sub(1.0)?
                .mean(..)?;
            let loss = likelihood.add(&divergence.mul(0.5)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// Two networks that train against each other.
#[derive(Module)]
struct Gan {
    generator: Sequential,
    discriminator: Sequential,
}

/// The loss of labeling these rows as real or as drawn.
fn judge(discriminator: &Sequential, x: Tensor, real: bool) -> Result<Tensor> {
    let logits = discriminator.call(x)?;
    let target = logits.detach().full_like(f64::from(u8::from(real)))?;
    BCEWithLogitsLoss::new().loss(&logits, &target)
}

#[test]
fn networks_that_pause_each_other() {
    healthy(|| {
        let model = Gan {
            generator: mlp(4, 16, 8)?,
            discriminator: Sequential::new()
                .push(Linear::new(8, 16)?)
                .push(LeakyReLUConfig::new().negative_slope(0.2).build()?)
                .push(Linear::new(16, 1)?),
        };
        let adam = AdamConfig::new(1e-3).betas((0.5, 0.999));
        let mut of_generator = adam.build(&model.generator)?;
        let mut of_discriminator = adam.build(&model.discriminator)?;
        Ok((model, move |model: &Gan| {
            let Gan {
                generator,
                discriminator,
            } = model;
            let drawn = generator.call(rows(16, 4)?)?;
            discriminator.zero_grad();
            let real = judge(discriminator, rows(16, 8)?, true)?;
            let loss = real.add(&judge(discriminator, drawn.detach(), false)?)?;
            loss.backward()?;
            of_discriminator.step(discriminator)?;

            discriminator.set_requires_grad(false);
            generator.zero_grad();
            let loss = judge(discriminator, drawn, true)?;
            loss.backward()?;
            of_generator.step(generator)?;
            discriminator.set_requires_grad(true);
            // Both begin the next step without gradients.
            model.zero_grad();
            Ok(loss)
        }))
    });
}
