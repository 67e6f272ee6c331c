use module_core::{Module, Result, Select};

use super::super::adapters::Adaptable;
use super::super::config::LoraConfig;
use super::super::find::{Found, find, join};
use super::super::patterns::{Patterns, exact};
use super::error::PeftError;
use super::names::{LayerIndex, Rule, TargetModules, names_end};

/// PEFT's `adapter_config.json`: which layers are adapted, and how.
///
/// It reads and writes the fields below and those of [`LoraConfig`]. As for the others, `peft_type` must be `LORA`;
/// `auto_mapping`, `peft_version`, `megatron_core`, `runtime_config` and, if `use_qalora` is false, `qalora_group_size` are
/// ignored, because no output depends on them; any other field, known to PEFT now or later, must be null, false or empty.
/// `fan_in_fan_out` is kept but has no effect: it describes how the adapted weight is stored, not the adapter. Adapters
/// that were initialized with `eva` or `orthogonal` are read as default ones, because their values are in the file, and the
/// weights that they adapt are unchanged.
///
/// # Example
///
/// ```
/// use module_nn::lora::{LoraConfig, PeftConfig};
///
/// let json = r#"{"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj"],
///     "inference_mode": true, "use_qalora": false}"#;
/// let config = PeftConfig::from_json(json)?;
/// assert_eq!(config, PeftConfig::new(["q_proj"], LoraConfig::new().r(4)));
///
/// let error = PeftConfig::from_json(&json.replace("qalora\": false", "qalora\": true")).unwrap_err();
/// assert!(error.to_string().contains("`use_qalora` is true"));
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PeftConfig {
    /// How the layers are adapted.
    pub lora: LoraConfig,
    /// Which layers are adapted.
    pub target_modules: TargetModules,
    /// Which weights of recurrent layers are adapted: paths, or ends of paths after a dot, such as `lstm.weight_hh_l0`.
    pub target_parameters: Vec<String>,
    /// Which layers are excluded.
    pub exclude_modules: Option<TargetModules>,
    /// The indices of the layers in which layers are adapted; empty means all. Layers that `target_modules` names by their
    /// full paths are adapted anyway.
    pub layers_to_transform: Vec<usize>,
    /// Expressions for the name before such an index; empty means any name that is not the first of the path.
    pub layers_pattern: Vec<String>,
    /// The model that the adapter is for.
    pub base_model_name_or_path: Option<String>,
    /// The version of that model.
    pub revision: Option<String>,
    /// The task of the model, such as `CAUSAL_LM`.
    pub task_type: Option<String>,
    /// Whether PEFT reads the adapter without training it.
    pub inference_mode: bool,
    /// Whether the weights are stored as `[in_features, out_features]`; for PEFT only.
    pub fan_in_fan_out: bool,
}

impl PeftConfig {
    /// An adapter for these layers: `["q_proj", "v_proj"]`, an expression, or `"all-linear"`.
    pub fn new(target_modules: impl Into<TargetModules>, lora: LoraConfig) -> Self {
        Self {
            lora,
            target_modules: target_modules.into(),
            target_parameters: Vec::new(),
            exclude_modules: None,
            layers_to_transform: Vec::new(),
            layers_pattern: Vec::new(),
            base_model_name_or_path: None,
            revision: None,
            task_type: None,
            inference_mode: true,
            fan_in_fan_out: false,
        }
    }

