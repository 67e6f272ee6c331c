//! The generator and the discriminator of PyTorch's DCGAN example.
//!
//! Source: Radford, Metz and Chintala, *Unsupervised Representation Learning with Deep Convolutional Generative
//! Adversarial Networks* (2016).

use module_nn::init::{self, Normal};
use module_nn::prelude::*;

use super::pretrained::Pretrained;

module_nn::config! {
    /// The sizes, with the example's names.
    pub struct DCGANConfig {
        optional {
            /// The size of the noise.
            nz: usize = 100_usize,
            /// The base number of the generator's channels.
            ngf: usize = 64_usize,
            /// The base number of the discriminator's channels.
            ndf: usize = 64_usize,
            /// The channels of images.
            nc: usize = 3_usize,
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

impl Pretrained for Generator {
    type Config = DCGANConfig;

    fn new(config: &DCGANConfig) -> Result<Self> {
        let &DCGANConfig { nz, ngf, nc, .. } = config;
        let up = |inputs, outputs, stride: usize| {
            let conv = ConvTranspose2dConfig::new(inputs, outputs, 4).stride(stride);
            conv.padding(stride - 1).bias(false).build()
        };
        let mut main = Sequential::new();
        let mut inputs = nz;
        for (outputs, stride) in [(8 * ngf, 1), (4 * ngf, 2), (2 * ngf, 2), (ngf, 2)] {
            main.append(up(inputs, outputs, stride)?);
            main.append(BatchNorm2d::new(outputs)?);
            main.append(ReLU::new());
            inputs = outputs;
        }
        let main = main.push(up(inputs, nc, 2)?).push(Tanh::new());
        initialize(&main)?;
        Ok(Self { main })
    }
}

impl Pretrained for Discriminator {
    type Config = DCGANConfig;

    fn new(config: &DCGANConfig) -> Result<Self> {
        let &DCGANConfig { ndf, nc, .. } = config;
        let down = |inputs, outputs| {
            let conv = Conv2dConfig::new(inputs, outputs, 4).stride(2).padding(1);
            conv.bias(false).build()
        };
        let leaky = || LeakyReLUConfig::new().negative_slope(0.2).build();
        let mut main = Sequential::new().push(down(nc, ndf)?).push(leaky()?);
        for inputs in [ndf, 2 * ndf, 4 * ndf] {
            main.append(down(inputs, 2 * inputs)?);
            main.append(BatchNorm2d::new(2 * inputs)?);
            main.append(leaky()?);
        }
        let last = Conv2dConfig::new(8 * ndf, 1, 4).bias(false).build()?;
        let main = main.push(last).push(Sigmoid::new());
        initialize(&main)?;
        Ok(Self { main })
    }
}

/// The example's initialization: weights normal around 0, scales of normalizations around 1.
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
