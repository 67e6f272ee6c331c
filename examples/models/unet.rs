//! The U-Net of milesial's Pytorch-UNet.
//!
//! Source: Ronneberger, Fischer and Brox, *U-Net: Convolutional Networks for Biomedical Image Segmentation* (2015).

use module_nn::prelude::*;

use super::pretrained::Pretrained;

module_nn::config! {
    /// The arguments, with the original's names.
    pub struct UNetConfig {
        required {
            /// The channels of images.
            n_channels: usize,
            /// The number of classes.
            n_classes: usize,
        }
        optional {
            /// Whether images are upsampled by interpolation instead of a learned convolution.
            bilinear: bool = false,
            /// The channels of the first features, a constant in the original.
            width: usize = 64_usize,
        }
    }
}

/// `(N, n_channels, H, W)` images to `(N, n_classes, H, W)` logits.
#[derive(Module)]
pub struct UNet {
    inc: Sequential,
    down1: Sequential,
    down2: Sequential,
    down3: Sequential,
    down4: Sequential,
    up1: Up,
    up2: Up,
    up3: Up,
    up4: Up,
    outc: Sequential,
}

/// Doubles the size, and joins the features of that size from the downward path.
#[derive(Module)]
struct Up {
    up: Box<dyn Layer>,
    conv: Sequential,
}

/// Two convolutions.
fn double_conv(inputs: usize, between: usize, outputs: usize) -> Result<Sequential> {
    let mut convs = Sequential::new();
    for (from, to) in [(inputs, between), (between, outputs)] {
        let conv = Conv2dConfig::new(from, to, 3).padding(1).bias(false);
        convs.append(conv.build()?);
        convs.append(BatchNorm2d::new(to)?);
        convs.append(ReLU::new());
    }
    Sequential::new().push_named("double_conv", convs)
}

/// Halves the size, and applies two convolutions.
fn down(inputs: usize, outputs: usize) -> Result<Sequential> {
    let pool = Sequential::new().push(MaxPool2d::new(2)?);
    let layers = pool.push(double_conv(inputs, outputs, outputs)?);
    Sequential::new().push_named("maxpool_conv", layers)
}

impl Up {
    fn new(inputs: usize, outputs: usize, bilinear: bool) -> Result<Self> {
        let half = inputs / 2;
        if bilinear {
            let up = UpsampleConfig::new().scale_factor(2.0);
            let up = up.mode(InterpolateMode::Bilinear).align_corners(true);
            return Ok(Self {
                up: Box::new(up.build()?),
                conv: double_conv(inputs, half, outputs)?,
            });
        }
        let up = ConvTranspose2dConfig::new(inputs, half, 2).stride(2);
        Ok(Self {
            up: Box::new(up.build()?),
            conv: double_conv(inputs, outputs, outputs)?,
        })
    }
}

impl Forward<(Tensor, Tensor)> for Up {
    type Output = Tensor;

    fn forward(&self, (x, skip): (Tensor, Tensor)) -> Result<Tensor> {
        let x = self.up.call(x)?;
        // Odd sizes were rounded down.
        let missing = |dim| Ok::<_, Error>(skip.size(dim)? as isize - x.size(dim)? as isize);
        let (height, width) = (missing(2)?, missing(3)?);
        let (left, top) = (width / 2, height / 2);
        let x = x.pad([left, width - left, top, height - top], 0)?;
        self.conv.call(Tensor::cat(&[skip, x], 1)?)
    }
}

impl Pretrained for UNet {
    type Config = UNetConfig;

    fn new(config: &UNetConfig) -> Result<Self> {
        let (width, bilinear) = (config.width, config.bilinear);
        // Interpolation keeps the number of channels, so there are half as many below.
        let factor = if bilinear { 2 } else { 1 };
        let outc = Conv2d::new(width, config.n_classes, 1)?;
        Ok(Self {
            inc: double_conv(config.n_channels, width, width)?,
            down1: down(width, 2 * width)?,
            down2: down(2 * width, 4 * width)?,
            down3: down(4 * width, 8 * width)?,
            down4: down(8 * width, 16 * width / factor)?,
            up1: Up::new(16 * width, 8 * width / factor, bilinear)?,
            up2: Up::new(8 * width, 4 * width / factor, bilinear)?,
            up3: Up::new(4 * width, 2 * width / factor, bilinear)?,
            up4: Up::new(2 * width, width, bilinear)?,
            outc: Sequential::new().push_named("conv", outc)?,
        })
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
