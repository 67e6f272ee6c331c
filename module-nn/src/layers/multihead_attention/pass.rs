//! The forward pass of multi-head attention.

use module_core::{
    AttentionOptions, AutocastPolicy, Call, DType, DTypeError, Forward, Maybe, PadMode, Parameter,
    Result, Shape, Tensor,
};

use super::{MultiheadAttention, MultiheadAttentionInput};
use crate::layers::causal::{additive_mask, causal_mask};

const NAME: &str = "MultiheadAttention";

impl Forward<MultiheadAttentionInput> for MultiheadAttention {
    type Output = (Tensor, Option<Tensor>);

    fn forward(&self, mut input: MultiheadAttentionInput) -> Result<Self::Output> {
        let sizes = Sizes::of(self, &input)?;
        let masks = Masks::of(&input, &sizes)?;
        if !sizes.batched {
            for x in [&mut input.query, &mut input.key, &mut input.value] {
                *x = x.unsqueeze(0)?;
            }
        }
        let [query, key, value] = project(self, &input)?;
        let key = heads(append_learned(key, &self.bias_k, &sizes)?, &sizes)?;
        let value = heads(append_learned(value, &self.bias_v, &sizes)?, &sizes)?;
        let query = heads(query, &sizes)?;
        let (key, value) = match self.config.add_zero_attn {
            true => (
                key.pad([0, 0, 0, 1], PadMode::default())?,
                value.pad([0, 0, 0, 1], PadMode::default())?,
            ),
            false => (key, value),
        };
        let more = key.size(-2)? - sizes.keys;
        let dropout_p = match self.training.is_training() {
            true => self.config.dropout,
            false => 0.0,
        };
        let (attended, weights) = if input.need_weights {
            let scale = (1.0 / sizes.head_dim as f64).sqrt();
            let mut scores = query.mul(scale)?.matmul(&key.transpose(-2, -1)?)?;
            if let Some(mask) = masks.add_masks(&sizes, input.is_causal, more, &query)? {
                // In PyTorch this is one operation with the product, so it has the same policy.
                let policy = AutocastPolicy::LowerPrecision;
                let sum = policy.apply([&scores, &mask], [], |[scores, mask], []| scores.add(mask));
                scores = sum.unwrap_or_else(|| scores.add(&mask))?;
            }
            let weights = scores.softmax(-1)?.dropout(dropout_p)?;
            (weights.matmul(&value)?, Some(weights))
        } else {
            // The kernel skips keys that causal attention masks.
            let is_causal = input.is_causal && masks.padding.is_none() && more == 0;
            let mask = match is_causal {
                true => None,
                false => masks.add_masks(&sizes, input.is_causal, more, &query)?,
            };
            let options = AttentionOptions::new()
                .attn_mask(mask.as_ref())
                .dropout_p(dropout_p)
                .is_causal(is_causal);
            (
                query.scaled_dot_product_attention(&key, &value, options)?,
                None,
            )
        };
        // The sequence comes first in memory, as in PyTorch, even if the batch comes first in the shape: a dropout of the
        // output draws its mask in this order.
        let joined = attended.permute([2, 0, 1, 3])?;
        let joined = joined.reshape([sizes.queries, sizes.batch, self.config.embed_dim])?;
        let mut output = self.out_proj.call(joined)?;
        if sizes.batch_first {
            output = output.transpose(0, 1)?;
        }
        let mut weights = match weights {
            Some(weights) if input.average_attn_weights => Some(weights.mean(1)?),
            weights => weights,
        };
        if !sizes.batched {
            output = output.squeeze(0)?;
            weights = weights.map(|weights| weights.squeeze(0)).transpose()?;
        }
        Ok((output, weights))
    }
}

/// The sizes implied by the shapes of query, key and value.
struct Sizes {
    batched: bool,
    /// Whether the batch comes before the sequence, including an added batch of size 1.
    batch_first: bool,
    batch: usize,
    queries: usize,
    keys: usize,
    heads: usize,
    head_dim: usize,
}

