//! Networks with batches for them.

use module_examples::{Digits, DigitsNet};
use module_nn::prelude::*;

/// A network that is trained on parts of a batch.
pub trait Net: Module + Sized {
    /// Built with the same weights on all ranks.
    fn build() -> Result<Self>;

    /// The inputs and targets of a step on all ranks together.
    fn batch(step: usize) -> Result<(Tensor, Tensor)>;

    /// The mean loss over a part of the batch.
    fn loss(&self, inputs: &Tensor, targets: &Tensor) -> Result<Tensor>;
}

/// The examples in each batch, which 1, 2 and 4 ranks divide.
pub const BATCH: usize = 16;

fn digits(step: usize) -> Result<(Tensor, Tensor)> {
    let digits = Digits::read()?;
    let at = (0..BATCH).map(|i| ((step * BATCH + i) % digits.len()) as i64);
    let batch = digits.select(&Tensor::from(at.collect::<Vec<_>>()))?;
    Ok((
        batch.images.to_dtype(module_nn::default_dtype())?,
        batch.labels,
    ))
}

/// A perceptron without buffers.
#[derive(Module)]
pub struct Perceptron {
    hidden: Linear,
    head: Linear,
}

impl Net for Perceptron {
    fn build() -> Result<Self> {
        fork_rng(1, || {
            Ok(Self {
                hidden: Linear::new(64, 32)?,
                head: Linear::new(32, 10)?,
            })
        })
    }

    fn batch(step: usize) -> Result<(Tensor, Tensor)> {
        digits(step)
    }

    fn loss(&self, inputs: &Tensor, targets: &Tensor) -> Result<Tensor> {
        let hidden = self.hidden.call(inputs.flatten(1, -1)?)?.tanh()?;
        CrossEntropyLoss::new().loss(&self.head.call(hidden)?, targets)
    }
}

/// The residual network of the examples, with batch normalization and without dropout.
#[derive(Module)]
pub struct Residual {
    net: DigitsNet,
}

impl Net for Residual {
    fn build() -> Result<Self> {
        let net = fork_rng(2, || DigitsNet::new(4))?;
        for (path, module) in net.named_modules() {
            if path == "dropout" {
                module.eval();
            }
        }
        Ok(Self { net })
    }

    fn batch(step: usize) -> Result<(Tensor, Tensor)> {
        digits(step)
    }

    fn loss(&self, inputs: &Tensor, targets: &Tensor) -> Result<Tensor> {
        CrossEntropyLoss::new().loss(&self.net.call(inputs.clone())?, targets)
    }
}

/// A small language model whose embedding is also the weight of its last layer.
#[derive(Module)]
pub struct Language {
    embedding: Embedding,
    layer: TransformerEncoderLayer,
    head: Linear,
}

const WORDS: usize = 23;
const SIZE: usize = 16;
const LENGTH: usize = 9;

impl Net for Language {
    fn build() -> Result<Self> {
        fork_rng(3, || {
            let embedding = Embedding::new(WORDS, SIZE)?;
            let config = TransformerEncoderLayerConfig::new(SIZE, 4);
            let config = config
                .dim_feedforward(32_usize)
                .dropout(0.0)
                .batch_first(true);
            let mut head = LinearConfig::new(SIZE, WORDS).bias(false).build()?;
            head.tie_weight(embedding.weight())?;
            Ok(Self {
                embedding,
                layer: config.build()?,
                head,
            })
        })
    }

    fn batch(step: usize) -> Result<(Tensor, Tensor)> {
        let word = |i: usize| ((i * i * 7 + i * 3 + step * 5) % WORDS) as i64;
        let count = BATCH * (LENGTH + 1);
        let words = Tensor::from((0..count).map(word).collect::<Vec<_>>());
        let words = words.reshape([BATCH as isize, LENGTH as isize + 1])?;
        Ok((words.narrow(1, 0..LENGTH)?, words.narrow(1, 1..LENGTH + 1)?))
    }

    fn loss(&self, inputs: &Tensor, targets: &Tensor) -> Result<Tensor> {
        let x = TransformerEncoderLayerInput::new(self.embedding.call(inputs.clone())?);
        let x = self.layer.call(x.is_causal(true))?;
        let logits = self.head.call(x)?.reshape([-1, WORDS as isize])?;
        CrossEntropyLoss::new().loss(&logits, &targets.reshape([-1])?)
    }
}
