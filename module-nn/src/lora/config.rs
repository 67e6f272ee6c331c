use std::fmt;

use module_core::module::Number;
use module_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::patterns::Patterns;
use crate::Argument;
use crate::config::{check_between, check_positive, check_steps, config};

config! {
    /// How layers are adapted: the arguments of PEFT's `LoraConfig`, under its names.
    ///
    /// The layers are selected by an argument of [`add_adapter`](super::add_adapter), not here.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::lora::LoraBias;
    /// use module_nn::lora::{InitLoraWeights, LoraConfig};
    ///
    /// let config = LoraConfig::new().r(4).lora_alpha(16).init_lora_weights(InitLoraWeights::Gaussian);
    /// assert_eq!(config.scaling("encoder.0.query"), (4, 4.0));
    /// let json = serde_json::json!({"r": 4, "lora_alpha": 16, "init_lora_weights": "gaussian"});
    /// assert_eq!(serde_json::from_value::<LoraConfig>(json)?, config);
    ///
    /// // A rank and a scale of their own for some layers, dropout, DoRA, and a head that is trained as a whole.
    /// let config = LoraConfig::new()
    ///     .lora_dropout(0.1)
    ///     .use_dora(true)
    ///     .rank_pattern([("value", 16)])
    ///     .alpha_pattern([("value", 32)])
    ///     .modules_to_save(["head".to_owned()])
    ///     .bias(LoraBias::LoraOnly);
    /// assert_eq!(config.scaling("encoder.0.value"), (16, 2.0));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct LoraConfig {
        optional {
            /// The rank: the number of rows of `A`.
            r: usize = 8,
            /// The numerator of the scale, which is divided by the rank.
            lora_alpha: Number = 8,
            /// The dropout probability of the input of `A` in training.
            lora_dropout: f64 = 0.0,
            /// Whether the scale is divided by the square root of the rank, as in rsLoRA, instead of the rank.
            use_rslora: bool = false,
            /// Whether the magnitudes of the weight's rows are trained separately, as in DoRA.
            use_dora: bool = false,
            /// The initial values of `A` and `B`.
            init_lora_weights: InitLoraWeights = InitLoraWeights::Default,
            /// Which biases of the model are trained too.
            bias: LoraBias = LoraBias::None,
            /// Modules of which a copy is trained and saved with the adapter, by their paths or the ends of these.
            modules_to_save: Vec<String> = Vec::new(),
            /// Other ranks for layers whose path ends with a match of a regular expression; each must match a layer.
            rank_pattern: Patterns<usize> = Patterns::new(),
            /// Other values of `lora_alpha`, like `rank_pattern`.
            alpha_pattern: Patterns<Number> = Patterns::new(),
        }
    }
}

impl LoraConfig {
    /// The rank of the layer at a path, and the scale of the product of `B` and `A`: `alpha / r`, with `use_rslora`
    /// `alpha / √r`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::lora::LoraConfig;
    ///
    /// let config = LoraConfig::new().r(4).lora_alpha(8).rank_pattern([("key", 16)]);
    /// assert_eq!(config.scaling("layers.0.query"), (4, 2.0));
    /// assert_eq!(config.use_rslora(true).scaling("layers.0.key"), (16, 2.0));
    /// ```
    pub fn scaling(&self, path: &str) -> (usize, f64) {
        let r = *self.rank_pattern.of(path).unwrap_or(&self.r);
        let alpha = **self.alpha_pattern.of(path).unwrap_or(&self.lora_alpha);
        let divisor = match self.use_rslora {
            true => (r as f64).sqrt(),
            false => r as f64,
        };
        (r, alpha / divisor)
    }

    /// Refuses arguments with which no layer could be adapted.
    pub(super) fn check(&self) -> Result<()> {
        const NAME: &str = "LoraConfig";
        check_positive(NAME, "r", self.r)?;
        check_between(NAME, "lora_dropout", self.lora_dropout, [0.0, 1.0])?;
        if let InitLoraWeights::PissaNiter(iterations) = self.init_lora_weights {
            check_steps(NAME, "init_lora_weights", iterations)?;
        }
        for (pattern, &r) in self.rank_pattern.iter() {
            if r == 0 {
                let problem = format!("must be above 0, and is 0 for `{pattern}`");
                return Err(Error::argument(NAME, "rank_pattern", r, problem));
            }
        }
        let alphas = self.alpha_pattern.iter().map(|(_, alpha)| **alpha);
        for alpha in alphas.chain([*self.lora_alpha]) {
            if !alpha.is_finite() {
                return Err(Error::argument(NAME, "lora_alpha", alpha, "must be finite"));
            }
        }
        self.rank_pattern.check()?;
        self.alpha_pattern.check()
    }

