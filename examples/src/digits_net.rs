use module_nn::prelude::*;

/// The skip connection of a block: a projection where the shape changes, otherwise the identity.
///
/// In PyTorch you would write `None` or an `Identity`; here the choice is a type, and the keys depend on which one was
/// chosen.
#[derive(Module, Forward)]
enum Skip {
    Project(Sequential),
    Identity(Identity),
}

/// Two convolutions and a skip connection.
#[derive(Module)]
pub struct Block {
    conv1: Conv2d,
    /// The normalization between the convolutions.
    pub bn1: BatchNorm2d,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    skip: Skip,
}

impl Block {
    fn new(channels_in: usize, channels: usize, stride: usize) -> Result<Self> {
        let conv = |from: usize, kernel: usize, stride: usize| {
            let config = Conv2dConfig::new(from, channels, kernel).stride(stride);
            config.padding(kernel / 2).bias(false).build()
        };
        Ok(Self {
            conv1: conv(channels_in, 3, stride)?,
            bn1: BatchNorm2d::new(channels)?,
            conv2: conv(channels, 3, 1)?,
            bn2: BatchNorm2d::new(channels)?,
            skip: if stride != 1 || channels_in != channels {
                let project = Sequential::new().push(conv(channels_in, 1, stride)?);
                Skip::Project(project.push(BatchNorm2d::new(channels)?))
            } else {
                Skip::Identity(Identity::new())
            },
        })
    }
}

impl Forward for Block {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.bn1.call(self.conv1.call(x.clone())?)?.relu()?;
        let y = self.bn2.call(self.conv2.call(y)?)?;
        y.add(&self.skip.call(x)?)?.relu()
    }
}

/// A residual network that reads digits: images `[N, 1, 8, 8]`, logits `[N, 10]`.
#[derive(Module)]
pub struct DigitsNet {
    stem: Sequential,
    /// The block that keeps the image size.
    pub layer1: Block,
    layer2: Block,
    dropout: Dropout,
    head: Linear,
}

impl DigitsNet {
    /// With `width` channels in the first block, and twice as many in the second.
    ///
    /// # Errors
    ///
    /// A width of 0.
    pub fn new(width: usize) -> Result<Self> {
        let stem = Conv2dConfig::new(1, width, 3)
            .padding(1)
            .bias(false)
            .build()?;
        Ok(Self {
            stem: Sequential::new()
                .push(stem)
                .push(BatchNorm2d::new(width)?)
                .push(ReLU::new()),
            layer1: Block::new(width, width, 1)?,
            layer2: Block::new(width, 2 * width, 2)?,
            dropout: Dropout::new(0.1)?,
            head: Linear::new(2 * width * 4 * 4, 10)?,
        })
    }
}

impl Forward for DigitsNet {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.layer2.call(self.layer1.call(self.stem.call(x)?)?)?;
        self.head.call(self.dropout.call(x.flatten(1, -1)?)?)
    }
}
