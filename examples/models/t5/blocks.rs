//! The blocks of T5's encoder and decoder.

use module_nn::AttentionOptions;
use module_nn::prelude::*;

use super::super::transformers::{Activation, dropout_p, join_heads, split_heads};
use super::{FeedForwardProj, T5Config};

/// The encoder, or the decoder, whose blocks also attend to the source.
#[derive(Module)]
pub(super) struct Stack {
    embed_tokens: Embedding,
    pub(super) block: Vec<Block>,
    final_layer_norm: RMSNorm,
    dropout: Dropout,
}

#[derive(Module)]
pub(super) struct Block {
    layer: Vec<Sublayer>,
}

/// Adds the branch's output for the normalized `x` to `x`.
#[derive(Module)]
struct Sublayer {
    #[module(flatten)]
    branch: Branch,
    layer_norm: RMSNorm,
    dropout: Dropout,
}

#[derive(Module)]
enum Branch {
    Own {
        #[module(rename = "SelfAttention")]
        attention: Attention,
    },
    Source {
        #[module(rename = "EncDecAttention")]
        attention: Attention,
    },
    Dense {
        #[module(rename = "DenseReluDense")]
        dense: Dense,
    },
}

#[derive(Module)]
struct Attention {
    heads: usize,
    dropout: f64,
    q: Linear,
    k: Linear,
    v: Linear,
    o: Linear,
    relative_attention_bias: OrIdentity<RelativeBias>,
    training: Training,
}

/// The bias added to the scores for each relative position, which is the key's position minus the query's.
#[derive(Module)]
struct RelativeBias {
    bidirectional: bool,
    max_distance: usize,
    #[module(flatten)]
    table: Embedding,
}

#[derive(Module)]
struct Dense {
    #[module(flatten)]
    input: DenseInput,
    wo: Linear,
    dropout: Dropout,
    act: Box<dyn Layer>,
}

#[derive(Module)]
enum DenseInput {
    Plain { wi: Linear },
    Gated { wi_0: Linear, wi_1: Linear },
}

/// The memory of a block: keys and values of its own tokens and, in the decoder, of the source.
type BlockMemory = (KeyValueCache, Option<(Tensor, Tensor)>);

/// The memory of all blocks, and a mask that is true where the source is not padding.
pub type Memory = (Vec<BlockMemory>, Tensor);

impl RelativeBias {
    /// The rows of the table: small distances have a row each, larger ones share rows, in groups that grow with the
    /// distance.
    fn rows(&self, relative: &Tensor) -> Result<Tensor> {
        let rows = self.table.config().num_embeddings;
        // If bidirectional, keys after the query use the second half.
        let (count, second, distance) = match self.bidirectional {
            true => (rows / 2, rows / 2, relative.abs()?),
            false => (rows, 0, relative.clamp_max(0)?.neg()?),
        };
        let first = relative.gt(0)?.to_dtype(DType::I64)?.mul(second as i64)?;
        let exact = count / 2;
        let farthest = (self.max_distance as f64 / exact as f64).ln();
        let shared = distance.clamp_min(1)?.to_dtype(DType::F32)?;
        let shared = shared.div(exact as f64)?.log()?.div(farthest)?;
        let shared = shared.mul((count - exact) as f64)?.to_dtype(DType::I64)?;
        let shared = shared.add(exact as i64)?.clamp_max(count as i64 - 1)?;
        first.add(&distance.lt(exact as i64)?.where_(&distance, &shared)?)
    }
}

/// A mask `[…, queries, keys]`, true where a query sees a key, in which the queries are the last positions, to the bias
/// added to the scores.
impl Forward for RelativeBias {
    type Output = Tensor;

    fn forward(&self, is_seen: Tensor) -> Result<Tensor> {
        let (queries, keys) = (is_seen.size(-2)?, is_seen.size(-1)?);
        let positions = Tensor::arange(0, keys as i64, ())?;
        let of_queries = positions.narrow(0, keys - queries..keys)?;
        let relative = positions.sub(&of_queries.unsqueeze(1)?)?;
        let bias = self.table.call(self.rows(&relative)?)?;
        let bias = bias.permute([2, 0, 1])?.unsqueeze(0)?;
        bias.masked_fill(&is_seen.logical_not()?, f64::NEG_INFINITY)
    }
}

impl Attention {
    fn new(config: &T5Config, bidirectional: bool, has_positions: bool) -> Result<Self> {
        let (width, heads) = (config.d_model, config.num_heads);
        let inner = heads * config.d_kv;
        let shape = [config.relative_attention_num_buckets, heads];
        let relative = || -> Result<RelativeBias> {
            Ok(RelativeBias {
                bidirectional,
                max_distance: config.max_distance(),
                table: Embedding::from_parts(config.normal(shape, width)?)?,
            })
        };
        Ok(Self {
            heads,
            dropout: config.dropout_rate,
            q: config.linear(width, inner, width * config.d_kv)?,
            k: config.linear(width, inner, width)?,
            v: config.linear(width, inner, width)?,
            o: config.linear(inner, width, inner)?,
            relative_attention_bias: OrIdentity::when(has_positions, relative)?,
            training: Training::new(),
        })
    }

    fn keys_and_values(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let key = split_heads(&self.k.call(x.clone())?, self.heads)?;
        Ok((key, split_heads(&self.v.call(x.clone())?, self.heads)?))
    }
}

/// The queries' input, keys and values, and the mask: which keys are visible, or a bias added to the scores.
impl Forward<(Tensor, (Tensor, Tensor), Tensor)> for Attention {
    type Output = Tensor;

