//! The network of the digits example, as defined in PyTorch by `golden/digits_torch.py`.

use module_nn::prelude::*;

/// Two 3×3 convolutions and a shortcut, with a projection where the shape changes.
#[derive(Module)]
pub struct Block {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    skip: Skip,
}

/// The shortcut of a block.
#[derive(Module, Forward)]
pub enum Skip {
    /// A strided 1×1 convolution with its normalization.
    Project(Sequential),
    /// The input itself.
    Identity(Identity),
}

/// `(N, 1, 8, 8)` pixels in 0..1 to `(N, 10)` logits.
#[derive(Module)]
pub struct Digits {
    stem: Sequential,
    layer1: Block,
    layer2: Block,
    dropout: Dropout,
    head: Linear,
}

fn conv(inputs: usize, outputs: usize, kernel: usize) -> Conv2dConfig {
    Conv2dConfig::new(inputs, outputs, kernel)
        .padding(kernel / 2)
        .bias(false)
}

impl Block {
    /// The members are built in PyTorch's order, because each continues the random stream.
    fn new(inputs: usize, outputs: usize, stride: usize) -> Result<Self> {
        Ok(Self {
            conv1: conv(inputs, outputs, 3).stride(stride).build()?,
            bn1: BatchNorm2d::new(outputs)?,
            conv2: conv(outputs, outputs, 3).build()?,
            bn2: BatchNorm2d::new(outputs)?,
            skip: if stride != 1 || inputs != outputs {
                Skip::Project(
                    Sequential::new()
                        .push(conv(inputs, outputs, 1).stride(stride).build()?)
                        .push(BatchNorm2d::new(outputs)?),
                )
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

impl Digits {
    /// With `width` channels in the first block.
    ///
    /// # Errors
    ///
    /// A width of 0, a probability outside `[0, 1]`.
    pub fn new(width: usize, dropout: f64) -> Result<Self> {
        Ok(Self {
            stem: Sequential::new()
                .push(conv(1, width, 3).build()?)
                .push(BatchNorm2d::new(width)?)
                .push(ReLU::new()),
            layer1: Block::new(width, width, 1)?,
            layer2: Block::new(width, 2 * width, 2)?,
            dropout: Dropout::new(dropout)?,
            head: Linear::new(2 * width * 4 * 4, 10)?,
        })
    }
}

impl Forward for Digits {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.layer2.call(self.layer1.call(self.stem.call(x)?)?)?;
        self.head.call(self.dropout.call(x.flatten(1, -1)?)?)
    }
}
