use std::f64::consts::TAU;

use module_core::{Error, Result, ShapeError};
use serde::{Deserialize, Serialize};

use crate::config::{check_between, check_positive};

/// How the frequencies of a [`RotaryEmbedding`](super::RotaryEmbedding) change for sequences longer than those in training,
/// in the form used by checkpoints.
///
/// # Example
///
/// ```
/// use module_nn::RotaryScaling;
///
/// let text = r#"{"rope_type": "linear", "factor": 2.0}"#;
/// assert_eq!(serde_json::from_str::<RotaryScaling>(text)?, RotaryScaling::Linear { factor: 2.0 });
/// let text = r#"{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}"#;
/// assert_eq!(serde_json::from_str::<RotaryScaling>(text)?, RotaryScaling::yarn(4.0, 32768));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rope_type", rename_all = "lowercase")]
pub enum RotaryScaling {
    /// No scaling.
    #[default]
    Default,
    /// All frequencies are divided by one factor: positions are interpolated.
    Linear {
        /// The number.
        factor: f64,
    },
    /// The base grows with the sequence once it exceeds the length in training (dynamic NTK). The length is the largest
    /// position of a call plus one, so the elements of a cached sequence may have been rotated differently, as in
    /// transformers.
    Dynamic {
        /// The factor by which sequences may become longer.
        factor: f64,
        /// The sequence length in training, which transformers stores next to the scaling.
        max_position_embeddings: usize,
    },
    /// Low frequencies are divided, high ones stay, those in between are blended, and cosine and sine are scaled.
    ///
    /// Source: Peng et al., *YaRN: Efficient Context Window Extension of Large Language Models* (2023).
    Yarn {
        /// The divisor of low frequencies.
        factor: f64,
        /// The sequence length in training.
        original_max_position_embeddings: usize,
        /// The factor of cosine and sine; if absent, it follows from `factor`, `mscale` and `mscale_all_dim`.
        #[serde(default)]
        attention_factor: Option<f64>,
        /// Frequencies with more rotations than this in a training sequence stay.
        #[serde(default = "beta_fast")]
        beta_fast: f64,
        /// Frequencies with fewer rotations than this in a training sequence are divided.
        #[serde(default = "beta_slow")]
        beta_slow: f64,
        /// The weight of the logarithm of `factor` in the factor of cosine and sine.
        #[serde(default)]
        mscale: Option<f64>,
        /// The weight in the divisor of that factor.
        #[serde(default)]
        mscale_all_dim: Option<f64>,
        /// Whether the bounds of the blended frequencies are rounded to integers.
        #[serde(default = "truncate")]
        truncate: bool,
    },
    /// Low frequencies are divided, high ones stay, those in between are blended: as in Llama 3.1.
    Llama3 {
        /// The divisor of low frequencies.
        factor: f64,
        /// Frequencies whose wavelength exceeds `original_max_position_embeddings` divided by this are low.
        low_freq_factor: f64,
        /// Frequencies whose wavelength is below `original_max_position_embeddings` divided by this are high.
        high_freq_factor: f64,
        /// The sequence length in training.
        original_max_position_embeddings: usize,
    },
}

const fn beta_fast() -> f64 {
    32.0
}

const fn beta_slow() -> f64 {
    1.0
}

const fn truncate() -> bool {
    true
}

const NAME: &str = "RotaryEmbedding";

impl RotaryScaling {
    /// [`Yarn`](Self::Yarn) with the values of its paper.
    pub const fn yarn(factor: f64, original_max_position_embeddings: usize) -> Self {
        Self::Yarn {
            factor,
            original_max_position_embeddings,
            attention_factor: None,
            beta_fast: beta_fast(),
            beta_slow: beta_slow(),
            mscale: None,
            mscale_all_dim: None,
            truncate: truncate(),
        }
    }

