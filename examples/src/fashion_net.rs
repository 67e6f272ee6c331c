use module_nn::prelude::*;

/// Two convolutions with a skip connection, at one size and width.
#[derive(Module)]
struct Residual {
    conv1: Conv2dNormActivation,
    conv2: Conv2dNormActivation,
}

impl Residual {
    fn new(channels: usize) -> Result<Self> {
        let conv = Conv2dNormActivationConfig::new(channels, channels);
        Ok(Self {
            conv1: conv.build()?,
            conv2: conv.build()?,
        })
    }
}

impl Forward for Residual {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.conv2.call(self.conv1.call(x.clone())?)?.add(&x)
    }
}

/// A small residual network for images with one channel: `[N, 1, height, width]` with sides of at least 8 pixels, logits
/// `[N, 10]`.
///
/// Each of its three stages halves the size, increases the number of channels with a convolution, and refines the result
/// with two more convolutions and a skip connection. It is a narrower version of the ResNet-9 from the fast DAWNBench
/// entries, with the pooling before each convolution that adds channels, where it saves three quarters of the work.
#[derive(Module)]
pub struct FashionNet {
    stem: Conv2dNormActivation,
    pool: MaxPool2d,
    widen: Vec<Conv2dNormActivation>,
    refine: Vec<Residual>,
    head: Linear,
}

impl FashionNet {
    /// With this many channels after the stem and after each stage.
    ///
    /// # Errors
    ///
    /// A width of 0.
    pub fn new(widths: [usize; 4]) -> Result<Self> {
        let pairs = widths.windows(2);
        let widen = pairs.map(|w| Conv2dNormActivationConfig::new(w[0], w[1]).build());
        Ok(Self {
            stem: Conv2dNormActivationConfig::new(1, widths[0]).build()?,
            pool: MaxPool2d::new(2)?,
            widen: widen.collect::<Result<_>>()?,
            refine: widths[1..]
                .iter()
                .map(|&w| Residual::new(w))
                .collect::<Result<_>>()?,
            head: Linear::new(widths[3], 10)?,
        })
    }
}

impl Forward for FashionNet {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let mut x = self.stem.call(x)?;
        for (widen, refine) in self.widen.iter().zip(&self.refine) {
            x = refine.call(widen.call(self.pool.call(x)?)?)?;
        }
        self.head.call(x.amax([2, 3])?)
    }
}
