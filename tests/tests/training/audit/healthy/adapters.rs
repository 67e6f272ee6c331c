//! Networks in which adapters are trained next to frozen weights.

use module_nn::lora::{self, LoraBias, LoraConfig};
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, quantize};

use super::{classes, healthy, step};

const WORDS: usize = 40;
const WIDTH: usize = 64;

/// A decoder whose layers can all be adapted.
#[derive(Module)]
struct Decoder {
    words: Embedding,
    layers: Vec<TransformerEncoderLayer>,
    norm: LayerNorm,
    head: Linear,
}

impl Decoder {
    fn new() -> Result<Self> {
        let layer = TransformerEncoderLayerConfig::new(WIDTH, 4_usize)
            .dim_feedforward(128)
            .batch_first(true);
        Ok(Self {
            words: Embedding::new(WORDS, WIDTH)?,
            layers: vec![layer.build()?, layer.build()?],
            norm: LayerNorm::new(WIDTH)?,
            head: Linear::new(WIDTH, WORDS)?,
        })
    }
}

impl Forward for Decoder {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let mut x = self.words.call(x)?;
        for layer in &self.layers {
            x = layer.call(TransformerEncoderLayerInput::new(x).is_causal(true))?;
        }
        self.head.call(self.norm.call(x)?)
    }
}

/// The cross-entropy of each next token.
fn loss_of(model: &Decoder) -> Result<Tensor> {
    let text = Tensor::randint(0, WORDS as i64, [6, 9], DType::I64)?;
    let logits = model.call(text.narrow(1, 0..8)?)?.flatten(0, 1)?;
    let next = text.narrow(1, 1..9)?.flatten(0, 1)?;
    CrossEntropyLoss::new().loss(&logits, &next)
}

/// Adapters in a decoder, on a base modified by `prepare`.
fn adapters(paths: &[&str], config: &LoraConfig, prepare: impl Fn(&Decoder) -> Result<()>) {
    healthy(|| {
        let mut model = Decoder::new()?;
        prepare(&model)?;
        lora::add_adapter(&mut model, "default", paths, config)?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Decoder| {
            let loss = loss_of(model)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

const FEEDFORWARD: [&str; 2] = ["layers.*.linear1", "layers.*.linear2"];
const ALL: [&str; 5] = [
    "words",
    "layers.*.self_attn",
    "layers.*.linear1",
    "layers.*.linear2",
    "head",
];

#[test]
fn adapters_of_all_layers() {
    adapters(&ALL, &LoraConfig::new().r(4), |_| Ok(()));
}

#[test]
fn adapters_with_dropout_biases_and_a_copied_head() {
    let config = LoraConfig::new()
        .r(4)
        .lora_dropout(0.1)
        .bias(LoraBias::LoraOnly)
        .modules_to_save(["head"]);
    adapters(&FEEDFORWARD, &config, |_| Ok(()));
}

#[test]
fn adapters_with_trained_lengths_of_rows() {
    let config = LoraConfig::new().r(4).use_dora(true);
    adapters(&FEEDFORWARD, &config, |_| Ok(()));
}

#[test]
fn adapters_on_a_base_of_four_bits() {
    adapters(&FEEDFORWARD, &LoraConfig::new().r(4), |model| {
        let weights = FEEDFORWARD.map(|path| format!("{path}.weight"));
        quantize(model, weights, Scheme::NF4).map(drop)
    });
}

#[test]
fn a_second_adapter_beside_an_inactive_one() {
    healthy(|| {
        let mut model = Decoder::new()?;
        let config = LoraConfig::new().r(4);
        lora::add_adapter(&mut model, "first", FEEDFORWARD, &config)?;
        lora::add_adapter(&mut model, "second", FEEDFORWARD, &config)?;
        lora::set_adapter(&model, ["second"])?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Decoder| {
            let loss = loss_of(model)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// A classifier of sequences with a recurrent layer.
#[derive(Module)]
struct Reader {
    lstm: LSTM,
    head: Linear,
}

impl Forward for Reader {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let (states, _) = self.lstm.call(x)?;
        self.head.call(states.select(1, -1)?)
    }
}

#[test]
fn adapters_of_a_recurrent_layer() {
    healthy(|| {
        let lstm = LSTMConfig::new(5, 16).num_layers(2).batch_first(true);
        let mut model = Reader {
            lstm: lstm.build()?,
            head: Linear::new(16, 3)?,
        };
        lora::add_adapter(
            &mut model,
            "default",
            ["lstm", "head"],
            &LoraConfig::new().r(2),
        )?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Reader| {
            let x = Tensor::randn([16, 7, 5], DType::F32)?;
            let loss = CrossEntropyLoss::new().loss(&model.call(x)?, &classes(16, 3)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}
