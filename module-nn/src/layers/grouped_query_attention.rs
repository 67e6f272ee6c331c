use module_core::module::Repr;
use module_core::{
    AttentionOptions, Call, Error, Forward, Module, OrIdentity, Result, Shape, Tensor, Training,
};

use super::rotary_embedding::positions;
use super::{
    KeyValueCache, Linear, LinearConfig, RMSNorm, RMSNormConfig, RotaryEmbedding,
    RotaryEmbeddingConfig,
};
use crate::config::{Build, check_between, check_positive, config, input};

/// Self-attention in which several query heads share one head of key and value, as in decoders of language models: with one
/// shared head it is multi-query attention, with as many as query heads it is that of
/// [`MultiheadAttention`](super::MultiheadAttention).
///
/// ```text
/// headᵢ = softmax(Qᵢ Kᵍᵀ · scale + mask) Vᵍ     g = i · num_kv_heads / num_heads, rounded down
/// y = [head₁ … head_h] Wᴼ
/// ```
///
/// With `qk_norm_eps`, each head of query and key is normalized before rotary positions are applied, as in Qwen3; with
/// `sliding_window`, an element attends only to that many elements, itself the last, as in Mistral.
///
/// It can be called with
///
/// | input | output |
/// |---|---|
/// | `x` | `y` |
/// | `(x, cache)`, the next elements of a sequence whose earlier ones are in a [`KeyValueCache`] | `(y, cache)`, the cache including these elements |
/// | a [`GroupedQueryAttentionInput`], with a mask or positions | `(y, cache)` |
///
/// Processing element by element with the cache gives the same result as all at once.
///
/// Source: Ainslie et al., *GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
/// Checkpoints* (2023).
///
/// # Shapes
///
/// `[batch, length, embed_dim]` to the same.
///
/// # State dict
///
/// `q_proj.weight` `[num_heads · head_dim, embed_dim]`, `k_proj.weight` and `v_proj.weight`
/// `[num_kv_heads · head_dim, embed_dim]`, `o_proj.weight` `[embed_dim, num_heads · head_dim]`, and with `bias` or `out_bias` their
/// biases: the keys of Llama's checkpoints. With `qk_norm_eps` also `q_norm.weight` and `k_norm.weight` `[head_dim]`.
///
/// # Initialization
///
/// The four as [`Linear`], in this order.
///
/// # Errors
///
/// An input of another shape, positions without a rotary embedding, a mask that does not broadcast to
/// `[batch, num_heads, length, keys]`, a cache of other sizes.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let attention = GroupedQueryAttentionConfig::new(16, 4)
///     .num_kv_heads(2)
///     .rotary(RotaryEmbeddingConfig::new(4).rope_theta(500_000.0))
///     .build()?;
/// let y = attention.call(Tensor::randn([2, 5, 16], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[2, 5, 16]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct GroupedQueryAttention {
    #[module(skip)]
    config: GroupedQueryAttentionConfig,
    q_proj: Linear,
    k_proj: Linear,
    v_proj: Linear,
    o_proj: Linear,
    q_norm: OrIdentity<RMSNorm>,
    k_norm: OrIdentity<RMSNorm>,
    rotary: OrIdentity<RotaryEmbedding>,
    training: Training,
}

const NAME: &str = "GroupedQueryAttention";

config! {
    /// The arguments of [`GroupedQueryAttention`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // Qwen3's heads, which are normalized and wider than `embed_dim / num_heads`, in a window of 4.
    /// let attention = GroupedQueryAttentionConfig::new(8, 4)
    ///     .num_kv_heads(2)
    ///     .head_dim(6)
    ///     .bias(true)
    ///     .out_bias(true)
    ///     .qk_norm_eps(1e-6)
    ///     .sliding_window(4)
    ///     .build()?;
    /// let x = Tensor::randn([1, 7, 8], DType::F32)?;
    /// let changed = Tensor::cat(&[&Tensor::zeros([1, 1, 8], DType::F32)?, &x.narrow(1, 1..7)?], 1)?;
    /// let (y, after) = (attention.call(x)?, attention.call(changed)?);
    /// assert!(!y.narrow(1, 3..4)?.equal(&after.narrow(1, 3..4)?)?);
    /// // The fifth element does not see the first one.
    /// assert!(y.narrow(1, 4..7)?.equal(&after.narrow(1, 4..7)?)?);
    /// assert_eq!(attention.state_dict()?.get("q_norm.weight").unwrap().shape().to_string(), "[6]");
    ///
    /// // In an encoder, with another factor of the scores and with dropout.
    /// let config = GroupedQueryAttentionConfig::new(8, 4).is_causal(false).scale(1.0).dropout(0.1);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct GroupedQueryAttentionConfig => GroupedQueryAttention {
        required {
            /// The size of inputs and outputs.
            embed_dim: usize,
            /// The number of query heads.
            num_heads: usize,
        }
        optional {
            /// The number of key and value heads, of which `num_heads` is a multiple; `num_heads` if absent.
            num_kv_heads: Option<usize> = None,
            /// The size of each head; `embed_dim / num_heads` if absent.
            head_dim: Option<usize> = None,
            /// Whether the projections of query, key and value have biases.
            bias: bool = false,
            /// Whether the projection of the output has a bias.
            out_bias: bool = false,
            /// The dropout probability of attention weights in training.
            dropout: f64 = 0.0,
            /// The factor of the scores; `1/√head_dim` if absent.
            scale: Option<f64> = None,
            /// Whether an element attends only to itself and earlier elements.
            is_causal: bool = true,
            /// The rotary positions of queries and keys.
            rotary: Option<RotaryEmbeddingConfig> = None,
            /// The `eps` of an [`RMSNorm`] of each query and key head; they are not normalized if absent.
            qk_norm_eps: Option<f64> = None,
            /// The maximum number of elements that one attends to, itself the last; `is_causal` must be true. A
            /// [`KeyValueCache`] needs to keep no more ([`KeyValueCache::sliding_window`]).
            sliding_window: Option<usize> = None,
        }
    }
}

