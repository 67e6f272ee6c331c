//! The variational autoencoder of PyTorch's examples.
//!
//! Source: Kingma and Welling, *Auto-Encoding Variational Bayes* (2013).

use std::path::Path;

use module_nn::prelude::*;
use serde::Deserialize;

use super::pretrained;

/// The sizes, which are constants in the example.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VAEConfig {
    /// The number of pixels.
    pub pixels: usize,
    /// The number of features between pixels and latent variables.
    pub hidden: usize,
    /// The number of latent variables.
    pub latent: usize,
}

impl Default for VAEConfig {
    fn default() -> Self {
        Self {
            pixels: 784,
            hidden: 400,
            latent: 20,
        }
    }
}

/// `(N, …)` images to their reconstructions, means and logarithms of variances: `(N, pixels)` and twice `(N, latent)`.
#[derive(Module)]
pub struct VAE {
    fc1: Linear,
    fc21: Linear,
    fc22: Linear,
    fc3: Linear,
    fc4: Linear,
}

impl VAE {
    /// A network with fresh weights.
    ///
    /// # Errors
    ///
    /// Sizes of 0.
    pub fn new(config: &VAEConfig) -> Result<Self> {
        let &VAEConfig {
            pixels,
            hidden,
            latent,
        } = config;
        Ok(Self {
            fc1: Linear::new(pixels, hidden)?,
            fc21: Linear::new(hidden, latent)?,
            fc22: Linear::new(hidden, latent)?,
            fc3: Linear::new(latent, hidden)?,
            fc4: Linear::new(hidden, pixels)?,
        })
    }

    /// The network of a directory with `config.json` and weights.
    ///
    /// # Errors
    ///
    /// As [`pretrained::from_pretrained`].
    pub fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        pretrained::from_pretrained(dir, Self::new)
    }

    /// The mean and the logarithm of the variance of the latent variables of each image.
    ///
    /// # Errors
    ///
    /// Images of another size.
    pub fn encode(&self, x: Tensor) -> Result<(Tensor, Tensor)> {
        let hidden = self.fc1.call(x)?.relu()?;
        Ok((self.fc21.call(hidden.clone())?, self.fc22.call(hidden)?))
    }

    /// The image of each row of latent variables.
    ///
    /// # Errors
    ///
    /// Another number of latent variables.
    pub fn decode(&self, z: Tensor) -> Result<Tensor> {
        self.fc4.call(self.fc3.call(z)?.relu()?)?.sigmoid()
    }
}

impl Forward for VAE {
    type Output = (Tensor, Tensor, Tensor);

    fn forward(&self, x: Tensor) -> Result<Self::Output> {
        let (mean, log_variance) = self.encode(x.flatten(1, -1)?)?;
        let deviation = log_variance.mul(0.5)?.exp()?;
        let z = mean.add(&deviation.randn_like()?.mul(&deviation)?)?;
        Ok((self.decode(z)?, mean, log_variance))
    }
}
