//! Attention.

mod options;
mod shapes;

pub use options::AttentionOptions;

use self::shapes::{NAME, Shapes};
use super::AutocastPolicy;
use super::fused::gradient;
use crate::backend::{AttentionGeometry, AttentionInputs, AttentionKernels, CausalGeometry, Saved};
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled};
use crate::{DType, Error, Result, Shape};

impl Tensor {
    /// `softmax(query · keyᵀ · scale + mask) · value`, where `self` is the query.
    ///
    /// On the CPU, the matrix of scores is never stored as a whole, unless weights are dropped or the mask has a gradient. A
    /// query that may attend to nothing gives 0. Dropped weights are those that [`dropout`](Self::dropout) of the matrix
    /// `[…, length, keys]` drops.
    ///
    /// # Shapes
    ///
    /// Query `[…, length, width]`, key `[…, keys, width]`, value `[…, keys, value width]`, whose
    /// leading dimensions broadcast, give `[…, length, value width]`; the mask broadcasts to
    /// `[…, length, keys]`. With `enable_gqa` dimension -3 of the query is a multiple of that of key
    /// and value.
    ///
    /// # Errors
    ///
    /// Incompatible shapes, different dtypes or devices, a mask beside `is_causal`, a mask that is neither `Bool` nor of
    /// the query's dtype, a dtype that is not floating-point, a probability outside `[0, 1]`, a window of 0.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{AttentionOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 0.0], [0.0, 1.0]]);
    /// let causal = AttentionOptions::new().is_causal(true);
    /// let y = x.scaled_dot_product_attention(&x, &x, causal)?;
    /// // The first query sees only the first key.
    /// assert_eq!(y.to_vec::<f32>()?[..2], [1.0, 0.0]);
    /// // The same for the last query alone, behind one that was seen before.
    /// let last = x.narrow(0, 1..2)?.scaled_dot_product_attention(&x, &x, AttentionOptions::new().causal_with(1))?;
    /// assert_eq!(last.to_vec::<f32>()?, y.to_vec::<f32>()?[2..]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn scaled_dot_product_attention(
        &self,
        key: &Self,
        value: &Self,
        options: AttentionOptions<'_>,
    ) -> Result<Self> {
        // A boolean mask stays boolean.
        let attention = |[query, key, value]: [&Self; 3], [mask]: [Option<&Self>; 1]| {
            query.scaled_dot_product_attention(key, value, options.attn_mask(mask))
        };
        let policy = AutocastPolicy::LowerPrecision;
        if let Some(out) = policy.apply([self, key, value], [options.attn_mask], attention) {
            return out;
        }
        let shapes = Shapes::of(self, key, value, options.enable_gqa)?;
        if !(0.0..=1.0).contains(&options.dropout_p) {
            let (p, problem) = (options.dropout_p, "must be between 0 and 1");
            return Err(Error::argument(NAME, "dropout_p", p, problem));
        }
        let causal = options.causal()?;
        let tracked_mask = options.attn_mask.is_some_and(Self::requires_grad);
        let is_composed = options.dropout_p > 0.0 || (tracked_mask && is_grad_enabled());
        let kernels = self.device().backend().attention();
        let kernels = kernels.filter(|_| !is_composed);
        let parts = [
            (self, &shapes.query),
            (key, &shapes.key),
            (value, &shapes.value),
        ];
        // Broadcast operands are widened first, so that their gradient is summed before it is rounded.
        let stretched = parts.iter().any(|(x, shape)| x.shape() != *shape);
        let prepared = |x: &Self| match kernels.is_none() || stretched {
            true => x.widened(),
            false => Ok(x.clone()),
        };
        let mask = match options.attn_mask {
            Some(mask) => {
                let mask = prepared(&self.additive(mask, options.is_causal)?)?;
                Some(mask.expand_mask(&shapes.scores)?)
            }
            None => None,
        };
        let [query, key, value] =
            parts.map(|(x, shape)| prepared(x)?.expand(shape)?.flatten_batch());
        let root = || 1.0 / (shapes.width as f64).sqrt();
        let attention = Attention {
            query: query?,
            key: key?,
            value: value?,
            mask,
            scores: shapes.scores,
            geometry: AttentionGeometry {
                repeats: shapes.repeats,
                scale: options.scale.unwrap_or_else(root),
                causal,
                compute: self.compute_dtype(),
            },
        };
        let out = match kernels {
            Some(kernels) => attention.fused(kernels)?,
            None => attention.compose(options.dropout_p)?,
        };
        out.reshape_to(&shapes.out)?.to_dtype(self.dtype())
    }

    /// The mask as numbers added to the scores.
    fn additive(&self, mask: &Self, is_causal: bool) -> Result<Self> {
        if is_causal {
            let problem = "cannot be combined with `attn_mask`; join both in the mask";
            return Err(Error::argument(NAME, "is_causal", true, problem));
        }
        self.check_device(NAME, mask)?;
        if mask.dtype() == DType::Bool {
            // As large as the mask in memory, not as its expanded shape.
            let mask = mask.unexpanded()?;
            let zeros = Self::zeros(mask.shape(), (self.dtype(), &self.device()))?;
            zeros.masked_fill(&mask.logical_not()?, f64::NEG_INFINITY)
        } else if mask.dtype().is_floating_point() {
            self.check_same(NAME, mask)?;
            Ok(mask.clone())
        } else {
            let problem = "must be of booleans, true where a key may be attended to (`mask.ne(0)?`), or of numbers that are \
                           added to the scores, in the dtype of the query";
            Err(Error::argument(NAME, "attn_mask", mask.dtype(), problem))
        }
    }

    /// This mask in the shape of the scores.
    fn expand_mask(&self, scores: &Shape) -> Result<Self> {
        self.expand(scores).map_err(|_| {
            let problem = format!("must broadcast to the shape of the scores, {scores}");
            Error::argument(NAME, "attn_mask", self.shape(), problem)
        })
    }

    /// The view with size 1 in the dimensions that are broadcast.
    fn unexpanded(&self) -> Result<Self> {
        let mut view = self.clone();
        for dim in 0..self.rank() {
            if self.layout.strides()[dim] == 0 && self.shape()[dim] > 1 {
                view = view.narrow(dim as isize, 0..1)?;
            }
        }
        Ok(view)
    }

    /// `[batch, rows, columns]` from any number of leading dimensions.
    fn flatten_batch(&self) -> Result<Self> {
        let (lead, last) = self.shape().split_at(self.rank() - 2);
        let batch: usize = lead.iter().product();
        self.reshape_to(&[batch, last[0], last[1]].into())
    }
}