impl Build for GroupedQueryAttentionConfig {
    type Output = GroupedQueryAttention;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, `num_heads` that is not a multiple of `num_kv_heads`, `embed_dim` that is not a multiple of `num_heads`
    /// if `head_dim` is absent, a probability outside `[0, 1]`, rotary positions with another `head_dim`.
    fn build(&self) -> Result<GroupedQueryAttention> {
        let &Self {
            embed_dim,
            num_heads,
            dropout,
            ..
        } = self;
        let num_kv_heads = self.shared_heads();
        check_positive(NAME, "embed_dim", embed_dim)?;
        check_positive(NAME, "num_heads", num_heads)?;
        check_positive(NAME, "num_kv_heads", num_kv_heads)?;
        check_between(NAME, "dropout", dropout, [0.0, 1.0])?;
        if !num_heads.is_multiple_of(num_kv_heads) {
            let problem = format!("must be divisible by num_kv_heads = {num_kv_heads}");
            return Err(Error::argument(NAME, "num_heads", num_heads, problem));
        }
        if self.head_dim.is_none() && !embed_dim.is_multiple_of(num_heads) {
            let problem = format!("must be divisible by num_heads = {num_heads}, or give head_dim");
            return Err(Error::argument(NAME, "embed_dim", embed_dim, problem));
        }
        let head_dim = self.size_of_head();
        check_positive(NAME, "head_dim", head_dim)?;
        if let Some(rotary) = self.rotary.as_ref().filter(|r| r.head_dim != head_dim) {
            let problem = format!("must be that of the attention, {head_dim}");
            let (name, given) = ("rotary.head_dim", rotary.head_dim);
            return Err(Error::argument(NAME, name, given, problem));
        }
        if let Some(window) = self.sliding_window {
            check_positive(NAME, "sliding_window", window)?;
            if !self.is_causal {
                let problem = "needs is_causal = true";
                return Err(Error::argument(NAME, "sliding_window", window, problem));
            }
        }
        let norm = self.qk_norm_eps;
        let norm = norm.map(|eps| RMSNormConfig::new(head_dim).eps(eps));
        let width = |heads: usize| {
            let problem = format!("is too many of head_dim = {head_dim}");
            let width = heads.checked_mul(head_dim);
            width.ok_or_else(|| Error::argument(NAME, "num_heads", heads, problem))
        };
        let (queries, shared) = (width(num_heads)?, width(num_kv_heads)?);
        let linear = |from, to, bias: bool| LinearConfig::new(from, to).bias(bias).build();
        Ok(GroupedQueryAttention {
            config: self.clone(),
            q_proj: linear(embed_dim, queries, self.bias)?,
            k_proj: linear(embed_dim, shared, self.bias)?,
            v_proj: linear(embed_dim, shared, self.bias)?,
            o_proj: linear(queries, embed_dim, self.out_bias)?,
            q_norm: norm.build()?,
            k_norm: norm.build()?,
            rotary: self.rotary.build()?,
            training: Training::new(),
        })
    }
}

impl GroupedQueryAttentionConfig {
    fn shared_heads(&self) -> usize {
        self.num_kv_heads.unwrap_or(self.num_heads)
    }

    fn size_of_head(&self) -> usize {
        self.head_dim
            .unwrap_or(self.embed_dim / self.num_heads.max(1))
    }
}