    fn forward(&self, (x, (k, v), mask): (Tensor, (Tensor, Tensor), Tensor)) -> Result<Tensor> {
        let options = AttentionOptions::new()
            .attn_mask(&mask)
            .dropout_p(dropout_p(&self.training, self.dropout))
            .scale(1.0);
        let q = split_heads(&self.q.call(x)?, self.heads)?;
        let y = q.scaled_dot_product_attention(&k, &v, options)?;
        self.o.call(join_heads(&y)?)
    }
}

impl Dense {
    fn new(config: &T5Config) -> Result<Self> {
        let (width, hidden) = (config.d_model, config.d_ff);
        let wi = || config.linear(width, hidden, width);
        let (input, act) = match config.feed_forward_proj {
            FeedForwardProj::Relu => (DenseInput::Plain { wi: wi()? }, Activation::Relu),
            FeedForwardProj::GatedGelu => {
                let (wi_0, wi_1) = (wi()?, wi()?);
                (DenseInput::Gated { wi_0, wi_1 }, Activation::GeluNew)
            }
        };
        Ok(Self {
            input,
            wo: config.linear(hidden, width, hidden)?,
            dropout: Dropout::new(config.dropout_rate)?,
            act: act.build()?,
        })
    }
}

impl Forward for Dense {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = match &self.input {
            DenseInput::Plain { wi } => self.act.call(wi.call(x)?)?,
            DenseInput::Gated { wi_0, wi_1 } => {
                let gate = self.act.call(wi_0.call(x.clone())?)?;
                gate.mul(&wi_1.call(x)?)?
            }
        };
        self.wo.call(self.dropout.call(y)?)
    }
}

impl Block {
    fn new(config: &T5Config, is_decoder: bool, is_first: bool) -> Result<Self> {
        let own = Attention::new(config, !is_decoder, is_first)?;
        let mut branches = vec![Branch::Own { attention: own }];
        if is_decoder {
            let attention = Attention::new(config, true, false)?;
            branches.push(Branch::Source { attention });
        }
        let dense = Dense::new(config)?;
        branches.push(Branch::Dense { dense });
        let sublayer = |branch| -> Result<Sublayer> {
            Ok(Sublayer {
                branch,
                layer_norm: config.norm()?,
                dropout: Dropout::new(config.dropout_rate)?,
            })
        };
        let layer: Result<_> = branches.into_iter().map(sublayer).collect();
        Ok(Self { layer: layer? })
    }

    /// The memory of a source, before any of its own tokens.
    pub(super) fn remember(&self, source: &Tensor) -> Result<BlockMemory> {
        let mut branches = self.layer.iter().map(|sublayer| &sublayer.branch);
        let attended = branches.find_map(|branch| match branch {
            Branch::Source { attention } => Some(attention.keys_and_values(source)),
            _ => None,
        });
        Ok((KeyValueCache::new(), attended.transpose()?))
    }
}

/// `x`, the mask of its own tokens, the memory, and the mask of the source.
impl Forward<(Tensor, Tensor, BlockMemory, Tensor)> for Block {
    type Output = (Tensor, Tensor, BlockMemory);

    fn forward(&self, input: (Tensor, Tensor, BlockMemory, Tensor)) -> Result<Self::Output> {
        let (mut x, mut mask, (mut cache, source), source_mask) = input;
        for sublayer in &self.layer {
            let y = sublayer.layer_norm.call(x.clone())?;
            let y = match (&sublayer.branch, &source) {
                (Branch::Own { attention }, _) => {
                    // In the first block; the others get the positions from the mask.
                    mask = attention.relative_attention_bias.call(mask)?;
                    let (k, v) = attention.keys_and_values(&y)?;
                    attention.call((y, cache.append(k, v)?, mask.clone()))?
                }
                (Branch::Source { attention }, Some(source)) => {
                    attention.call((y, source.clone(), source_mask.clone()))?
                }
                (Branch::Source { .. }, None) => return Err(Error::custom("T5: no source")),
                (Branch::Dense { dense }, _) => dense.call(y)?,
            };
            x = x.add(&sublayer.dropout.call(y)?)?;
        }
        Ok((x, mask, (cache, source)))
    }
}

impl Stack {
    pub(super) fn new(config: &T5Config, is_decoder: bool, words: &Parameter) -> Result<Self> {
        let layers = config.num_decoder_layers.filter(|_| is_decoder);
        let layers = layers.unwrap_or(config.num_layers);
        let block = (0..layers).map(|layer| Block::new(config, is_decoder, layer == 0));
        Ok(Self {
            embed_tokens: Embedding::from_parts(words.share())?,
            block: block.collect::<Result<_>>()?,
            final_layer_norm: config.norm()?,
            dropout: Dropout::new(config.dropout_rate)?,
        })
    }
}

/// Token ids, a mask that is true where a token sees a key, and the memory.
impl Forward<(Tensor, Tensor, Memory)> for Stack {
    type Output = (Tensor, Memory);

    fn forward(&self, input: (Tensor, Tensor, Memory)) -> Result<Self::Output> {
        let (ids, mut mask, (mut memory, source_mask)) = input;
        let mut x = self.dropout.call(self.embed_tokens.call(ids)?)?;
        for (block, own) in self.block.iter().zip(&mut memory) {
            let input = (x, mask, std::mem::take(own), source_mask.clone());
            (x, mask, *own) = block.call(input)?;
        }
        let x = self.dropout.call(self.final_layer_norm.call(x)?)?;
        Ok((x, (memory, source_mask)))
    }
}
