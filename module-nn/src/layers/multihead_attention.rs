mod output_projection;
mod pass;

use module_core::{Bias, Forward, Maybe, Module, Parameter, Result, Tensor, Training};

use crate::Error;
use crate::config::{Build, check_between, check_positive, config, input};
use crate::init::{XavierNormal, XavierUniform, zeros};
use crate::lora::{Adaptable, Adapters};

pub use output_projection::NonDynamicallyQuantizableLinear;

/// Attention with several heads, each of which projects query, key and value and attends separately:
///
/// ```text
/// headᵢ = softmax(Qᵢ Kᵢᵀ / √head_dim + mask) Vᵢ      Qᵢ = q Wᵢᴼ + bᵢ, and so on
/// y = [head₁ … head_h] Wᴼ + b
/// ```
///
/// It is called with query, key and value, or with a [`MultiheadAttentionInput`] for masks. It returns the attended values
/// and, if requested (`need_weights`, PyTorch's default), the attention weights. Without them the weight matrix is never
/// stored, which is faster.
///
/// A true entry of a mask **blocks**, as in PyTorch; in
/// [`scaled_dot_product_attention`](Tensor::scaled_dot_product_attention) it allows.
///
/// Source: Vaswani et al., *Attention Is All You Need* (2017).
///
/// # Shapes
///
/// With `L` queries, `S` keys, a batch of `N` and `E = embed_dim`: query `[L, N, E]`, key `[S, N, kdim]`, value
/// `[S, N, vdim]`, output `[L, N, E]`; with `batch_first` `[N, L, E]` and so on; or all without the batch. Weights
/// `[N, L, S]`, averaged over the heads, or `[N, num_heads, L, S]`. `add_bias_kv` and `add_zero_attn` each make `S` one
/// larger.
///
/// # State dict
///
/// `in_proj_weight` `[3·E, E]` (query, key, value), or if `kdim` or `vdim` is not `E`, `q_proj_weight` `[E, E]`,
/// `k_proj_weight` `[E, kdim]` and `v_proj_weight` `[E, vdim]`; `in_proj_bias` `[3·E]` with `bias`; `bias_k` and `bias_v`
/// `[1, 1, E]` with `add_bias_kv`; `out_proj.weight` `[E, E]` and, with `bias`, `out_proj.bias` `[E]`.
///
/// # Initialization
///
/// `out_proj` as a [`Linear`](super::Linear), the projections by [`XavierUniform`], both biases 0, then `bias_k` and
/// `bias_v` by [`XavierNormal`]: PyTorch's, bit for bit.
///
/// # Errors
///
/// Incompatible shapes, a mask of another shape, or one that is neither `Bool` nor of the query's dtype.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let attention = MultiheadAttentionConfig::new(8, 2).batch_first(true).build()?;
/// let x = Tensor::randn([3, 5, 8], DType::F32)?;
/// let (y, weights) = attention.call((x.clone(), x.clone(), x.clone()))?;
/// assert_eq!(y.shape().to_string(), "[3, 5, 8]");
/// assert_eq!(weights.unwrap().shape().to_string(), "[3, 5, 5]");
///
/// // A query sees nothing that comes after it.
/// let input = MultiheadAttentionInput::new(x.clone(), x.clone(), x).is_causal(true).need_weights(false);
/// let (y, weights) = attention.call(input)?;
/// assert!(weights.is_none());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
#[doc(alias = "multi_head_attention_forward")]
pub struct MultiheadAttention {
    #[module(skip)]
    config: MultiheadAttentionConfig,
    in_proj_weight: Maybe<Parameter>,
    q_proj_weight: Maybe<Parameter>,
    k_proj_weight: Maybe<Parameter>,
    v_proj_weight: Maybe<Parameter>,
    in_proj_bias: Bias,
    bias_k: Bias,
    bias_v: Bias,
    out_proj: NonDynamicallyQuantizableLinear,
    training: Training,
    #[module(flatten)]
    adapters: Adapters,
}

config! {
    /// The arguments of [`MultiheadAttention`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let attention = MultiheadAttentionConfig::new(8, 2).kdim(5).bias(false).build()?;
    /// assert_eq!(
    ///     attention.state_dict()?.keys().collect::<Vec<_>>(),
    ///     ["q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"]
    /// );
    ///
    /// // A learned key and value and zeros are appended, so that queries may attend to nothing in the input.
    /// let config = MultiheadAttentionConfig::new(8, 2).add_bias_kv(true).add_zero_attn(true);
    /// let attention = config.vdim(6).dropout(0.1).build()?;
    /// attention.eval();
    /// let (x, value) = (Tensor::randn([5, 8], DType::F32)?, Tensor::randn([5, 6], DType::F32)?);
    /// let (_, weights) = attention.call((x.clone(), x, value))?;
    /// assert_eq!(weights.unwrap().shape().to_string(), "[5, 7]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MultiheadAttentionConfig => MultiheadAttention {
        required {
            /// The size of queries and outputs, a multiple of the number of heads.
            embed_dim: usize,
            /// The number of heads.
            num_heads: usize,
        }
        optional {
            /// The dropout probability of attention weights in training.
            dropout: f64 = 0.0,
            /// Whether the projections have biases.
            bias: bool = true,
            /// Whether a learned key and value are appended.
            add_bias_kv: bool = false,
            /// Whether a key and a value of zeros are appended.
            add_zero_attn: bool = false,
            /// The size of the keys; `embed_dim` if absent.
            kdim: Option<usize> = None,
            /// The size of the values; `embed_dim` if absent.
            vdim: Option<usize> = None,
            /// Whether the batch is the first dimension rather than the second.
            batch_first: bool = false,
        }
    }
}

