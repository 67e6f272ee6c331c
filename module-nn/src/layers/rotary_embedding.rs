use std::borrow::Cow;

use module_core::module::Repr;
use module_core::{DType, DTypeError, Error, Forward, Marker, Module, Result, ShapeError, Tensor};

use super::position::{PositionLayout, cos_sin};
use super::rotary_scaling::RotaryScaling;
use crate::config::{Build, check_between, check_positive, config};

/// Rotates pairs of features by angles that grow with the position, so that the product of a query and a key depends on
/// their distance:
///
/// ```text
/// (a, b) -> (a cos t·fᵢ - b sin t·fᵢ, b cos t·fᵢ + a sin t·fᵢ)     fᵢ = rope_theta^(-2i / rotary_dim)
/// ```
///
/// for the two features of pair `i` at position `t`; [`PositionLayout`] says which features are a pair.
/// The angles are computed in `F64`, and half precision is rotated in `F32`; [`RotaryScaling`] changes the frequencies
/// for longer sequences.
///
/// Source: Su et al., *RoFormer: Enhanced Transformer with Rotary Position Embedding* (2021).
///
/// # Shapes
///
/// `[…, length, head_dim]` to the same. It can be called with
///
/// | input | positions |
/// |---|---|
/// | `x` | `0`, `1`, … |
/// | `(x, start)` | from `start` on |
/// | `(x, positions)` | integers `[length]`, or a shape that broadcasts to that of `x` without the last dimension |
///
/// # Errors
///
/// A size other than `head_dim`, positions that do not fit, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let rotary = RotaryEmbedding::new(2)?;
/// let x = Tensor::from([[1.0_f32, 0.0], [1.0, 0.0]]);
/// let y = rotary.call(x)?.to_vec::<f32>()?;
/// assert_eq!(y, [1.0, 0.0, 1.0_f32.cos(), 1.0_f32.sin()]);
///
/// // The positions of a longer text, squeezed into those of training: 4 counts as 2.
/// let config = RotaryEmbeddingConfig::new(2).rope_theta(500_000.0).scaling(RotaryScaling::Linear { factor: 2.0 });
/// let y = config.build()?.call((Tensor::from([[1.0_f32, 0.0]]), 4))?.to_vec::<f32>()?;
/// assert_eq!(y, [2.0_f32.cos(), 2.0_f32.sin()]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct RotaryEmbedding {
    #[module(skip)]
    config: RotaryEmbeddingConfig,
    #[module(skip)]
    frequencies: Vec<f64>,
    marker: Marker,
}

config! {
    /// The arguments of [`RotaryEmbedding`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // GPT-J: pairs of neighbors, of which only the first 64 features are rotated.
    /// let rotary = RotaryEmbeddingConfig::new(256)
    ///     .rotary_dim(64)
    ///     .layout(PositionLayout::Interleaved)
    ///     .build()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RotaryEmbeddingConfig => RotaryEmbedding {
        required {
            /// The size of the vectors.
            head_dim: usize,
        }
        optional {
            /// The base of the frequencies.
            rope_theta: f64 = 10000.0,
            /// The number of leading features that are rotated; all if absent.
            rotary_dim: Option<usize> = None,
            /// Which features are a pair.
            layout: PositionLayout = PositionLayout::HalfSplit,
            /// The scaling of the frequencies for longer sequences.
            scaling: RotaryScaling = RotaryScaling::Default,
        }
    }
}

impl Build for RotaryEmbeddingConfig {
    type Output = RotaryEmbedding;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A size of 0, a `rotary_dim` that is odd or greater than `head_dim`, a base or a scaling that is not positive.
    fn build(&self) -> Result<RotaryEmbedding> {
        const NAME: &str = "RotaryEmbedding";
        let &Self {
            head_dim,
            rope_theta,
            scaling,
            ..
        } = self;
        let rotary_dim = self.rotary_size();
        check_positive(NAME, "head_dim", head_dim)?;
        if rotary_dim == 0 || !rotary_dim.is_multiple_of(2) || rotary_dim > head_dim {
            let problem = format!("must be even and from 2 to head_dim = {head_dim}");
            return Err(Error::argument(NAME, "rotary_dim", rotary_dim, problem));
        }
        check_between(
            NAME,
            "rope_theta",
            rope_theta,
            [f64::MIN_POSITIVE, f64::MAX],
        )?;
        scaling.check(rotary_dim)?;
        let frequencies = scaling.frequencies(rope_theta, rotary_dim, 0)?;
        Ok(RotaryEmbedding {
            config: self.clone(),
            frequencies,
            marker: Marker::new(),
        })
    }
}

impl RotaryEmbeddingConfig {
    fn rotary_size(&self) -> usize {
        self.rotary_dim.unwrap_or(self.head_dim)
    }
}

