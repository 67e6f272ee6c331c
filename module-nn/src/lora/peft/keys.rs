//! The keys of an adapter's tensors in PEFT's files.

use module_core::Parameter;

use super::super::adapters::{Adaptable, Held};
use super::super::config::LoraBias;
use super::super::find::{Found, join};

/// PEFT's prefix of the model's paths.
pub(super) const BASE: &str = "base_model.model.";

/// A tensor of an adapter, in a file and in the model.
pub(super) struct Entry<'a> {
    /// The key that PEFT writes, then others under which the tensor may be found.
    pub(super) keys: Vec<String>,
    pub(super) parameter: &'a Parameter,
    /// The path of the parameter, if it is the model's own.
    pub(super) own: Option<String>,
    /// Whether PEFT always writes it.
    pub(super) required: bool,
}

/// How the paths of a model map to the keys of a file.
pub(super) struct KeyPaths<'a> {
    /// The prefix, with a final dot.
    prefix: &'a str,
    /// The adapted attention layers, which PEFT wraps.
    wrapped: Vec<&'a str>,
    /// The adapted weights of recurrent layers, each with its layer. PEFT wraps the layer once for each, so the last
    /// wrapper is outermost.
    weights: Vec<(&'a str, &'a str)>,
}

impl<'a> KeyPaths<'a> {
    /// Those for adapters of these paths.
    pub(super) fn new(prefix: &'a str, found: &'a [Found<'_>], matched: &[String]) -> Self {
        let adapted = found.iter().filter(|found| matched.contains(&found.path));
        let attention = adapted.clone().filter(|found| {
            let place = found.place.map(|place| place.adaptable());
            place == Some(Adaptable::InProjection)
        });
        let weights =
            adapted.filter_map(|found| Some((found.layer.as_deref()?, found.path.as_str())));
        Self {
            prefix,
            wrapped: attention.map(|found| found.path.as_str()).collect(),
            weights: weights.collect(),
        }
    }

    /// The adapted attention layers.
    pub(super) fn attention_layers(&self) -> &[&'a str] {
        &self.wrapped
    }

    /// The layer of a weight, and how many wrappers are around the weight's own; for any other path, the path itself and
    /// none.
    fn layer_of<'p>(&'p self, path: &'p str) -> (&'p str, usize) {
        let Some(at) = self.weights.iter().position(|(_, weight)| *weight == path) else {
            return (path, 0);
        };
        let (layer, _) = self.weights[at];
        let around = self.weights[at + 1..]
            .iter()
            .filter(|(other, _)| *other == layer);
        (layer, around.count())
    }

    /// How many times a layer is wrapped for its weights.
    fn wrappers(&self, layer: &str) -> usize {
        self.weights
            .iter()
            .filter(|(other, _)| *other == layer)
            .count()
    }

    /// The path of a module in the keys.
    fn of(&self, path: &str) -> String {
        let wrapped = self.wrapped.iter().find_map(|attention| {
            let within = path.strip_prefix(attention)?.strip_prefix('.')?;
            Some(join(attention, &format!("base_layer.{within}")))
        });
        let path = wrapped.unwrap_or_else(|| path.to_owned());
        format!("{BASE}{}{path}", self.prefix)
    }

    /// The tensors that an adapter has in one layer.
    pub(super) fn adapter<'h>(&self, path: &str, name: &str, held: &'h Held) -> Vec<Entry<'h>> {
        let mut entries = Vec::new();
        let (layer, wrappers) = self.layer_of(path);
        let path = format!("{}{}", self.of(layer), ".base_layer".repeat(wrappers));
        let mut push = |keys: &[&str], parameter: Option<&'h Parameter>| {
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
    pub(super) fn biases<'f>(
        &self,
        found: &[Found<'f>],
        bias: LoraBias,
        matched: &[String],
        saved: &[String],
    ) -> Vec<Entry<'f>> {
        let mut entries = Vec::new();
        for layer in found {
            let Found {
                path, parameters, ..
            } = layer;
            let adapted = layer.is_adapted(matched);
            if bias == LoraBias::None || bias == LoraBias::LoraOnly && !adapted {
                continue;
            }
            let at = self.of(path);
            let base = ".base_layer".repeat(self.wrappers(path).max(1));
            for (own, parameter) in parameters {
                let keys = match own.as_str() {
                    "bias" if adapted => vec![format!("{at}.base_layer.bias"), join(&at, "bias")],
                    "bias" if saved.contains(path) => vec![format!("{at}.original_module.bias")],
                    "bias" => vec![join(&at, "bias")],
                    // PEFT's are those called `bias`; ours are trained.
                    _ if !own.contains("bias") => continue,
                    _ if adapted => vec![format!("{at}{base}.{own}")],
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
