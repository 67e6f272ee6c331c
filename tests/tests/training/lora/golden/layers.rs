//! The layers that the adapters were recorded with.

use super::*;

#[derive(Module)]
struct Table {
    table: Embedding,
    head: Linear,
}

impl Forward for Table {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.table.call(x)?)
    }
}

#[derive(Module)]
struct Convolution<L> {
    conv: L,
}

impl<L: Layer + Forward<Tensor, Output = Tensor>> Forward for Convolution<L> {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.conv.call(x)
    }
}

#[derive(Module)]
struct Attention {
    attention: MultiheadAttention,
}

impl Forward for Attention {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let input = MultiheadAttentionInput::new(x.clone(), x.clone(), x).need_weights(false);
        Ok(self.attention.call(input)?.0)
    }
}

#[derive(Module)]
struct Tall {
    up: Linear,
    down: Linear,
}

impl Forward for Tall {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.down.call(self.up.call(x)?.tanh()?)
    }
}

#[derive(Module)]
struct Recurrent {
    layer: RecurrentLayer,
}

#[derive(Module)]
enum RecurrentLayer {
    Lstm(LSTM),
    Gru(GRU),
    Rnn(RNN),
}

impl Forward for Recurrent {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        Ok(match &self.layer {
            RecurrentLayer::Lstm(lstm) => lstm.call(x)?.0,
            RecurrentLayer::Gru(gru) => gru.call(x)?.0,
            RecurrentLayer::Rnn(rnn) => rnn.call(x)?.0,
        })
    }
}

#[derive(Module)]
struct Cells {
    lstm: LSTMCell,
    gru: GRUCell,
    rnn: RNNCell,
    head: Linear,
}

impl Forward for Cells {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let zeros = |size: usize| Tensor::zeros([x.size(1)?, size], x.dtype());
        let mut state = (zeros(4)?, zeros(4)?);
        let (mut gru, mut rnn, mut outputs) = (zeros(5)?, zeros(3)?, Vec::new());
        for step in 0..x.size(0)? {
            state = self.lstm.call((x.select(0, step as isize)?, state))?;
            gru = self.gru.call((state.0.clone(), gru))?;
            rnn = self.rnn.call((gru.clone(), rnn))?;
            outputs.push(self.head.call(rnn.clone())?);
        }
        Tensor::stack(&outputs, 0)
    }
}

pub(super) fn build(name: &str) -> Result<Box<dyn Layer>> {
    Ok(match name {
        "net" => Box::new(Net::new()),
        "table" => Box::new(Table {
            table: EmbeddingConfig::new(7, 4).padding_idx(0).build()?,
            head: Linear::new(4, 3)?,
        }),
        "conv1d" => Box::new(Convolution {
            conv: Conv1dConfig::new(3, 4, 3).stride(2).padding(1).build()?,
        }),
        "conv2d" => {
            let config = Conv2dConfig::new(3, 4, (3, 2)).padding([1, 0]).bias(false);
            Box::new(Convolution {
                conv: config.build()?,
            })
        }
        "conv3d" => Box::new(Convolution {
            conv: Conv3d::new(2, 3, 2)?,
        }),
        "grouped" => Box::new(Convolution {
            conv: Conv2dConfig::new(4, 6, 3).groups(2).build()?,
        }),
        "attention" => Box::new(Attention {
            attention: MultiheadAttentionConfig::new(8, 2)
                .batch_first(true)
                .build()?,
        }),
        "tall" => Box::new(Tall {
            up: Linear::new(6, 9)?,
            down: Linear::new(9, 5)?,
        }),
        "lstm" => Box::new(Recurrent {
            layer: RecurrentLayer::Lstm(
                LSTMConfig::new(3, 4)
                    .num_layers(2)
                    .bidirectional(true)
                    .proj_size(3)
                    .build()?,
            ),
        }),
        "gru" => Box::new(Recurrent {
            layer: RecurrentLayer::Gru(
                GRUConfig::new(3, 4)
                    .num_layers(2)
                    .batch_first(true)
                    .build()?,
            ),
        }),
        "rnn" => Box::new(Recurrent {
            layer: RecurrentLayer::Rnn(
                RNNConfig::new(3, 4)
                    .bias(false)
                    .bidirectional(true)
                    .build()?,
            ),
        }),
        "cells" => Box::new(Cells {
            lstm: LSTMCell::new(3, 4)?,
            gru: GRUCell::new(4, 5)?,
            rnn: RNNCellConfig::new(5, 3).bias(false).build()?,
            head: Linear::new(3, 2)?,
        }),
        other => panic!("an unknown model: {other}"),
    })
}