impl RotaryEmbedding {
    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let config = &self.config;
        write!(
            f,
            "{}, rope_theta={}, rotary_dim={}, layout={}",
            config.head_dim,
            Repr(&config.rope_theta),
            config.rotary_size(),
            config.layout.name()
        )
    }

    /// Rotates several tensors by the same positions.
    pub(super) fn rotate<const N: usize>(
        &self,
        tensors: [Tensor; N],
        positions: &Tensor,
    ) -> Result<[Tensor; N]> {
        const NAME: &str = "RotaryEmbedding";
        let config = &self.config;
        if positions.dtype().is_floating_point() || positions.dtype() == DType::Bool {
            let (op, dtype, needs) = (NAME, positions.dtype(), "whole numbers as positions");
            return Err(DTypeError::Unsupported { op, dtype, needs }.into());
        }
        let frequencies = self.frequencies_at(positions)?;
        let factor = config.scaling.attention_factor();
        let mut waves: Option<(DType, [Tensor; 2])> = None;
        let mut rotated = tensors;
        for x in &mut rotated {
            let dtype = x.dtype();
            if !dtype.is_floating_point() {
                let (op, needs) = (NAME, "a floating-point tensor");
                return Err(DTypeError::Unsupported { op, dtype, needs }.into());
            }
            if x.rank() < 2 || x.size(-1)? != config.head_dim {
                let expected = format!("[…, length, head_dim = {}]", config.head_dim);
                return Err(x.shape().error(NAME, expected));
            }
            let leading = module_core::Shape::from(&x.shape()[..x.rank() - 1]);
            if positions.expand(&leading).is_err() {
                let (op, lhs, rhs) = (NAME, x.shape().clone(), positions.shape().clone());
                let rule = "the positions must broadcast to all dimensions but the last".to_owned();
                return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
            }
            let wide = match dtype {
                DType::F16 | DType::BF16 => DType::F32,
                dtype => dtype,
            };
            let (_, [cos, sin]) = match waves.take() {
                Some(made) if made.0 == wide => waves.insert(made),
                _ => {
                    let [cos, sin] = cos_sin(positions, &frequencies, wide)?;
                    let made = match factor == 1.0 {
                        true => [cos, sin],
                        false => [cos.mul(factor)?, sin.mul(factor)?],
                    };
                    waves.insert((wide, made))
                }
            };
            *x = self
                .rotate_one(x.to_dtype(wide)?, cos, sin)?
                .to_dtype(dtype)?;
        }
        Ok(rotated)
    }

    /// The frequencies, which may depend on the largest position.
    fn frequencies_at(&self, positions: &Tensor) -> Result<Cow<'_, [f64]>> {
        let config = &self.config;
        let Some(most) = config
            .scaling
            .depends_beyond()
            .filter(|_| positions.numel() > 0)
        else {
            return Ok(Cow::from(&self.frequencies));
        };
        let last = positions.to_dtype(DType::I64)?.max(..)?.item::<i64>()?;
        let length = usize::try_from(last.saturating_add(1)).unwrap_or(0);
        if length <= most {
            return Ok(Cow::from(&self.frequencies));
        }
        let rotary_dim = config.rotary_size();
        let scaling = config.scaling;
        Ok(scaling
            .frequencies(config.rope_theta, rotary_dim, length)?
            .into())
    }

    fn rotate_one(&self, x: Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
        let (size, rotated) = (self.config.head_dim, self.config.rotary_size());
        let layout = self.config.layout;
        let [a, b] = layout.part(&x.narrow(-1, 0..rotated)?)?;
        let first = a.mul(cos)?.sub(&b.mul(sin)?)?;
        let second = b.mul(cos)?.add(&a.mul(sin)?)?;
        let out = layout.join(&first, &second)?;
        match rotated == size {
            true => Ok(out),
            false => Tensor::cat(&[out, x.narrow(-1, rotated..size)?], -1),
        }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> RotaryEmbeddingConfig {
        self.config.clone()
    }
}

impl Forward for RotaryEmbedding {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.forward((input, 0))
    }
}

impl Forward<(Tensor, usize)> for RotaryEmbedding {
    type Output = Tensor;

    fn forward(&self, (input, start): (Tensor, usize)) -> Result<Tensor> {
        // Too few dimensions are refused together with the others.
        let length = if input.rank() < 2 { 1 } else { input.size(-2)? };
        let positions = positions(start, length, &input)?;
        self.forward((input, positions))
    }
}

impl Forward<(Tensor, Tensor)> for RotaryEmbedding {
    type Output = Tensor;

    fn forward(&self, (input, positions): (Tensor, Tensor)) -> Result<Tensor> {
        let [output] = self.rotate([input], &positions)?;
        Ok(output)
    }
}

/// As many positions from `start` on, on the device of `x`.
pub(super) fn positions(start: usize, length: usize, x: &Tensor) -> Result<Tensor> {
    let ends = [start, start.saturating_add(length)].map(i64::try_from);
    let [Ok(start), Ok(end)] = ends else {
        let problem = "must leave room for the sequence among 64-bit integers";
        return Err(Error::argument("RotaryEmbedding", "start", start, problem));
    };
    Tensor::arange(start, end, ())?.to_device(&x.device())
}
