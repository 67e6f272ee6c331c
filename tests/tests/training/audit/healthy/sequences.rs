//! Networks for sequences.

use module_nn::Approximate;
use module_nn::prelude::*;

use super::{classes, healthy, step};

const WORDS: usize = 40;
const WIDTH: usize = 16;

fn text(count: usize, length: usize) -> Result<Tensor> {
    Tensor::randint(0, WORDS as i64, [count, length], DType::I64)
}

/// The cross-entropy at each position of a text.
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
    #[module(skip)]
    batch_first: bool,
}

impl Encoder {
    fn new(outputs: usize, causal: bool, batch_first: bool) -> Result<Self> {
        let layer = TransformerEncoderLayerConfig::new(WIDTH, 4_usize)
            .dim_feedforward(32)
            .batch_first(batch_first);
        Ok(Self {
            words: Embedding::new(WORDS, WIDTH)?,
            positions: Embedding::new(8, WIDTH)?,
            layers: vec![layer.build()?, layer.build()?],
            head: Linear::new(WIDTH, outputs)?,
            causal,
            batch_first,
        })
    }
}

impl Forward for Encoder {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        // The dimensions of the time and of the batch.
        let (time, batch) = if self.batch_first { (1, 0) } else { (0, 1) };
        let positions = Tensor::arange(0, x.size(time)? as i64, DType::I64)?;
        let positions = self.positions.call(positions)?.unsqueeze(batch)?;
        let mut x = self.words.call(x)?.add(&positions)?;
        for layer in &self.layers {
            x = layer.call(TransformerEncoderLayerInput::new(x).is_causal(self.causal))?;
        }
        self.head.call(x)
    }
}

#[test]
fn a_transformer_that_classifies() {
    healthy(|| {
        let model = Encoder::new(3, false, true)?;
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
        let model = Encoder::new(WORDS, true, true)?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Encoder| {
            let x = text(6, 9)?;
            let logits = model.call(x.narrow(1, 0..8)?)?;
            let loss = loss_of(&logits, &x.narrow(1, 1..9)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// Encoders with the time dimension first, on batches of as many sequences as each has words.
fn time_first(causal: bool) {
    healthy(|| {
        let model = Encoder::new(WORDS, causal, false)?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Encoder| {
            let x = text(9, 8)?;
            let logits = model.call(x.narrow(0, 0..8)?)?;
            let loss = loss_of(&logits, &x.narrow(0, 1..9)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
    healthy(|| {
        let model = Encoder::new(3, causal, false)?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Encoder| {
            let logits = model.call(text(8, 8)?)?.mean(0)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(8, 3)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn a_transformer_that_has_the_time_first() {
    time_first(false);
}

#[test]
fn a_causal_transformer_that_has_the_time_first() {
    time_first(true);
}

/// A recurrent language model; the layer also returns its states.
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
    Own(MeanSoFar),
}

impl Layers {
    /// The output for each element.
    fn states(&self, x: Tensor) -> Result<Tensor> {
        match self {
            Self::Lstm(lstm) => Ok(lstm.call(x)?.0),
            Self::Gru(gru) => Ok(gru.call(x)?.0),
            Self::Own(layer) => layer.call(x),
        }
    }
}

impl Forward for Recurrent {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.words.call(x)?;
        let x = self.layer.states(x)?;
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

/// A recurrent layer with the time dimension first, as in PyTorch, and classes for each element or for each sequence.
#[derive(Module)]
struct TimeFirst {
    layer: Layers,
    head: Linear,
    #[module(skip)]
    last: bool,
}

/// A recurrence that is not one of our layers: the mean of the elements so far.
#[derive(Module)]
struct MeanSoFar {
    input: Linear,
}

impl Forward for MeanSoFar {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.input.call(x)?;
        let count = Tensor::arange(1, x.size(0)? as i64 + 1, DType::F32)?;
        x.cumsum(0)?.div(&count.reshape([-1, 1, 1])?)?.tanh()
    }
}

impl Forward for TimeFirst {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.layer.states(x)?;
        let x = if self.last { x.select(0, -1)? } else { x };
        self.head.call(x)
    }
}

/// Batches of this many sequences of seven elements.
fn first_in_time(batch: usize, layer: impl Fn() -> Result<Layers>) {
    for last in [false, true] {
        healthy(|| {
            let model = TimeFirst {
                layer: layer()?,
                head: Linear::new(WIDTH, 3)?,
                last,
            };
            let mut optimizer = Adam::new(&model, 1e-2)?;
            Ok((model, move |model: &TimeFirst| {
                let x = Tensor::randn([7, batch, 5], DType::F32)?;
                let logits = model.call(x)?.reshape([-1, 3])?;
                let target = classes(logits.size(0)?, 3)?;
                let loss = CrossEntropyLoss::new().loss(&logits, &target)?;
                step(model, &mut optimizer, loss)
            }))
        });
    }
}

#[test]
fn a_recurrent_layer_that_has_the_time_first() {
    first_in_time(6, || Ok(Layers::Lstm(LSTM::new(5, WIDTH)?)));
}

#[test]
fn sequences_as_long_as_the_batch_is_large() {
    first_in_time(7, || Ok(Layers::Lstm(LSTM::new(5, WIDTH)?)));
    first_in_time(7, || Ok(Layers::Gru(GRU::new(5, WIDTH)?)));
}

#[test]
fn a_custom_recurrence_with_time_first() {
    let layer = || {
        let input = Linear::new(5, WIDTH)?;
        Ok(Layers::Own(MeanSoFar { input }))
    };
    first_in_time(6, layer);
    first_in_time(7, layer);
}

#[test]
fn a_sequence_without_a_batch() {
    healthy(|| {
        let layer = TransformerEncoderLayerConfig::new(WIDTH, 4_usize).dim_feedforward(32);
        let model = Sequential::new()
            .push(Linear::new(5, WIDTH)?)
            .push(layer.build()?)
            .push(Linear::new(WIDTH, 3)?);
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Sequential| {
            let logits = model.call(Tensor::randn([18, 5], DType::F32)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(18, 3)?)?;
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

/// The head shares the embedding's weight.
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
