//! The U-Net of milesial's Pytorch-UNet.
//!
//! Source: Ronneberger, Fischer and Brox, *U-Net: Convolutional Networks for Biomedical Image Segmentation* (2015).

use std::path::Path;

use module_nn::prelude::*;
use serde::Deserialize;

use super::pretrained;

/// The arguments, by the original's names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UNetConfig {
    /// The channels of images.
    pub n_channels: usize,
    /// The number of classes.
    pub n_classes: usize,
    /// Whether images are enlarged by interpolation, and not by a learned convolution.
    #[serde(default)]
    pub bilinear: bool,
    /// The channels of the first features, a constant in the original.
    #[serde(default = "published_width")]
    pub width: usize,
}

fn published_width() -> usize {
    64
}

/// `(N, n_channels, H, W)` images to `(N, n_classes, H, W)` logits.
#[derive(Module)]
pub struct UNet {
    inc: DoubleConv,
    down1: Down,
    down2: Down,
    down3: Down,
    down4: Down,
    up1: Up,
    up2: Up,
    up3: Up,
    up4: Up,
    outc: OutConv,
}

#[derive(Module, Forward)]
struct DoubleConv {
    double_conv: Sequential,
}

/// Half the size.
#[derive(Module, Forward)]
struct Down {
    maxpool_conv: Sequential,
}

/// Twice the size, joined with the features of that size on the way down.
#[derive(Module)]
struct Up {
    up: Box<dyn Layer>,
    conv: DoubleConv,
}

#[derive(Module, Forward)]
struct OutConv {
    conv: Conv2d,
}

impl DoubleConv {
    fn new(inputs: usize, between: usize, outputs: usize) -> Result<Self> {
        let mut double_conv = Sequential::new();
        for (from, to) in [(inputs, between), (between, outputs)] {
            let conv = Conv2dConfig::new(from, to, 3)
                .padding(1)
                .bias(false)
                .build()?;
            double_conv = double_conv
                .push(conv)
                .push(BatchNorm2d::new(to)?)
                .push(ReLU::new());
        }
        Ok(Self { double_conv })
    }
}

impl Down {
    fn new(inputs: usize, outputs: usize) -> Result<Self> {
        let maxpool_conv = Sequential::new().push(MaxPool2d::new(2)?);
        let maxpool_conv = maxpool_conv.push(DoubleConv::new(inputs, outputs, outputs)?);
        Ok(Self { maxpool_conv })
    }
}

impl Up {
    fn new(inputs: usize, outputs: usize, bilinear: bool) -> Result<Self> {
        let half = inputs / 2;
        if bilinear {
            let up = UpsampleConfig::new()
                .scale_factor(2.0)
                .mode(InterpolateMode::Bilinear);
            let up = Box::new(up.align_corners(true).build()?);
            return Ok(Self {
                up,
                conv: DoubleConv::new(inputs, half, outputs)?,
            });
        }
        let up = Box::new(
            ConvTranspose2dConfig::new(inputs, half, 2)
                .stride(2)
                .build()?,
        );
        Ok(Self {
            up,
            conv: DoubleConv::new(inputs, outputs, outputs)?,
        })
    }
}

impl UNet {
    /// A network with fresh weights.
    ///
    /// # Errors
    ///
    /// Sizes of 0.
    pub fn new(config: &UNetConfig) -> Result<Self> {
        let &UNetConfig {
            n_channels,
            n_classes,
            bilinear,
            width,
        } = config;
        // Interpolation keeps the number of channels, so that there are half as many below.
        let factor = if bilinear { 2 } else { 1 };
        let up = |inputs, outputs| Up::new(inputs, outputs, bilinear);
        Ok(Self {
            inc: DoubleConv::new(n_channels, width, width)?,
            down1: Down::new(width, 2 * width)?,
            down2: Down::new(2 * width, 4 * width)?,
            down3: Down::new(4 * width, 8 * width)?,
            down4: Down::new(8 * width, 16 * width / factor)?,
            up1: up(16 * width, 8 * width / factor)?,
            up2: up(8 * width, 4 * width / factor)?,
            up3: up(4 * width, 2 * width / factor)?,
            up4: up(2 * width, width)?,
            outc: OutConv {
                conv: Conv2d::new(width, n_classes, 1)?,
            },
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
}

impl Forward<(Tensor, Tensor)> for Up {
    type Output = Tensor;

    fn forward(&self, (x, skip): (Tensor, Tensor)) -> Result<Tensor> {
        let x = self.up.call(x)?;
        // Sizes that are odd were rounded down.
        let missing = |dim| Ok::<_, Error>(skip.size(dim)? as isize - x.size(dim)? as isize);
        let (height, width) = (missing(2)?, missing(3)?);
        let around = [
            width / 2,
            width - width / 2,
            height / 2,
            height - height / 2,
        ];
        let x = x.pad(around, 0)?;
        self.conv.call(Tensor::cat(&[skip, x], 1)?)
    }
}

impl Forward for UNet {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x1 = self.inc.call(x)?;
        let x2 = self.down1.call(x1.clone())?;
        let x3 = self.down2.call(x2.clone())?;
        let x4 = self.down3.call(x3.clone())?;
        let x = self.up1.call((self.down4.call(x4.clone())?, x4))?;
        let x = self.up3.call((self.up2.call((x, x3))?, x2))?;
        self.outc.call(self.up4.call((x, x1))?)
    }
}