    pub(super) fn check(&self, rotary_dim: usize) -> Result<()> {
        const LENGTH: &str = "original_max_position_embeddings";
        let positive =
            |name, value| check_between(NAME, name, value, [f64::MIN_POSITIVE, f64::MAX]);
        match *self {
            Self::Default => Ok(()),
            Self::Linear { factor } => positive("factor", factor),
            Self::Dynamic {
                factor,
                max_position_embeddings: length,
            } => {
                check_between(NAME, "factor", factor, [1.0, f64::MAX])?;
                check_positive(NAME, "max_position_embeddings", length)?;
                if rotary_dim > 2 {
                    return Ok(());
                }
                let problem = "must be more than 2 with dynamic scaling";
                Err(Error::argument(NAME, "rotary_dim", rotary_dim, problem))
            }
            Self::Yarn {
                factor,
                original_max_position_embeddings: length,
                attention_factor,
                beta_fast,
                beta_slow,
                ..
            } => {
                positive("factor", factor)?;
                check_positive(NAME, LENGTH, length)?;
                positive("attention_factor", attention_factor.unwrap_or(1.0))?;
                positive("beta_fast", beta_fast)?;
                positive("beta_slow", beta_slow)
            }
            Self::Llama3 {
                factor,
                low_freq_factor: low,
                high_freq_factor: high,
                original_max_position_embeddings: length,
            } => {
                positive("factor", factor)?;
                positive("low_freq_factor", low)?;
                positive("high_freq_factor", high)?;
                check_positive(NAME, LENGTH, length)?;
                if low < high {
                    return Ok(());
                }
                let problem = format!("must be less than high_freq_factor = {high}");
                Err(Error::argument(NAME, "low_freq_factor", low, problem))
            }
        }
    }

    /// The length beyond which the frequencies depend on the sequence length, if they do.
    pub(super) const fn depends_beyond(&self) -> Option<usize> {
        match *self {
            Self::Dynamic {
                max_position_embeddings,
                ..
            } => Some(max_position_embeddings),
            _ => None,
        }
    }

    /// The factor of cosine and sine.
    pub(super) fn attention_factor(&self) -> f64 {
        let Self::Yarn {
            factor,
            attention_factor,
            mscale,
            mscale_all_dim,
            ..
        } = *self
        else {
            return 1.0;
        };
        let of = |mscale: f64| match factor <= 1.0 {
            true => 1.0,
            false => 0.1 * mscale * factor.ln() + 1.0,
        };
        let is_given = |mscale: &f64| *mscale != 0.0;
        let both = mscale.filter(is_given).zip(mscale_all_dim.filter(is_given));
        attention_factor.unwrap_or_else(|| match both {
            Some((mscale, all)) => of(mscale) / of(all),
            None => of(1.0),
        })
    }

    /// The frequencies of `dim / 2` pairs, for sequences of this length.
    pub(super) fn frequencies(&self, base: f64, dim: usize, length: usize) -> Result<Vec<f64>> {
        let base = match *self {
            Self::Dynamic {
                factor,
                max_position_embeddings: most,
            } if length > most => {
                let grown = factor * length as f64 / most as f64 - (factor - 1.0);
                base * grown.powf(dim as f64 / (dim as f64 - 2.0))
            }
            _ => base,
        };
        let (blend, mut all) = (self.blended(base, dim), Vec::new());
        if all.try_reserve_exact(dim / 2).is_err() {
            let (op, shape) = (NAME, (dim / 2).into());
            return Err(ShapeError::TooLarge { op, shape }.into());
        }
        all.extend((0..dim / 2).map(|i| {
            let frequency = base.powf(-2.0 * i as f64 / dim as f64);
            self.scale(frequency, i, blend)
        }));
        Ok(all)
    }

    /// The range of pairs in which YaRN blends the frequencies.
    fn blended(&self, base: f64, dim: usize) -> [f64; 2] {
        let Self::Yarn {
            original_max_position_embeddings: length,
            beta_fast,
            beta_slow,
            truncate,
            ..
        } = *self
        else {
            return [0.0, 1.0];
        };
        let pair =
            |turns: f64| dim as f64 * (length as f64 / (turns * TAU)).ln() / (2.0 * base.ln());
        let [low, high] = match (pair(beta_fast), pair(beta_slow)) {
            (low, high) if truncate => [low.floor(), high.ceil()],
            (low, high) => [low, high],
        };
        let (low, high) = (low.max(0.0), high.min(dim as f64 - 1.0));
        [low, if low == high { high + 0.001 } else { high }]
    }

    fn scale(&self, frequency: f64, pair: usize, [low_pair, high_pair]: [f64; 2]) -> f64 {
        match *self {
            Self::Default | Self::Dynamic { .. } => frequency,
            Self::Linear { factor } => frequency / factor,
            Self::Yarn { factor, .. } => {
                let divided = ((pair as f64 - low_pair) / (high_pair - low_pair)).clamp(0.0, 1.0);
                divided * frequency / factor + (1.0 - divided) * frequency
            }
            Self::Llama3 {
                factor,
                low_freq_factor: low,
                high_freq_factor: high,
                original_max_position_embeddings: length,
            } => {
                let waves = length as f64 * frequency / TAU;
                let kept = ((waves - low) / (high - low)).clamp(0.0, 1.0);
                kept * frequency + (1.0 - kept) * frequency / factor
            }
        }
    }
}
