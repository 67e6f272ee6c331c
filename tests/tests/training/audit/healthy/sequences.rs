//! Networks that read sequences.

use module_nn::Approximate;
use module_nn::prelude::*;

use super::{classes, healthy, step};

const WORDS: usize = 40;
const WIDTH: usize = 16;

fn text(count: usize, length: usize) -> Result<Tensor> {
    Tensor::randint(0, WORDS as i64, [count, length], DType::I64)
}

/// The cross-entropy of each position with a text.
fn loss_of(logits: &Tensor, text: &Tensor) -> Result<Tensor> {
    CrossEntropyLoss::new().loss(&logits.flatten(0, 1)?, &text.flatten(0, 1)?)
}

#[derive(Module)]
struct Encoder {
    words: Embedding,
    positions: Embedding,
    layers: Vec<TransformerEncoderLayer>,
    head: Linear,
    #[module(skip)]
    causal: bool,
}

impl Encoder {
    fn new(outputs: usize, causal: bool) -> Result<Self> {
        let layer = TransformerEncoderLayerConfig::new(WIDTH, 4_usize)
            .dim_feedforward(32)
            .batch_first(true);
        Ok(Self {
            words: Embedding::new(WORDS, WIDTH)?,
            positions: Embedding::new(8, WIDTH)?,
            layers: vec![layer.build()?, layer.build()?],
            head: Linear::new(WIDTH, outputs)?,
            causal,
        })
    }
}

impl Forward for Encoder {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let positions = Tensor::arange(0, x.size(1)? as i64, DType::I64)?;
        let mut x = self.words.call(x)?.add(&self.positions.call(positions)?)?;
        for layer in &self.layers {
            x = layer.call(TransformerEncoderLayerInput::new(x).is_causal(self.causal))?;
        }
        self.head.call(x)
    }
}

#[test]
fn a_transformer_that_classifies() {
    healthy(|| {
        let model = Encoder::new(3, false)?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Encoder| {
            // Fewer positions than there are.
            let logits = model.call(text(8, 6)?)?.mean(1)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(8, 3)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn a_decoder_with_a_causal_mask() {
    healthy(|| {
        let model = Encoder::new(WORDS, true)?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Encoder| {
            let x = text(6, 9)?;
            let logits = model.call(x.narrow(1, 0..8)?)?;
            let loss = loss_of(&logits, &x.narrow(1, 1..9)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// A recurrent language model; the layer gives its states too.
#[derive(Module)]
struct Recurrent {
    words: Embedding,
    layer: Layers,
    head: Linear,
}

#[derive(Module)]
enum Layers {
    Lstm(LSTM),
    Gru(GRU),
}

impl Forward for Recurrent {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.words.call(x)?;
        let x = match &self.layer {
            Layers::Lstm(lstm) => lstm.call(x)?.0,
            Layers::Gru(gru) => gru.call(x)?.0,
        };
        self.head.call(x)
    }
}

fn recurrent(layer: impl Fn() -> Result<Layers>) {
    healthy(|| {
        let model = Recurrent {
            words: Embedding::new(WORDS, WIDTH)?,
            layer: layer()?,
            head: Linear::new(WIDTH, WORDS)?,
        };
        let mut optimizer = Adam::new(&model, 1e-3)?;
        Ok((model, move |model: &Recurrent| {
            let x = text(6, 9)?;
            let logits = model.call(x.narrow(1, 0..8)?)?;
            let loss = loss_of(&logits, &x.narrow(1, 1..9)?)?;
            model.zero_grad();
            loss.backward()?;
            clip_grad_norm(model, 1.0)?;
            optimizer.step(model)?;
            Ok(loss)
        }))
    });
}

#[test]
fn a_language_model_of_lstm_layers() {
    recurrent(|| {
        let config = LSTMConfig::new(WIDTH, WIDTH)
            .num_layers(2)
            .batch_first(true);
        Ok(Layers::Lstm(config.build()?))
    });
}

/// A recurrent layer that has the time first, as PyTorch's have, and a class for each sequence.
#[derive(Module)]
struct TimeFirst {
    layer: LSTM,
    head: Linear,
}

impl Forward for TimeFirst {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let (states, _) = self.layer.call(x)?;
        self.head.call(states)
    }
}

#[test]
fn a_recurrent_layer_that_has_the_time_first() {
    healthy(|| {
        let model = TimeFirst {
            layer: LSTM::new(5, WIDTH)?,
            head: Linear::new(WIDTH, 3)?,
        };
        let mut optimizer = Adam::new(&model, 1e-2)?;
        Ok((model, move |model: &TimeFirst| {
            let x = Tensor::randn([7, 6, 5], DType::F32)?;
            let logits = model.call(x)?.flatten(0, 1)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(42, 3)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn a_language_model_of_a_gru() {
    recurrent(|| {
        let config = GRUConfig::new(WIDTH, WIDTH).batch_first(true);
        Ok(Layers::Gru(config.build()?))
    });
}

/// The head has the weight of the embedding.
#[derive(Module)]
struct Tied {
    words: Embedding,
    hidden: Linear,
    norm: LayerNorm,
    head: Linear,
}

impl Forward for Tied {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self
            .hidden
            .call(self.words.call(x)?)?
            .gelu(Approximate::None)?;
        self.head.call(self.norm.call(x)?)
    }
}

#[test]
fn tied_weights() {
    healthy(|| {
        let words = Embedding::new(WORDS, WIDTH)?;
        let mut head = LinearConfig::new(WIDTH, WORDS).bias(false).build()?;
        head.tie_weight(words.weight())?;
        let model = Tied {
            words,
            hidden: Linear::new(WIDTH, WIDTH)?,
            norm: LayerNorm::new(WIDTH)?,
            head,
        };
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Tied| {
            let x = text(6, 5)?;
            let loss = loss_of(&model.call(x.clone())?, &x)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// The mean of the words of a sentence.
#[derive(Module)]
struct Bag {
    words: Embedding,
    head: Linear,
}

impl Forward for Bag {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.words.call(x)?.mean(1)?)
    }
}

#[test]
fn an_embedding_most_of_whose_rows_are_not_used() {
    healthy(|| {
        let model = Bag {
            words: EmbeddingConfig::new(500, WIDTH)
                .padding_idx(Some(0))
                .build()?,
            head: Linear::new(WIDTH, 2)?,
        };
        let mut optimizer = Adam::new(&model, 1e-2)?;
        Ok((model, move |model: &Bag| {
            let logits = model.call(text(4, 3)?)?;
            // Two classes of two samples each.
            let loss = CrossEntropyLoss::new().loss(&logits, &Tensor::from([0_i64, 1, 1, 0]))?;
            step(model, &mut optimizer, loss)
        }))
    });
}