impl AttentionOptions<'_> {
    fn causal(&self) -> Result<Option<CausalGeometry>> {
        let window = self.sliding_window;
        if window == Some(0) {
            let problem = "must be positive; a query sees its own key at least";
            return Err(Error::argument(NAME, "sliding_window", 0, problem));
        }
        let is_causal = self.is_causal || self.causal_with.is_some() || window.is_some();
        let past = self.causal_with.unwrap_or(0);
        Ok(is_causal.then_some(CausalGeometry { past, window }))
    }
}

/// The number of a diagonal; far outside the matrix if it overflows.
fn diagonal(count: usize) -> i64 {
    i64::try_from(count)
        .unwrap_or(i64::MAX / 2)
        .min(i64::MAX / 2)
}

/// An attention of `[batch, rows, columns]`.
#[derive(Clone)]
struct Attention {
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Option<Tensor>,
    /// The shape of the scores with all leading dimensions.
    scores: Shape,
    geometry: AttentionGeometry,
}

impl Attention {
    fn inputs(&self) -> AttentionInputs {
        AttentionInputs {
            query: self.query.operand(),
            key: self.key.operand(),
            value: self.value.operand(),
            mask: self.mask.as_ref().map(Tensor::operand),
        }
    }

    fn fused(&self, kernels: &dyn AttentionKernels) -> Result<Tensor> {
        let Self {
            query, key, value, ..
        } = self;
        let (out, saved) = kernels.forward(self.inputs(), &self.geometry)?;
        let (batch, length) = (query.shape()[0], query.shape()[1]);
        let out = Tensor::fresh(out, [batch, length, value.shape()[2]].into());
        Ok(out.record([query, key, value], |_| Fused {
            attention: self.clone(),
            saved,
        }))
    }

    /// The same in the dtype of the computation, for formulas.
    fn widened(&self) -> Result<Self> {
        Ok(Self {
            query: self.query.widened()?,
            key: self.key.widened()?,
            value: self.value.widened()?,
            mask: self.mask.as_ref().map(Tensor::widened).transpose()?,
            scores: self.scores.clone(),
            geometry: self.geometry,
        })
    }

    /// Key or value repeated for each query head.
    fn repeat_heads(&self, x: &Tensor) -> Result<Tensor> {
        let repeats = self.geometry.repeats;
        if repeats == 1 {
            return Ok(x.clone());
        }
        let &[batch, rows, columns] = &**x.shape() else {
            return Err(x.shape().error(NAME, "three dimensions"));
        };
        let stretched = x.unsqueeze(1)?.expand([batch, repeats, rows, columns])?;
        stretched.reshape_to(&[batch * repeats, rows, columns].into())
    }

