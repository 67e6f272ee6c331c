//! The fields of `adapter_config.json`.

use std::collections::BTreeMap;

use module_core::Result;
use module_core::module::Number;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::config::{InitLoraWeights, LoraBias, LoraConfig};
use super::super::patterns::Patterns;
use super::config::PeftConfig;
use super::error::PeftError;
use super::names::TargetModules;

/// One value, or several.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// The fields that are read and written, in PEFT's order, which is alphabetical.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Fields {
    alpha_pattern: Option<Patterns<Number>>,
    base_model_name_or_path: Option<String>,
    bias: Option<LoraBias>,
    exclude_modules: Option<TargetModules>,
    fan_in_fan_out: Option<bool>,
    inference_mode: Option<bool>,
    init_lora_weights: Option<Value>,
    layers_pattern: Option<OneOrMany<String>>,
    layers_to_transform: Option<OneOrMany<usize>>,
    lora_alpha: Option<Number>,
    lora_dropout: Option<f64>,
    modules_to_save: Option<Vec<String>>,
    peft_type: Option<String>,
    r: Option<usize>,
    rank_pattern: Option<Patterns<usize>>,
    revision: Option<String>,
    target_modules: Option<TargetModules>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_parameters: Option<Vec<String>>,
    task_type: Option<String>,
    use_dora: Option<bool>,
    use_rslora: Option<bool>,
}

/// The names of these fields.
const KNOWN: [&str; 21] = [
    "alpha_pattern",
    "base_model_name_or_path",
    "bias",
    "exclude_modules",
    "fan_in_fan_out",
    "inference_mode",
    "init_lora_weights",
    "layers_pattern",
    "layers_to_transform",
    "lora_alpha",
    "lora_dropout",
    "modules_to_save",
    "peft_type",
    "r",
    "rank_pattern",
    "revision",
    "target_modules",
    "target_parameters",
    "task_type",
    "use_dora",
    "use_rslora",
];

/// Fields that no output depends on.
const LEFT_OUT: [&str; 5] = [
    "auto_mapping",
    "megatron_core",
    "peft_version",
    "qalora_group_size",
    "runtime_config",
];

/// Refuses unknown fields that have a value.
fn check_rest(fields: &BTreeMap<String, Value>) -> Result<()> {
    for (field, value) in fields {
        if KNOWN.contains(&field.as_str()) || LEFT_OUT.contains(&field.as_str()) {
            continue;
        }
        let neutral = match value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(entries) => entries.is_empty(),
            _ => false,
        };
        if !neutral {
            let problem = "adapters of this kind are not known here; save one without it from PEFT";
            return Err(PeftError::field(field, value, problem));
        }
    }
    Ok(())
}

impl PeftConfig {
    /// Reads the text of an `adapter_config.json`.
    ///
    /// # Errors
    ///
    /// A method other than LoRA, and unknown fields that change the computation ([`PeftError`](super::PeftError) names
    /// them).
    pub fn from_json(json: &str) -> Result<Self> {
        let problem = |error: serde_json::Error| PeftError::Json {
            problem: error.to_string(),
        };
        let fields: Fields = serde_json::from_str(json).map_err(problem)?;
        let rest: BTreeMap<String, Value> = serde_json::from_str(json).map_err(problem)?;
        check_rest(&rest)?;
        fields.into_config()
    }

    /// The text of an `adapter_config.json` that PEFT reads.
    ///
    /// # Errors
    ///
    /// A number that JSON cannot represent.
    pub fn to_json(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(&Fields::of(self));
        let text = text.map_err(|error| PeftError::Json {
            problem: error.to_string(),
        })?;
        Ok(text + "\n")
    }
}