input! {
    /// The input of [`GroupedQueryAttention`] for calls with a mask or options.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let attention = GroupedQueryAttention::new(8, 2)?;
    /// let x = Tensor::randn([1, 3, 8], DType::F32)?;
    /// let input = GroupedQueryAttentionInput::new(x).cache(KeyValueCache::new());
    /// let (_y, cache) = attention.call(input)?;
    /// assert_eq!(cache.len(), 3);
    ///
    /// // Two texts in a batch, the first with a padding before it, and the positions of the elements.
    /// let config = GroupedQueryAttentionConfig::new(8, 2).rotary(RotaryEmbeddingConfig::new(4));
    /// let attention = config.build()?;
    /// let x = Tensor::randn([2, 3, 8], DType::F32)?;
    /// let seen = Tensor::from([[false, true, true], [true; 3]]).unsqueeze(1)?.unsqueeze(1)?;
    /// let positions = Tensor::from([[0_i64, 0, 1], [0, 1, 2]]);
    /// let input = GroupedQueryAttentionInput::new(x).attn_mask(seen).positions(positions);
    /// assert_eq!(attention.call(input)?.0.shape().to_string(), "[2, 3, 8]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct GroupedQueryAttentionInput {
        required {
            /// The sequence, `[batch, length, embed_dim]`.
            x,
        }
        tensors {
            /// A mask that broadcasts to `[batch, num_heads, length, keys]`, where the keys are those of the cache followed
            /// by those of the sequence: `Bool`, true where a key **may be attended to** as in
            /// [`scaled_dot_product_attention`](Tensor::scaled_dot_product_attention), or numbers that are added to the
            /// scores. If the attention is causal, that is applied too.
            attn_mask: Tensor,
            /// The positions of the elements for the rotary embedding, `[length]` or `[batch, length]`; if absent, they
            /// follow those of the cache.
            positions: Tensor,
            /// The cache of earlier elements.
            cache: KeyValueCache,
        }
        options {}
    }
}

impl GroupedQueryAttention {
    /// The arguments that it was built from.
    pub fn config(&self) -> GroupedQueryAttentionConfig {
        self.config.clone()
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let config = &self.config;
        write!(
            f,
            "num_heads={}, num_kv_heads={}, head_dim={}, is_causal={}",
            config.num_heads,
            config.shared_heads(),
            config.size_of_head(),
            Repr(&config.is_causal)
        )
    }

    /// `[batch, heads, length, head_dim]`.
    fn heads(&self, x: Tensor, heads: usize) -> Result<Tensor> {
        let shape: Shape = [x.size(0)?, x.size(1)?, heads, self.config.size_of_head()].into();
        x.reshape(&shape)?.transpose(1, 2)
    }
}

impl Forward<GroupedQueryAttentionInput> for GroupedQueryAttention {
    type Output = (Tensor, KeyValueCache);

    fn forward(&self, input: GroupedQueryAttentionInput) -> Result<Self::Output> {
        let GroupedQueryAttentionInput {
            x,
            attn_mask,
            positions: given,
            cache,
        } = input;
        let config = &self.config;
        let &[batch, length, _] = &**x.shape() else {
            let expected = format!("[batch, length, embed_dim = {}]", config.embed_dim);
            return Err(x.shape().error(NAME, expected));
        };
        let mut cache = cache.unwrap_or_default();
        let past = cache.len();
        let shared = config.shared_heads();
        let mut query = self.heads(self.q_proj.call(x.clone())?, config.num_heads)?;
        let mut key = self.heads(self.k_proj.call(x.clone())?, shared)?;
        let value = self.heads(self.v_proj.call(x)?, shared)?;
        (query, key) = (self.q_norm.call(query)?, self.k_norm.call(key)?);
        match (self.rotary.get(), given) {
            (Some(rotary), given) => {
                let positions = match given {
                    // Heads have no positions of their own.
                    Some(given) if given.rank() == 2 => given.unsqueeze(1)?,
                    Some(given) => given,
                    None => positions(past, length, &query)?,
                };
                [query, key] = rotary.rotate([query, key], &positions)?;
            }
            (None, Some(given)) => {
                let (name, problem) = ("positions", "the attention has no rotary embedding");
                return Err(Error::argument(NAME, name, given.shape(), problem));
            }
            (None, None) => {}
        }
        let (key, value) = cache.append(key, value)?;
        let before = key.size(2)?.saturating_sub(length);
        let options = AttentionOptions::new()
            .attn_mask(attn_mask.as_ref())
            .dropout_p(match self.training.is_training() {
                true => config.dropout,
                false => 0.0,
            })
            .causal_with(config.is_causal.then_some(before))
            .sliding_window(config.sliding_window)
            .scale(config.scale)
            .enable_gqa(true);
        let attended = query.scaled_dot_product_attention(&key, &value, options)?;
        let joined: Shape = [batch, length, self.q_proj.weight().shape()[0]].into();
        let joined = attended.transpose(1, 2)?.reshape(&joined)?;
        Ok((self.o_proj.call(joined)?, cache))
    }
}

impl Forward<(Tensor, KeyValueCache)> for GroupedQueryAttention {
    type Output = (Tensor, KeyValueCache);

    fn forward(&self, (x, cache): (Tensor, KeyValueCache)) -> Result<Self::Output> {
        self.forward(GroupedQueryAttentionInput::new(x).cache(cache))
    }
}

impl Forward for GroupedQueryAttention {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let (y, _) = self.forward(GroupedQueryAttentionInput::new(x))?;
        Ok(y)
    }
}