    /// The gradient of [`repeat_heads`](Self::repeat_heads).
    fn sum_heads(&self, grad: Tensor, x: &Tensor) -> Result<Tensor> {
        if self.geometry.repeats == 1 {
            return Ok(grad);
        }
        let shape: Shape = [x.shape()[0], self.geometry.repeats]
            .into_iter()
            .chain(x.shape()[1..].iter().copied())
            .collect();
        grad.reshape_to(&shape)?.sum(1)
    }

    /// The attention weights, `[batch, length, keys]`; 0 for a query that may attend to nothing.
    fn weights(&self) -> Result<Tensor> {
        let query = self.query.mul(self.geometry.scale)?;
        let key = self.repeat_heads(&self.key)?;
        let mut scores = query.matmul(&key.transpose(1, 2)?)?;
        let flat = scores.shape().clone();
        if let Some(mask) = &self.mask {
            scores = scores
                .reshape_to(&self.scores)?
                .add(mask)?
                .reshape_to(&flat)?;
        }
        let window = self.geometry.causal.and_then(|causal| causal.window);
        if let Some(causal) = self.geometry.causal {
            let [length, keys] = [flat[1], flat[2]];
            let ones = Tensor::ones([length, keys], (DType::U8, &scores.device()))?;
            let mut seen = ones.tril(diagonal(causal.past))?;
            if let Some(window) = window {
                seen = seen.triu(diagonal(causal.past) + 1 - diagonal(window))?;
            }
            scores = scores.masked_fill(&seen.eq(0_u8)?, f64::NEG_INFINITY)?;
        }
        if self.mask.is_none() && window.is_none() {
            return scores.softmax(-1);
        }
        let alone = scores.detach().eq(f64::NEG_INFINITY)?.all_keepdim(-1)?;
        // The softmax of no elements would be NaN, also in its gradient.
        let weights = scores.masked_fill(&alone, 0.0)?.softmax(-1)?;
        weights.masked_fill(&alone, 0.0)
    }

    fn compose(&self, dropout_p: f64) -> Result<Tensor> {
        let mut weights = self.weights()?;
        if dropout_p > 0.0 {
            weights = weights.dropout(dropout_p)?;
        }
        weights.matmul(&self.repeat_heads(&self.value)?)
    }
}

struct Fused {
    attention: Attention,
    saved: Saved,
}

impl Fused {
    fn kernel(&self, grad: &Tensor) -> Result<Option<[Tensor; 3]>> {
        let Attention {
            query,
            key,
            value,
            geometry,
            ..
        } = &self.attention;
        let (grad, inputs) = (grad.operand(), self.attention.inputs());
        let Some(kernels) = query.device().backend().attention() else {
            return Ok(None);
        };
        let [dq, dk, dv] = kernels.backward(grad, inputs, &self.saved, geometry)?;
        Ok(Some([
            query.like_shape(dq),
            key.like_shape(dk),
            value.like_shape(dv),
        ]))
    }

    /// The same as the kernel, written with differentiable operations.
    fn formula(&self, grad: &Tensor) -> Result<[Tensor; 3]> {
        let attention = &self.attention.widened()?;
        let grad = &grad.widened()?;
        let Attention {
            query,
            key,
            value,
            geometry,
            ..
        } = attention;
        let weights = attention.weights()?;
        let slopes = grad.matmul(&attention.repeat_heads(value)?.transpose(1, 2)?)?;
        let along = slopes.mul(&weights)?.sum_keepdim(-1)?;
        let slopes = weights.mul(&slopes.sub(&along)?)?.mul(geometry.scale)?;
        let dk = slopes.transpose(1, 2)?.matmul(query)?;
        let dv = weights.transpose(1, 2)?.matmul(grad)?;
        let like = |slope: Tensor, x: &Tensor| slope.to_dtype(x.dtype());
        let own = &self.attention;
        Ok([
            like(slopes.matmul(&attention.repeat_heads(key)?)?, &own.query)?,
            like(attention.sum_heads(dk, key)?, &own.key)?,
            like(attention.sum_heads(dv, value)?, &own.value)?,
        ])
    }
}

impl Function for Fused {
    fn name(&self) -> &'static str {
        NAME
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        let grads = gradient(|| self.kernel(grad), || self.formula(grad))?;
        Ok(grads.into_iter().map(Some).collect())
    }
}
