//! The keys of an adapter's tensors in PEFT's files.

use module_core::Parameter;

use super::super::adapters::Held;
use super::super::config::LoraBias;
use super::super::find::{Found, join};

/// What PEFT puts before the paths of the model.
pub(super) const BASE: &str = "base_model.model.";

/// A tensor of an adapter, in a file and in the model.
pub(super) struct Entry<'a> {
    /// The key that PEFT writes, then others under which it may be found.
    pub(super) keys: Vec<String>,
    pub(super) parameter: &'a Parameter,
    /// The path of the parameter, if it is the model's own.
    pub(super) own: Option<String>,
    /// Whether PEFT always writes it.
    pub(super) required: bool,
}

/// What the paths of a model become in the keys of a file.
pub(super) struct KeyPaths<'a> {
    /// What is before them, with a dot at its end.
    pub(super) prefix: &'a str,
    /// The attention layers that are adapted, which PEFT wraps.
    pub(super) wrapped: Vec<&'a str>,
}

impl KeyPaths<'_> {
    fn of(&self, path: &str) -> String {
        let wrapped = self.wrapped.iter().find_map(|attention| {
            let within = path.strip_prefix(attention)?.strip_prefix('.')?;
            Some(join(attention, &format!("base_layer.{within}")))
        });
        let path = wrapped.unwrap_or_else(|| path.to_owned());
        format!("{BASE}{}{path}", self.prefix)
    }

    /// The tensors that an adapter has in one layer.
    pub(super) fn adapter<'a>(&self, path: &str, name: &str, held: &'a Held) -> Vec<Entry<'a>> {
        let mut entries = Vec::new();
        let path = self.of(path);
        let mut push = |keys: &[&str], parameter: Option<&'a Parameter>| {
            entries.extend(parameter.map(|parameter| Entry {
                keys: keys.iter().map(|key| join(&path, key)).collect(),
                parameter,
                own: None,
                required: true,
            }));
        };
        push(&["lora_A.weight"], held.a.get(name).map(|a| &a.weight));
        push(&["lora_B.weight"], held.b.get(name).map(|b| &b.weight));
        push(&["lora_embedding_A"], held.embedding_a.get(name));
        push(&["lora_embedding_B"], held.embedding_b.get(name));
        push(
            &["lora_magnitude_vector", "lora_magnitude_vector.weight"],
            held.magnitude.get(name).map(|magnitude| &magnitude.weight),
        );
        let saved = held.saved.get(name);
        push(
            &["weight", "modules_to_save.weight"],
            saved.map(|copy| &copy.weight),
        );
        // With `bias="all"` PEFT writes it a second time.
        push(
            &["bias", "modules_to_save.bias"],
            saved.and_then(|copy| copy.bias.get()),
        );
        entries
    }

    /// The model's own biases that are trained with an adapter of these layers.
    pub(super) fn biases<'a>(
        &self,
        found: &[Found<'a>],
        bias: LoraBias,
        matched: &[String],
        saved: &[String],
    ) -> Vec<Entry<'a>> {
        let mut entries = Vec::new();
        for Found {
            path, parameters, ..
        } in found
        {
            let adapted = matched.contains(path);
            if bias == LoraBias::None || bias == LoraBias::LoraOnly && !adapted {
                continue;
            }
            let at = self.of(path);
            for (own, parameter) in parameters {
                let keys = match own.as_str() {
                    "bias" if adapted => vec![format!("{at}.base_layer.bias"), join(&at, "bias")],
                    "bias" if saved.contains(path) => vec![format!("{at}.original_module.bias")],
                    "bias" => vec![join(&at, "bias")],
                    // PEFT's are those called `bias`; ours are trained.
                    _ if !own.contains("bias") => continue,
                    _ if adapted => vec![format!("{at}.base_layer.{own}")],
                    _ => vec![join(&at, own)],
                };
                let required = own == "bias" && !saved.contains(path);
                let own = Some(join(path, own));
                entries.push(Entry {
                    keys,
                    parameter,
                    own,
                    required,
                });
            }
        }
        entries
    }
}
