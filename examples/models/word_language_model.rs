//! The recurrent language model of PyTorch's `word_language_model` example.
//!
//! The script saves the whole object; this model reads its state dict, `torch.save(model.state_dict(), …)`.
//!
//! Source: Zaremba, Sutskever and Vinyals, *Recurrent Neural Network Regularization* (2014); the tied weights Press and
//! Wolf, *Using the Output Embedding to Improve Language Models* (2016).

use module_nn::init::Uniform;
use module_nn::prelude::*;
use module_nn::{RNNNonlinearity, Tensors};
use serde::{Deserialize, Serialize};

use super::initialize::draw;
use super::pretrained::Pretrained;

module_nn::config! {
    /// The arguments, by the example's names.
    pub struct RNNModelConfig {
        required {
            /// The kind of layer.
            rnn_type: RNNType,
            /// The size of the vocabulary.
            ntoken: usize,
            /// The size of a word vector.
            ninp: usize,
            /// The size of the states.
            nhid: usize,
            /// The number of layers.
            nlayers: usize,
        }
        optional {
            /// The dropout probability before, between and after the layers in training.
            dropout: f64 = 0.5,
            /// Whether the input and the output share their word vectors.
            tie_weights: bool = false,
        }
    }
}

/// The recurrent layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RNNType {
    /// GRU.
    Lstm,
    /// With gates.
    Gru,
    /// Elman's, with tanh.
    RnnTanh,
    /// Elman's, with ReLU.
    RnnRelu,
}

/// `(L, N)` words and the states before them to `(L · N, ntoken)` log probabilities of the word after each, and the states
/// after them.
///
/// [`detach`](Hidden::detach) the states between two windows of a text that is too long for one backward pass.
#[derive(Module)]
pub struct RNNModel {
    nlayers: usize,
    nhid: usize,
    drop: Dropout,
    encoder: Embedding,
    rnn: Recurrent,
    decoder: Linear,
}

#[derive(Module)]
enum Recurrent {
    Lstm(LSTM),
    Gru(GRU),
    Rnn(RNN),
}

/// The states of all layers, `(nlayers, N, nhid)`.
#[derive(Clone, Debug, Tensors)]
pub enum Hidden {
    /// For an LSTM: hidden states and cells.
    Lstm(Tensor, Tensor),
    /// For any other layer.
    Other(Tensor),
}

impl Hidden {
    /// The same states without their gradient history.
    pub fn detach(&self) -> Self {
        match self {
            Self::Lstm(hidden, cell) => Self::Lstm(hidden.detach(), cell.detach()),
            Self::Other(hidden) => Self::Other(hidden.detach()),
        }
    }
}

impl Forward<(Tensor, Hidden)> for Recurrent {
    type Output = (Tensor, Hidden);

    fn forward(&self, (x, hidden): (Tensor, Hidden)) -> Result<Self::Output> {
        Ok(match (self, hidden) {
            (Self::Lstm(rnn), Hidden::Lstm(hidden, cell)) => {
                let (x, (hidden, cell)) = rnn.call((x, (hidden, cell)))?;
                (x, Hidden::Lstm(hidden, cell))
            }
            (Self::Gru(rnn), Hidden::Other(hidden)) => {
                let (x, hidden) = rnn.call((x, hidden))?;
                (x, Hidden::Other(hidden))
            }
            (Self::Rnn(rnn), Hidden::Other(hidden)) => {
                let (x, hidden) = rnn.call((x, hidden))?;
                (x, Hidden::Other(hidden))
            }
            (_, hidden) => {
                let kind = match hidden {
                    Hidden::Lstm(..) => "an LSTM's",
                    Hidden::Other(_) => "not an LSTM's",
                };
                let problem = "must be of this kind of layer; begin with init_hidden";
                return Err(Error::argument("RNNModel", "hidden", kind, problem));
            }
        })
    }
}

impl Pretrained for RNNModel {
    type Config = RNNModelConfig;

    fn new(config: &RNNModelConfig) -> Result<Self> {
        let &RNNModelConfig {
            ntoken,
            ninp,
            nhid,
            nlayers,
            dropout,
            ..
        } = config;
        let encoder = Embedding::new(ntoken, ninp)?;
        let elman = |nonlinearity| {
            let rnn = RNNConfig::new(ninp, nhid)
                .num_layers(nlayers)
                .dropout(dropout);
            Ok::<_, Error>(Recurrent::Rnn(rnn.nonlinearity(nonlinearity).build()?))
        };
        let rnn = match config.rnn_type {
            RNNType::Lstm => {
                let lstm = LSTMConfig::new(ninp, nhid).num_layers(nlayers);
                Recurrent::Lstm(lstm.dropout(dropout).build()?)
            }
            RNNType::Gru => {
                let gru = GRUConfig::new(ninp, nhid).num_layers(nlayers);
                Recurrent::Gru(gru.dropout(dropout).build()?)
            }
            RNNType::RnnTanh => elman(RNNNonlinearity::Tanh)?,
            RNNType::RnnRelu => elman(RNNNonlinearity::Relu)?,
        };
        let mut decoder = Linear::new(nhid, ntoken)?;
        let (low, high) = (-0.1, 0.1);
        encoder.weight().initialize(Uniform { low, high })?;
        draw(decoder.weight(), decoder.bias(), Uniform { low, high })?;
        if config.tie_weights {
            if nhid != ninp {
                let problem = format!("must be ninp, {ninp}, where weights are tied");
                return Err(Error::argument("RNNModel", "nhid", nhid, problem));
            }
            decoder.tie_weight(encoder.weight())?;
        }
        Ok(Self {
            nlayers,
            nhid,
            drop: Dropout::new(dropout)?,
            encoder,
            rnn,
            decoder,
        })
    }
}

impl RNNModel {
    /// The initial states for this many texts.
    ///
    /// # Errors
    ///
    /// States that do not fit in memory.
    pub fn init_hidden(&self, texts: usize) -> Result<Hidden> {
        let weight = self.encoder.weight();
        let options = (weight.dtype(), &weight.device());
        let zeros = Tensor::zeros([self.nlayers, texts, self.nhid], options)?;
        Ok(match &self.rnn {
            Recurrent::Lstm(_) => Hidden::Lstm(zeros.clone(), zeros),
            _ => Hidden::Other(zeros),
        })
    }
}

impl Forward<(Tensor, Hidden)> for RNNModel {
    type Output = (Tensor, Hidden);

    fn forward(&self, (words, hidden): (Tensor, Hidden)) -> Result<Self::Output> {
        let x = self.drop.call(self.encoder.call(words)?)?;
        let (x, hidden) = self.rnn.call((x, hidden))?;
        let x = self.decoder.call(self.drop.call(x)?)?;
        Ok((x.flatten(0, 1)?.log_softmax(-1)?, hidden))
    }
}