impl Fields {
    fn into_config(self) -> Result<PeftConfig> {
        let kind = self.peft_type.unwrap_or_default();
        if kind != "LORA" {
            let problem = "only adapters of LoRA are read; the type must be `LORA`";
            return Err(PeftError::field("peft_type", format!("`{kind}`"), problem));
        }
        let target_parameters = self.target_parameters.unwrap_or_default();
        let none = || (!target_parameters.is_empty()).then(|| TargetModules::Names(Vec::new()));
        let Some(target_modules) = self.target_modules.or_else(none) else {
            let problem = "an adapter needs names of layers, an expression or `all-linear`";
            return Err(PeftError::field("target_modules", "null", problem));
        };
        let defaults = LoraConfig::new();
        let lora = LoraConfig {
            r: self.r.unwrap_or(defaults.r),
            lora_alpha: self.lora_alpha.unwrap_or(defaults.lora_alpha),
            lora_dropout: self.lora_dropout.unwrap_or(defaults.lora_dropout),
            use_rslora: self.use_rslora.unwrap_or_default(),
            use_dora: self.use_dora.unwrap_or_default(),
            init_lora_weights: read_init(self.init_lora_weights)?,
            bias: self.bias.unwrap_or_default(),
            modules_to_save: self.modules_to_save.unwrap_or_default(),
            rank_pattern: self.rank_pattern.unwrap_or_default(),
            alpha_pattern: self.alpha_pattern.unwrap_or_default(),
        };
        let layers_to_transform = many(self.layers_to_transform);
        let layers_pattern = many(self.layers_pattern);
        check_layers(&target_modules, &layers_to_transform, &layers_pattern)?;
        Ok(PeftConfig {
            lora,
            target_modules,
            target_parameters,
            exclude_modules: self.exclude_modules,
            layers_to_transform,
            layers_pattern,
            base_model_name_or_path: self.base_model_name_or_path,
            revision: self.revision,
            task_type: self.task_type,
            inference_mode: self.inference_mode.unwrap_or_default(),
            fan_in_fan_out: self.fan_in_fan_out.unwrap_or_default(),
        })
    }

    fn of(config: &PeftConfig) -> Self {
        let lora = &config.lora;
        let list = |items: &[String]| Some(items.to_vec()).filter(|items| !items.is_empty());
        let layers = Some(config.layers_to_transform.clone()).filter(|layers| !layers.is_empty());
        Self {
            alpha_pattern: Some(lora.alpha_pattern.clone()),
            base_model_name_or_path: config.base_model_name_or_path.clone(),
            bias: Some(lora.bias),
            exclude_modules: config.exclude_modules.clone(),
            fan_in_fan_out: Some(config.fan_in_fan_out),
            inference_mode: Some(config.inference_mode),
            init_lora_weights: serde_json::to_value(lora.init_lora_weights).ok(),
            layers_pattern: list(&config.layers_pattern).map(OneOrMany::Many),
            layers_to_transform: layers.map(OneOrMany::Many),
            lora_alpha: Some(lora.lora_alpha),
            lora_dropout: Some(lora.lora_dropout),
            modules_to_save: list(&lora.modules_to_save),
            peft_type: Some("LORA".to_owned()),
            r: Some(lora.r),
            rank_pattern: Some(lora.rank_pattern.clone()),
            revision: config.revision.clone(),
            target_modules: Some(config.target_modules.clone()),
            target_parameters: list(&config.target_parameters),
            task_type: config.task_type.clone(),
            use_dora: Some(lora.use_dora),
            use_rslora: Some(lora.use_rslora),
        }
    }
}

fn many<T>(given: Option<OneOrMany<T>>) -> Vec<T> {
    match given {
        None => Vec::new(),
        Some(OneOrMany::One(one)) => vec![one],
        Some(OneOrMany::Many(many)) => many,
    }
}

/// Refuses what PEFT refuses.
fn check_layers(targets: &TargetModules, layers: &[usize], patterns: &[String]) -> Result<()> {
    let refused =
        |field: &str, value: Value, problem: &str| Err(PeftError::field(field, value, problem));
    let by_expression = matches!(targets, TargetModules::Expression(_));
    if by_expression && !layers.is_empty() {
        let problem =
            "it is for `target_modules` that are names; write the numbers into the expression";
        return refused("layers_to_transform", layers.into(), problem);
    }
    if !patterns.is_empty() && layers.is_empty() {
        let problem = "it locates the numbers of `layers_to_transform`; give them too";
        return refused("layers_pattern", patterns.into(), problem);
    }
    Ok(())
}

/// How the adapter was initialized, as far as the adapted weights depend on it.
fn read_init(given: Option<Value>) -> Result<InitLoraWeights> {
    let Some(value) = given else {
        return Ok(InitLoraWeights::Default);
    };
    let name = value.as_str().map(str::to_lowercase);
    if matches!(name.as_deref(), Some("eva" | "orthogonal")) {
        return Ok(InitLoraWeights::Default);
    }
    let init = serde_json::from_value(value.clone()).ok();
    let problem = match init {
        Some(InitLoraWeights::PissaNiter(_)) => {
            "the weights that the adapter is for were drawn, and are not known any more: PEFT itself reads others"
        }
        Some(init) => return Ok(init),
        None => "it changes the weights that the adapter is for, in a way that is not known here",
    };
    let problem = format!(
        "{problem}; convert it in PEFT, by the argument `path_initial_model_for_weight_conversion` of `save_pretrained`"
    );
    Err(PeftError::field("init_lora_weights", &value, &problem))
}