impl Sizes {
    fn of(layer: &MultiheadAttention, input: &MultiheadAttentionInput) -> Result<Self> {
        let config = &layer.config;
        let MultiheadAttentionInput {
            query, key, value, ..
        } = input;
        let batched = match query.rank() {
            3 => true,
            2 => false,
            _ => return Err(error("a query [queries, embed_dim] or with a batch", query)),
        };
        let [kdim, vdim] = config.key_and_value_dim();
        let dims = [
            (query, config.embed_dim, "query"),
            (key, kdim, "key"),
            (value, vdim, "value"),
        ];
        for (x, size, name) in dims {
            if x.rank() != query.rank() || x.size(-1)? != size {
                let rank = query.rank();
                return Err(error(
                    format!("a {name} of {rank} dimensions, the last {size}"),
                    x,
                ));
            }
        }
        let batch_first = config.batch_first || !batched;
        let split = |x: &Tensor| match (**x.shape()).split_last() {
            Some((_, &[a, b])) if batch_first => (a, b),
            Some((_, &[a, b])) => (b, a),
            Some((_, &[length])) => (1, length),
            _ => (1, 1),
        };
        let ((batch, queries), (key_batch, keys)) = (split(query), split(key));
        if key_batch != batch {
            return Err(error(
                format!("a key with the query's batch of {batch}"),
                key,
            ));
        }
        if split(value) != (key_batch, keys) {
            return Err(error(
                format!("a value for each of {keys} keys in a batch of {batch}"),
                value,
            ));
        }
        let (heads, head_dim) = (config.num_heads, config.embed_dim / config.num_heads);
        Ok(Self {
            batched,
            batch_first,
            batch,
            queries,
            keys,
            heads,
            head_dim,
        })
    }

    /// The first two dimensions of a sequence of this length, in the layer's order.
    fn leading_sizes(&self, length: usize) -> (usize, usize) {
        match self.batch_first {
            true => (self.batch, length),
            false => (length, self.batch),
        }
    }

    fn sequence_dim(&self) -> isize {
        isize::from(self.batch_first)
    }

    /// From `[…, heads, head_dim]` with the leading dimensions to `[batch, heads, length, head_dim]`.
    fn to_heads(&self) -> [isize; 4] {
        match self.batch_first {
            true => [0, 2, 1, 3],
            false => [1, 2, 0, 3],
        }
    }
}

fn error(expected: impl Into<String>, got: &Tensor) -> module_core::Error {
    got.shape().error(NAME, expected)
}

/// Query, key and value after their linear maps.
fn project(layer: &MultiheadAttention, input: &MultiheadAttentionInput) -> Result<[Tensor; 3]> {
    let embed_dim = layer.config.embed_dim;
    // One operation, whose gradient is that of the whole weight, written once.
    let thirds = |packed: Tensor| packed.split_with_sizes([embed_dim; 3], 0);
    let mut packed = layer.in_proj_weight.get().map(Parameter::tensor);
    if let Some(weight) = packed.take_if(|_| !layer.adapters.is_empty()) {
        packed = Some(layer.adapters.adapted_weight(weight)?);
    }
    let weights = packed.map(thirds).transpose()?;
    let bias = layer.in_proj_bias.get().map(Parameter::tensor);
    let biases = bias.map(thirds).transpose()?;
    let own = [
        &layer.q_proj_weight,
        &layer.k_proj_weight,
        &layer.v_proj_weight,
    ];
    let project = |x: &Tensor, i: usize| {
        let weight = match (&weights, own[i]) {
            (Some(weights), _) => weights[i].clone(),
            (None, Maybe::Present(own)) => own.tensor(),
            // Either the packed weight or all three are present.
            (None, Maybe::Absent) => return Err(error("a layer with weights", x)),
        };
        x.linear(&weight, biases.as_ref().map(|biases| &biases[i]))
    };
    Ok([
        project(&input.query, 0)?,
        project(&input.key, 1)?,
        project(&input.value, 2)?,
    ])
}

