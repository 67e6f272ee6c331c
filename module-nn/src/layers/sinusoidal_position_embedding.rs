use module_core::module::Repr;
use module_core::{Buffer, Error, Forward, Module, Result, Tensor, default_dtype};

use super::position::{PositionLayout, cos_sin};
use crate::config::{Build, check_between, check_positive, config};
use crate::rnn::vec_with_capacity;

/// Adds to each element of a sequence a vector of waves that encodes its position:
///
/// ```text
/// p[t, 2i] = sin(t · fᵢ)     p[t, 2i + 1] = cos(t · fᵢ)     fᵢ = base^(-i / (dim/2 - downscale_freq_shift))
/// ```
///
/// or, with [`PositionLayout::HalfSplit`], all sines before all cosines. A `downscale_freq_shift` of 0 gives the paper's
/// formula, 1 that of tensor2tensor and fairseq.
///
/// Source: Vaswani et al., *Attention Is All You Need* (2017).
///
/// # Shapes
///
/// Input `[length, batch, embedding_dim]`, `[batch, length, embedding_dim]` with `batch_first`, or
/// `[length, embedding_dim]`; the output has the same shape. With a pair of an input and a number, the positions start at
/// that number.
///
/// # State dict
///
/// Nothing: the table of waves, `[max_len, embedding_dim]`, is a non-persistent buffer.
///
/// # Errors
///
/// A size other than `embedding_dim`, a position of `max_len` or more, a dtype that differs from the table's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let positions = SinusoidalPositionEmbedding::new(4)?;
/// let y = positions.call(Tensor::zeros([2, 4], DType::F32)?)?;
/// assert_eq!(y.to_vec::<f32>()?[..4], [0.0, 1.0, 0.0, 1.0]);
/// assert_eq!(y.to_vec::<f32>()?[4], 1.0_f32.sin());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct SinusoidalPositionEmbedding {
    #[module(skip)]
    config: SinusoidalPositionEmbeddingConfig,
    table: Buffer,
}

config! {
    /// The arguments of [`SinusoidalPositionEmbedding`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // Those of tensor2tensor: the sines first, and the last frequency is exactly 1/base.
    /// let positions = SinusoidalPositionEmbeddingConfig::new(4)
    ///     .max_len(8)
    ///     .base(100.0)
    ///     .layout(PositionLayout::HalfSplit)
    ///     .downscale_freq_shift(1.0)
    ///     .batch_first(true)
    ///     .build()?;
    /// let y = positions.call(Tensor::zeros([1, 2, 4], DType::F32)?)?.to_vec::<f32>()?;
    /// assert_eq!(y[..4], [0.0, 0.0, 1.0, 1.0]);
    /// assert!((y[5] - 0.01_f32.sin()).abs() < 1e-6);
    /// assert!(positions.call(Tensor::zeros([1, 9, 4], DType::F32)?).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SinusoidalPositionEmbeddingConfig => SinusoidalPositionEmbedding {
        required {
            /// The size of the vectors.
            embedding_dim: usize,
        }
        optional {
            /// The number of positions.
            max_len: usize = 5000_usize,
            /// The ratio of the longest wave to the shortest.
            base: f64 = 10000.0,
            /// The arrangement of sines and cosines.
            layout: PositionLayout = PositionLayout::Interleaved,
            /// The number subtracted from the number of frequencies in the exponent.
            downscale_freq_shift: f64 = 0.0,
            /// Whether the batch is the first dimension rather than the second.
            batch_first: bool = false,
        }
    }
}

impl Build for SinusoidalPositionEmbeddingConfig {
    type Output = SinusoidalPositionEmbedding;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A size of 0, a base that is not positive, a shift that leaves no frequencies, sizes that exceed
    /// memory.
    fn build(&self) -> Result<SinusoidalPositionEmbedding> {
        const NAME: &str = "SinusoidalPositionEmbedding";
        let &Self {
            embedding_dim,
            max_len,
            base,
            downscale_freq_shift: shift,
            ..
        } = self;
        check_positive(NAME, "embedding_dim", embedding_dim)?;
        check_positive(NAME, "max_len", max_len)?;
        check_between(NAME, "base", base, [f64::MIN_POSITIVE, f64::MAX])?;
        let count = embedding_dim.div_ceil(2);
        let divisor = embedding_dim as f64 / 2.0 - shift;
        if divisor.is_nan() || divisor <= 0.0 {
            let problem = format!("must be less than half of embedding_dim = {embedding_dim}");
            return Err(Error::argument(
                NAME,
                "downscale_freq_shift",
                shift,
                problem,
            ));
        }
        let end = i64::try_from(max_len).unwrap_or(i64::MAX);
        let positions = Tensor::arange(0, end, ())?;
        let exponents = Tensor::arange(0, i64::try_from(count).unwrap_or(i64::MAX), ())?;
        let mut frequencies = vec_with_capacity(NAME, &exponents, Some(count))?;
        let exponents = exponents.to_vec::<i64>()?;
        frequencies.extend(exponents.iter().map(|&i| base.powf(-(i as f64) / divisor)));
        let [cos, sin] = cos_sin(&positions, &frequencies, default_dtype())?;
        // With an odd size, there is no place for the last cosine.
        let table = match self.layout {
            PositionLayout::Interleaved => {
                (self.layout.join(&sin, &cos)?).narrow(-1, 0..embedding_dim)?
            }
            PositionLayout::HalfSplit => {
                Tensor::cat(&[sin, cos.narrow(-1, 0..embedding_dim - count)?], -1)?
            }
        };
        Ok(SinusoidalPositionEmbedding {
            config: self.clone(),
            table: Buffer::non_persistent(table.contiguous()?),
        })
    }
}

impl SinusoidalPositionEmbedding {
    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SinusoidalPositionEmbeddingConfig {
            embedding_dim,
            max_len,
            base,
            layout,
            ..
        } = &self.config;
        let (base, layout) = (Repr(base), layout.name());
        write!(
            f,
            "{embedding_dim}, max_len={max_len}, base={base}, layout={layout}"
        )
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> SinusoidalPositionEmbeddingConfig {
        self.config.clone()
    }
}

impl Forward for SinusoidalPositionEmbedding {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.forward((input, 0))
    }
}

impl Forward<(Tensor, usize)> for SinusoidalPositionEmbedding {
    type Output = Tensor;

    fn forward(&self, (input, start): (Tensor, usize)) -> Result<Tensor> {
        let config = &self.config;
        let dim = config.embedding_dim;
        let (length, batch_second) = match **input.shape() {
            [length, last] if last == dim => (length, false),
            [_, length, last] if last == dim && config.batch_first => (length, false),
            [length, _, last] if last == dim => (length, true),
            _ => {
                let expected = format!("a sequence, with or without a batch, of vectors of {dim}");
                return Err(input.shape().error("SinusoidalPositionEmbedding", expected));
            }
        };
        let end = start.saturating_add(length);
        if end > config.max_len {
            let problem =
                format!("{length} positions from {start} on need a max_len of at least {end}");
            let (op, name) = ("SinusoidalPositionEmbedding", "max_len");
            return Err(Error::argument(op, name, config.max_len, problem));
        }
        let waves = self.table.tensor().narrow(0, start..end)?;
        match batch_second {
            true => input.add(&waves.unsqueeze(1)?),
            false => input.add(&waves),
        }
    }
}