impl Build for MultiheadAttentionConfig {
    type Output = MultiheadAttention;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, heads that do not divide `embed_dim`, a probability outside `[0, 1]`, sizes that
    /// exceed memory.
    fn build(&self) -> Result<MultiheadAttention> {
        const NAME: &str = "MultiheadAttention";
        let &Self {
            embed_dim,
            num_heads,
            dropout,
            bias,
            add_bias_kv,
            ..
        } = self;
        let [kdim, vdim] = self.key_and_value_dim();
        check_positive(NAME, "embed_dim", embed_dim)?;
        check_positive(NAME, "num_heads", num_heads)?;
        check_positive(NAME, "kdim", kdim)?;
        check_positive(NAME, "vdim", vdim)?;
        check_between(NAME, "dropout", dropout, [0.0, 1.0])?;
        if !embed_dim.is_multiple_of(num_heads) {
            let problem = format!("must be divisible by num_heads = {num_heads}");
            return Err(Error::argument(NAME, "embed_dim", embed_dim, problem));
        }
        let out_proj = NonDynamicallyQuantizableLinear::new(embed_dim, bias)?;
        // The size of `out_proj` fits in memory, so this one does too.
        let packed = 3 * embed_dim;
        let same = [kdim, vdim] == [embed_dim; 2];
        let weight = |wanted, shape: [usize; 2]| {
            Maybe::when(wanted, || {
                Parameter::with_init(shape, XavierUniform::default())
            })
        };
        let added = || {
            Maybe::when(add_bias_kv, || {
                Parameter::with_init([1, 1, embed_dim], XavierNormal::default())
            })
        };
        Ok(MultiheadAttention {
            config: self.clone(),
            in_proj_weight: weight(same, [packed, embed_dim])?,
            q_proj_weight: weight(!same, [embed_dim, embed_dim])?,
            k_proj_weight: weight(!same, [embed_dim, kdim])?,
            v_proj_weight: weight(!same, [embed_dim, vdim])?,
            in_proj_bias: Maybe::when(bias, || Parameter::with_init(packed, zeros()))?,
            bias_k: added()?,
            bias_v: added()?,
            out_proj,
            training: Training::new(),
            adapters: Adapters::new(Adaptable::InProjection),
        })
    }
}

impl MultiheadAttentionConfig {
    fn key_and_value_dim(&self) -> [usize; 2] {
        [self.kdim, self.vdim].map(|size| size.unwrap_or(self.embed_dim))
    }
}

input! {
    /// The input of [`MultiheadAttention`] for calls with masks or options.
    ///
    /// Masks are `Bool`, true where a key is **blocked**, or numbers of the query's dtype that are
    /// added to the scores.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let attention = MultiheadAttentionConfig::new(4, 2).batch_first(true).build()?;
    /// let x = Tensor::randn([1, 3, 4], DType::F32)?;
    /// let padding = Tensor::from([[false, false, true]]);
    /// let input = MultiheadAttentionInput::new(x.clone(), x.clone(), x).key_padding_mask(padding);
    /// let (_, weights) = attention.call(input)?;
    /// assert_eq!(weights.unwrap().to_vec::<f32>()?[2], 0.0);
    ///
    /// // The weights of each head instead of their mean, and a mask of query-key pairs.
    /// let x = Tensor::randn([1, 2, 4], DType::F32)?;
    /// let input = MultiheadAttentionInput::new(x.clone(), x.clone(), x)
    ///     .attn_mask(Tensor::from([[false, true], [false, false]]))
    ///     .average_attn_weights(false);
    /// let weights = attention.call(input)?.1.unwrap();
    /// assert_eq!(weights.shape().to_string(), "[1, 2, 2, 2]");
    /// assert_eq!(weights.to_vec::<f32>()?[..2], [1.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MultiheadAttentionInput {
        required {
            /// The queries, `[L, N, E]`.
            query,
            /// The keys, `[S, N, kdim]`.
            key,
            /// The values, `[S, N, vdim]`.
            value,
        }
        tensors {
            /// The keys that no query may attend to, `[N, S]`, or `[S]` without a batch.
            key_padding_mask: Tensor,
            /// The query-key pairs that are masked out, `[L, S]` or `[N·num_heads, L, S]`.
            attn_mask: Tensor,
        }
        options {
            /// Whether the weights are returned, which requires storing them.
            need_weights: bool = true,
            /// Whether the returned weights are averaged over the heads.
            average_attn_weights: bool = true,
            /// Whether the attention is causal: query `i` attends to the keys up to `i`. An `attn_mask` is optional
            /// (PyTorch requires it), but must agree.
            is_causal: bool = false,
        }
    }
}

impl MultiheadAttention {
    /// The arguments that it was built from.
    pub fn config(&self) -> MultiheadAttentionConfig {
        self.config.clone()
    }

    /// The projection of the concatenated heads.
    pub fn out_proj(&self) -> &NonDynamicallyQuantizableLinear {
        &self.out_proj
    }

    /// PyTorch prints no arguments.
    fn extra_repr(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

impl Forward<(Tensor, Tensor, Tensor)> for MultiheadAttention {
    type Output = (Tensor, Option<Tensor>);

    fn forward(&self, (query, key, value): (Tensor, Tensor, Tensor)) -> Result<Self::Output> {
        self.forward(MultiheadAttentionInput::new(query, key, value))
    }
}