/// Keys or values with the learned one appended, if there is one.
fn append_learned(x: Tensor, more: &Maybe<Parameter>, sizes: &Sizes) -> Result<Tensor> {
    let Maybe::Present(more) = more else {
        return Ok(x);
    };
    let (a, b) = sizes.leading_sizes(1);
    let more = more.tensor().expand([a, b, sizes.heads * sizes.head_dim])?;
    Tensor::cat(&[x, more], sizes.sequence_dim())
}

/// `[batch, heads, length, head_dim]`.
fn heads(x: Tensor, sizes: &Sizes) -> Result<Tensor> {
    let (a, b) = (x.size(0)?, x.size(1)?);
    let split: Shape = [a, b, sizes.heads, sizes.head_dim].into();
    x.reshape(&split)?.permute(sizes.to_heads())
}

/// The masks as numbers added to the scores, in shapes that broadcast to theirs.
struct Masks {
    /// `[batch, 1, 1, keys]`.
    padding: Option<Tensor>,
    /// `[queries, keys]` or `[batch, heads, queries, keys]`.
    attention: Option<Tensor>,
}

impl Masks {
    fn of(input: &MultiheadAttentionInput, sizes: &Sizes) -> Result<Self> {
        let &Sizes {
            batch,
            queries,
            keys,
            heads,
            ..
        } = sizes;
        let padding = match &input.key_padding_mask {
            Some(mask) => {
                let expected: Shape = if sizes.batched {
                    [batch, keys].into()
                } else {
                    keys.into()
                };
                if *mask.shape() != expected {
                    return Err(error(format!("a key_padding_mask {expected}"), mask));
                }
                let mask = to_additive(mask, &input.query)?;
                Some(mask.reshape([batch, 1, 1, keys])?)
            }
            None => None,
        };
        let attention = match &input.attn_mask {
            Some(mask) => {
                let flat: Shape = [queries, keys].into();
                let deep: Shape = [batch.saturating_mul(heads), queries, keys].into();
                let added = to_additive(mask, &input.query)?;
                Some(if *mask.shape() == flat {
                    added
                } else if *mask.shape() == deep {
                    added.reshape([batch, heads, queries, keys])?
                } else {
                    return Err(error(format!("an attn_mask {flat} or {deep}"), mask));
                })
            }
            None => None,
        };
        Ok(Self { padding, attention })
    }

    /// Both masks combined, with none of the `more` appended keys hidden.
    fn add_masks(
        &self,
        sizes: &Sizes,
        is_causal: bool,
        more: usize,
        query: &Tensor,
    ) -> Result<Option<Tensor>> {
        let causal = match is_causal && self.attention.is_none() {
            true => {
                let seen = causal_mask(sizes.queries, sizes.keys, 0, &query.device())?;
                Some(additive_mask(&seen, query.dtype())?)
            }
            false => None,
        };
        let attention = self.attention.as_ref().or(causal.as_ref());
        let mask = match (attention, &self.padding) {
            (Some(attention), Some(padding)) => attention.add(padding)?,
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => return Ok(None),
        };
        match more {
            0 => Ok(Some(mask)),
            // At most two: one learned, one of zeros.
            _ => mask.pad([0, more as isize], PadMode::default()).map(Some),
        }
    }
}

/// Minus infinity where a `Bool` mask is true; numbers as they are.
fn to_additive(mask: &Tensor, query: &Tensor) -> Result<Tensor> {
    let (op, dtype) = (NAME, mask.dtype());
    if dtype == DType::Bool {
        let zeros = Tensor::zeros(mask.shape(), (query.dtype(), &query.device()))?;
        return zeros.masked_fill(mask, f64::NEG_INFINITY);
    }
    if !dtype.is_floating_point() {
        let needs = "a `Bool` mask, or one of numbers that are added to the scores";
        return Err(DTypeError::Unsupported { op, dtype, needs }.into());
    }
    if dtype != query.dtype() {
        let (lhs, rhs) = (query.dtype(), dtype);
        return Err(DTypeError::Mismatch { op, lhs, rhs }.into());
    }
    Ok(mask.clone())
}
