//! The generator and the discriminator of PyTorch's DCGAN example.
//!
//! Source: Radford, Metz and Chintala, *Unsupervised Representation Learning with Deep Convolutional Generative
//! Adversarial Networks* (2016).

use std::path::Path;

use module_nn::init::{self, Normal};
use module_nn::prelude::*;
use serde::Deserialize;

use super::pretrained;

/// The sizes, by the example's names.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DCGANConfig {
    /// The size of the noise.
    pub nz: usize,
    /// A measure of the generator's channels.
    pub ngf: usize,
    /// A measure of the discriminator's channels.
    pub ndf: usize,
    /// The channels of images.
    pub nc: usize,
}

impl Default for DCGANConfig {
    fn default() -> Self {
        Self {
            nz: 100,
            ngf: 64,
            ndf: 64,
            nc: 3,
        }
    }
}

/// `(N, nz, 1, 1)` noise to `(N, nc, 64, 64)` images.
#[derive(Module, Forward)]
pub struct Generator {
    main: Sequential,
}

/// `(N, nc, 64, 64)` images to `(N)` probabilities that they are real.
#[derive(Module)]
pub struct Discriminator {
    main: Sequential,
}

impl Generator {
    /// A network with fresh weights.
    ///
    /// # Errors
    ///
    /// Sizes of 0.
    pub fn new(config: &DCGANConfig) -> Result<Self> {
        let &DCGANConfig { nz, ngf, nc, .. } = config;
        let up = |inputs, outputs, stride: usize| {
            let conv = ConvTranspose2dConfig::new(inputs, outputs, 4).stride(stride);
            conv.padding(stride - 1).bias(false).build()
        };
        let mut main = Sequential::new();
        let mut inputs = nz;
        for (outputs, stride) in [(8 * ngf, 1), (4 * ngf, 2), (2 * ngf, 2), (ngf, 2)] {
            let norm = BatchNorm2d::new(outputs)?;
            main = main
                .push(up(inputs, outputs, stride)?)
                .push(norm)
                .push(ReLU::new());
            inputs = outputs;
        }
        let main = main.push(up(inputs, nc, 2)?).push(Tanh::new());
        initialize(&main)?;
        Ok(Self { main })
    }

    /// The network of a directory with `config.json` and weights.
    ///
    /// # Errors
    ///
    /// As [`pretrained::from_pretrained`].
    pub fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        pretrained::from_pretrained(dir, Self::new)
    }
}

impl Discriminator {
    /// A network with fresh weights.
    ///
    /// # Errors
    ///
    /// Sizes of 0.
    pub fn new(config: &DCGANConfig) -> Result<Self> {
        let &DCGANConfig { ndf, nc, .. } = config;
        let down = |inputs, outputs| {
            let conv = Conv2dConfig::new(inputs, outputs, 4).stride(2).padding(1);
            conv.bias(false).build()
        };
        let leaky = || LeakyReLUConfig::new().negative_slope(0.2).build();
        let mut main = Sequential::new().push(down(nc, ndf)?).push(leaky()?);
        for inputs in [ndf, 2 * ndf, 4 * ndf] {
            let norm = BatchNorm2d::new(2 * inputs)?;
            main = main
                .push(down(inputs, 2 * inputs)?)
                .push(norm)
                .push(leaky()?);
        }
        let last = Conv2dConfig::new(8 * ndf, 1, 4).bias(false).build()?;
        let main = main.push(last).push(Sigmoid::new());
        initialize(&main)?;
        Ok(Self { main })
    }

    /// The network of a directory with `config.json` and weights.
    ///
    /// # Errors
    ///
    /// As [`pretrained::from_pretrained`].
    pub fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        pretrained::from_pretrained(dir, Self::new)
    }
}

/// The example's: weights normal around 0, scales of normalizations around 1.
fn initialize(main: &Sequential) -> Result<()> {
    let around = |mean| Normal { mean, std: 0.02 };
    init::each(main, |_, conv: &Conv2d| {
        conv.weight().initialize(around(0.0))
    })?;
    init::each(main, |_, conv: &ConvTranspose2d| {
        conv.weight().initialize(around(0.0))
    })?;
    init::each(main, |_, norm: &BatchNorm2d| {
        norm.get_parameter("weight")?.initialize(around(1.0))
    })
}

impl Forward for Discriminator {
    type Output = Tensor;

    fn forward(&self, images: Tensor) -> Result<Tensor> {
        self.main.call(images)?.flatten(0, -1)
    }
}