    /// The layers of a model that are adapted: the selection for [`add_adapter`](super::super::add_adapter).
    ///
    /// A name in `target_modules` means the module with this path and all whose path ends with a dot and the name; an
    /// expression means those whose full path it matches; `all-linear` means all [`Linear`](crate::Linear) layers. PEFT
    /// leaves the output head out of `all-linear` only in models of Hugging Face's `PreTrainedModel`, which declare it;
    /// exclude it with `exclude_modules`. Modules that are saved as a whole, and everything in them, are not adapted.
    /// Weights of recurrent layers are selected by `target_parameters`.
    ///
    /// # Errors
    ///
    /// A malformed expression, a parameter in `target_parameters` that belongs to no recurrent layer, no selected module.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::lora::{self, LoraConfig, PeftConfig};
    /// use module_nn::prelude::*;
    ///
    /// #[derive(Module)]
    /// struct Net {
    ///     hidden: Linear,
    ///     head: Linear,
    /// }
    ///
    /// let mut net = Net { hidden: Linear::new(4, 8)?, head: Linear::new(8, 2)? };
    /// let mut config = PeftConfig::new("all-linear", LoraConfig::new());
    /// config.exclude_modules = Some(["head"].into());
    /// let select = config.select(&net)?;
    /// let report = lora::add_adapter(&mut net, "default", select, &config.lora)?;
    /// assert_eq!(report.matched, ["hidden"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn select<M: Module + ?Sized>(&self, model: &M) -> Result<Select> {
        let paths = self.paths(model.as_module(), "")?;
        Ok(paths.into_iter().map(Select::path).collect())
    }

    /// The paths of the adapted layers, in a model whose paths follow a prefix in PEFT's.
    pub(super) fn paths(&self, model: &dyn Module, prefix: &str) -> Result<Vec<String>> {
        let matcher = Matcher::new(self)?;
        let found = find(model);
        self.check_parameters(&found, prefix)?;
        let found = found.into_iter().filter(|found| {
            let path = format!("{prefix}{}", found.path);
            match found.is_weight() {
                true => names_end(&self.target_parameters, &path),
                false => matcher.matches(&path, found.place.map(|place| place.adaptable())),
            }
        });
        let paths: Vec<String> = found.map(|found| found.path).collect();
        if paths.is_empty() {
            let value = serde_json::to_string(&self.target_modules).unwrap_or_default();
            let problem = "no module of the model is meant; give names of its layers, as `q_proj`, or another prefix";
            return Err(PeftError::field("target_modules", value, problem));
        }
        Ok(paths)
    }

    /// Refuses parameters that PEFT would adapt by `target_parameters`, but that cannot be adapted separately here.
    fn check_parameters(&self, found: &[Found<'_>], prefix: &str) -> Result<()> {
        let is_weight = |path: &str| {
            found
                .iter()
                .any(|other| other.is_weight() && other.path == path)
        };
        for Found {
            path, parameters, ..
        } in found
        {
            for (name, _) in parameters {
                let path = join(path, name);
                let is_meant = names_end(&self.target_parameters, &format!("{prefix}{path}"));
                if is_meant && !is_weight(&path) {
                    let problem = "only weights of recurrent layers are adapted by themselves; name other layers in \
                                   `target_modules`";
                    return Err(PeftError::field(
                        "target_parameters",
                        format!("`{path}`"),
                        problem,
                    ));
                }
            }
        }
        Ok(())
    }

    /// The configuration for a model with different paths: `rename` maps one of our paths to the one that the patterns now
    /// match and the one that they should match. If the two are equal the patterns stay.
    pub(super) fn lora_of(
        &self,
        paths: &[String],
        rename: impl Fn(&str) -> (String, String),
    ) -> LoraConfig {
        fn renamed_patterns<T: Copy>(
            patterns: &Patterns<T>,
            renamed: &[(String, String)],
        ) -> Patterns<T> {
            let value = |(from, to): &(String, String)| Some((exact(to), *patterns.of(from)?));
            renamed.iter().filter_map(value).collect()
        }
        let mut lora = self.lora.clone();
        let renamed: Vec<(String, String)> = paths.iter().map(|path| rename(path)).collect();
        if renamed.iter().any(|(from, to)| from != to) {
            lora.rank_pattern = renamed_patterns(&lora.rank_pattern, &renamed);
            lora.alpha_pattern = renamed_patterns(&lora.alpha_pattern, &renamed);
        }
        lora
    }
}

/// The rules of a configuration for one path.
struct Matcher<'a> {
    config: &'a PeftConfig,
    targets: Rule<'a>,
    excluded: Option<Rule<'a>>,
    saved: Vec<Select>,
    layer: LayerIndex,
}

impl<'a> Matcher<'a> {
    fn new(config: &'a PeftConfig) -> Result<Self> {
        let excluded = config.exclude_modules.as_ref().map(Rule::new);
        let saved = config.lora.modules_to_save.iter();
        let saved = saved.map(|name| Select::regex(&format!(r"^(?:.*\.)?(?:{name})(?:$|\..*)")));
        Ok(Self {
            config,
            targets: Rule::new(&config.target_modules)?,
            excluded: excluded.transpose()?,
            saved: saved.collect::<Result<_>>()?,
            layer: LayerIndex::new(&config.layers_pattern)?,
        })
    }

    fn matches(&self, path: &str, place: Option<Adaptable>) -> bool {
        let excluded = self.excluded.as_ref();
        if excluded.is_some_and(|excluded| excluded.matches(path))
            || self.saved.iter().any(|saved| saved.matches(path))
        {
            return false;
        }
        if self.config.target_modules.is_all_linear() {
            return matches!(place, Some(Adaptable::Linear | Adaptable::TransposedLinear));
        }
        let layers = &self.config.layers_to_transform;
        let in_layers = || {
            self.layer
                .of(path)
                .is_some_and(|layer| layers.contains(&layer))
        };
        self.targets.matches(path)
            && (layers.is_empty() || self.targets.is_exact(path) || in_layers())
    }
}