    /// Refuses patterns that match none of the layers.
    pub(super) fn check_matches(&self, paths: &[String]) -> Result<()> {
        let unmatched = [
            ("rank_pattern", self.rank_pattern.unmatched(paths)),
            ("alpha_pattern", self.alpha_pattern.unmatched(paths)),
        ];
        for (argument, pattern) in unmatched {
            if let Some(pattern) = pattern {
                let problem = "matches the end of no path of the layers that are adapted; see `adaptable_layers`";
                return Err(Error::argument(
                    "add_adapter",
                    argument,
                    format!("`{pattern}`"),
                    problem,
                ));
            }
        }
        Ok(())
    }
}

/// Which biases are trained with an adapter.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraBias, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut model = [Linear::new(4, 4)?, Linear::new(4, 2)?];
/// let config = LoraConfig::new().r(1).bias(LoraBias::LoraOnly);
/// lora::add_adapter(&mut model, "default", "0", &config)?;
/// assert!(model[0].bias().get().unwrap().requires_grad());
/// assert!(!model[1].bias().get().unwrap().requires_grad());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoraBias {
    /// None.
    #[default]
    None,
    /// All of the model, including those of recurrent and attention layers; PEFT trains only parameters that are called
    /// `bias`.
    All,
    /// Those of the adapted layers.
    LoraOnly,
}

impl fmt::Display for LoraBias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::All => "all",
            Self::LoraOnly => "lora_only",
        })
    }
}

/// The initial values of an adapter's factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Given", into = "Given")]
pub enum InitLoraWeights {
    /// `A` like the weight of a new layer, `B` zero; for an embedding, `A` zero and `B` normal. The model's outputs do not
    /// change. PEFT's `True`.
    #[default]
    Default,
    /// `A` normal with the standard deviation `1/r`, `B` zero.
    Gaussian,
    /// The largest singular values of the weight, which is reduced accordingly, so that the outputs stay the same up to
    /// rounding: PiSSA. It needs the feature `linalg`.
    Pissa,
    /// [`Pissa`](Self::Pissa) with approximate largest singular values, computed by this many iterations from a random
    /// basis: faster if the weight is large and the rank small. PEFT's `pissa_niter_4`. PEFT draws another basis when it
    /// reads such an adapter from its files, which changes the outputs; here they are neither read nor written.
    PissaNiter(usize),
    /// Both like the weights of new layers, so that the outputs change at once: PEFT's `False`, for tests.
    Random,
}

impl InitLoraWeights {
    /// For PiSSA, the number of iterations if there is one.
    pub(super) fn pissa(self) -> Option<Option<usize>> {
        match self {
            Self::Pissa => Some(None),
            Self::PissaNiter(iterations) => Some(Some(iterations)),
            Self::Default | Self::Gaussian | Self::Random => None,
        }
    }
}

/// The text before the number of iterations.
const PISSA_NITER: &str = "pissa_niter_";

/// The form in `adapter_config.json`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Given {
    Flag(bool),
    Name(String),
}

impl From<InitLoraWeights> for Given {
    fn from(init: InitLoraWeights) -> Self {
        match init {
            InitLoraWeights::Default => Self::Flag(true),
            InitLoraWeights::Random => Self::Flag(false),
            InitLoraWeights::Gaussian => Self::Name("gaussian".to_owned()),
            InitLoraWeights::Pissa => Self::Name("pissa".to_owned()),
            InitLoraWeights::PissaNiter(n) => Self::Name(format!("{PISSA_NITER}{n}")),
        }
    }
}

impl TryFrom<Given> for InitLoraWeights {
    type Error = String;

    fn try_from(given: Given) -> std::result::Result<Self, String> {
        match given {
            Given::Flag(true) => Ok(Self::Default),
            Given::Flag(false) => Ok(Self::Random),
            Given::Name(name) => match name.to_lowercase().as_str() {
                "gaussian" => Ok(Self::Gaussian),
                "pissa" => Ok(Self::Pissa),
                lower => {
                    let iterations = lower.strip_prefix(PISSA_NITER);
                    let iterations = iterations.and_then(|digits| digits.parse().ok());
                    iterations.map(Self::PissaNiter).ok_or_else(|| {
                        format!(
                            "init_lora_weights = `{name}` is not known; give true, false, `gaussian`, `pissa` or \
                             `pissa_niter_` and a number"
                        )
                    })
                }
            },
        }
    }
}

impl fmt::Display for InitLoraWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Given::from(*self) {
            Given::Flag(flag) => write!(f, "{flag}"),
            Given::Name(name) => f.write_str(&name),
        }
    }
}

impl<const N: usize> Argument<Vec<String>> for [&str; N] {
    fn argument(self) -> Vec<String> {
        self.map(str::to_owned).into()
    }
}
