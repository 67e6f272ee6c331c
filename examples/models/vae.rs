//! The variational autoencoder of PyTorch's examples.
//!
//! Source: Kingma and Welling, *Auto-Encoding Variational Bayes* (2013).

use module_nn::functional::binary_cross_entropy;
use module_nn::prelude::*;

use super::pretrained::Pretrained;

module_nn::config! {
    /// The sizes, which are constants in the example.
    pub struct VAEConfig {
        optional {
            /// The number of pixels.
            pixels: usize = 784_usize,
            /// The number of features between pixels and latent variables.
            hidden: usize = 400_usize,
            /// The number of latent variables.
            latent: usize = 20_usize,
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

impl Pretrained for VAE {
    type Config = VAEConfig;

    fn new(config: &VAEConfig) -> Result<Self> {
        let (pixels, hidden, latent) = (config.pixels, config.hidden, config.latent);
        Ok(Self {
            fc1: Linear::new(pixels, hidden)?,
            fc21: Linear::new(hidden, latent)?,
            fc22: Linear::new(hidden, latent)?,
            fc3: Linear::new(latent, hidden)?,
            fc4: Linear::new(hidden, pixels)?,
        })
    }
}

impl VAE {
    /// The mean and the logarithm of the variance of each image's latent variables.
    ///
    /// # Errors
    ///
    /// Images of another size.
    pub fn encode(&self, x: Tensor) -> Result<(Tensor, Tensor)> {
        let hidden = self.fc1.call(x)?.relu()?;
        Ok((self.fc21.call(hidden.clone())?, self.fc22.call(hidden)?))
    }

    /// Decodes each row of latent variables into an image.
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

/// The training loss, summed over all images: the reconstruction error of `images`, and the divergence of their latent
/// variables from a standard normal distribution.
///
/// # Errors
///
/// A different number or size of images.
pub fn loss_function(outputs: &(Tensor, Tensor, Tensor), images: &Tensor) -> Result<Tensor> {
    let (reconstructions, mean, log_variance) = outputs;
    let images = images.flatten(1, -1)?;
    let unlikely = binary_cross_entropy(reconstructions, &images, None, Reduction::Sum)?;
    let spread = log_variance.add(1.0)?.sub(&mean.square()?)?;
    let spread = spread.sub(&log_variance.exp()?)?.sum(..)?;
    unlikely.sub(&spread.mul(0.5)?)
}
