//! The counterparts of `tests/golden/peft_models.py`.

use module_nn::prelude::*;
use module_tests::golden;

/// A model for adapters.
pub(super) trait Model: Module {
    fn answer(&self, input: Tensor) -> Result<Tensor>;
}

#[derive(Module)]
struct Block {
    norm: LayerNorm,
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    o_proj: Linear,
    up: Linear,
    down: Linear,
}

impl Block {
    fn new(width: usize) -> Result<Self> {
        Ok(Self {
            norm: LayerNorm::new(width)?,
            q_proj: Linear::new(width, width)?,
            k_proj: Linear::new(width, width)?,
            v_proj: Linear::new(width, width)?,
            o_proj: Linear::new(width, width)?,
            up: Linear::new(width, 2 * width)?,
            down: Linear::new(2 * width, width)?,
        })
    }
}

impl Forward for Block {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let width = x.shape()[2] as f64;
        let y = self.norm.call(x.clone())?;
        let keys = self.k_proj.call(y.clone())?.transpose(1, 2)?;
        let scores = self.q_proj.call(y.clone())?.matmul(&keys)?;
        let scores = scores.div(width.sqrt())?.softmax(-1)?;
        let mixed = scores.matmul(&self.v_proj.call(y)?)?;
        let x = x.add(&self.o_proj.call(mixed)?)?;
        let y = self.up.call(self.norm.call(x.clone())?)?.relu()?;
        x.add(&self.down.call(y)?)
    }
}

#[derive(Module)]
pub(super) struct Transformer {
    embed: Embedding,
    layers: ModuleList<Block>,
    head: Linear,
}

impl Transformer {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            embed: Embedding::new(11, 8)?,
            layers: ModuleList::from_iter([Block::new(8)?, Block::new(8)?]),
            head: Linear::new(8, 3)?,
        })
    }
}

impl Model for Transformer {
    fn answer(&self, tokens: Tensor) -> Result<Tensor> {
        let mut x = self.embed.call(tokens)?;
        for layer in self.layers.iter() {
            x = layer.call(x)?;
        }
        self.head.call(x)
    }
}

#[derive(Module)]
struct Images {
    stem: Conv2d,
    deep: Conv2d,
    head: Linear,
}

impl Model for Images {
    fn answer(&self, x: Tensor) -> Result<Tensor> {
        let x = self.deep.call(self.stem.call(x)?.relu()?)?.relu()?;
        self.head.call(x.flatten(1, -1)?)
    }
}

#[derive(Module)]
struct Signals {
    conv: Conv1d,
    attention: MultiheadAttention,
    head: Linear,
}

impl Model for Signals {
    fn answer(&self, x: Tensor) -> Result<Tensor> {
        let x = self.conv.call(x)?.tanh()?.transpose(1, 2)?;
        let input = MultiheadAttentionInput::new(x.clone(), x.clone(), x).need_weights(false);
        self.head.call(self.attention.call(input)?.0)
    }
}

#[derive(Module)]
struct Readings {
    lstm: LSTM,
    cell: GRUCell,
    head: Linear,
}

impl Model for Readings {
    fn answer(&self, x: Tensor) -> Result<Tensor> {
        let (states, _) = self.lstm.call(x)?;
        self.head.call(self.cell.call(states.select(1, -1)?)?)
    }
}

/// A model with the values of its file, in evaluation mode.
pub(super) fn base(kind: &str) -> Box<dyn Model> {
    let model = fresh(kind).unwrap();
    let values = golden::path(format!("peft/{kind}.safetensors"));
    let report = model.load(values).unwrap();
    assert!(report.not_loaded.is_empty());
    model.eval();
    model
}

fn fresh(kind: &str) -> Result<Box<dyn Model>> {
    Ok(match kind {
        "transformer" => Box::new(Transformer::new()?),
        "images" => Box::new(Images {
            stem: Conv2dConfig::new(2, 4, 3).padding(1).stride(2).build()?,
            deep: Conv2dConfig::new(4, 6, 3).groups(2).build()?,
            head: Linear::new(24, 3)?,
        }),
        "signals" => Box::new(Signals {
            conv: Conv1dConfig::new(3, 8, 3).padding(1).build()?,
            attention: MultiheadAttentionConfig::new(8, 2)
                .batch_first(true)
                .build()?,
            head: Linear::new(8, 3)?,
        }),
        "readings" => Box::new(Readings {
            lstm: LSTMConfig::new(3, 4)
                .num_layers(2)
                .batch_first(true)
                .build()?,
            cell: GRUCell::new(4, 5)?,
            head: Linear::new(5, 3)?,
        }),
        kind => panic!("{kind} is not a model"),
    })
}
