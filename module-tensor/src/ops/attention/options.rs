//! The options of attention.

use crate::tensor::Tensor;

crate::options! {
    /// The options of [`Tensor::scaled_dot_product_attention`], with PyTorch's names and defaults; `causal_with` and
    /// `sliding_window` correspond to PyTorch's `torch.nn.attention.bias.causal_lower_right` and to masks.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{AttentionOptions, DType, Tensor};
    ///
    /// let x = Tensor::randn([1, 2, 5, 4], DType::F32)?;
    /// let options = AttentionOptions::new().is_causal(true);
    /// let y = x.scaled_dot_product_attention(&x, &x, options)?;
    /// assert_eq!(y.shape(), x.shape());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    ///
    /// ```
    /// use module_tensor::{AttentionOptions, DType, Tensor};
    ///
    /// // Four heads of queries that share two heads of values; each query attends to its own key only.
    /// let (query, key) = (Tensor::ones([1, 4, 3, 1], DType::F32)?, Tensor::ones([1, 2, 3, 1], DType::F32)?);
    /// let value = Tensor::linspace(1.0, 6.0, 6, DType::F32)?.reshape([1, 2, 3, 1])?;
    /// let options = AttentionOptions::new().enable_gqa(true).sliding_window(1);
    /// let y = query.scaled_dot_product_attention(&key, &value, options)?;
    /// assert_eq!(y.select(1, 1)?.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// assert_eq!(y.select(1, 2)?.to_vec::<f32>()?, [4.0, 5.0, 6.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct AttentionOptions<'a> {
        optional {
            /// A `Bool` mask, true where a key may be attended to, or numbers that are added to the scores.
            attn_mask: Option<&'a Tensor> = None,
            /// The dropout probability of attention weights.
            dropout_p: f64 = 0.0,
            /// Whether query `i` attends only to the keys up to `i`. As in PyTorch, no mask is allowed with it.
            is_causal: bool = false,
            /// The number of keys before that of the first query: query `i` attends only to the keys up to `past + i`, as
            /// in a sequence whose first `past` elements were processed before. A mask is applied too.
            causal_with: Option<usize> = None,
            /// The maximum number of keys that a query attends to, ending with its own: the attention is causal, offset by
            /// `causal_with` if it is given. A mask is applied too.
            sliding_window: Option<usize> = None,
            /// The factor of the scores; `1/√width` of the queries if absent.
            scale: Option<f64> = None,
            /// Whether several query heads share one head of key and value.
            enable_gqa: bool = false,
        }
    }
}
