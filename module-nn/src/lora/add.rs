use std::fmt;
use std::sync::Arc;

use module_core::error::quote;
use module_core::{
    Error, IndexMap, Maybe, Module, ModuleError, ModuleExt, Parameter, Result, Select, Tensor,
};

use super::adapters::{Adaptable, AdapterState, Adapters, Held};
use super::base::{bias_trainer, freeze_base, trained_biases};
use super::config::{LoraBias, LoraConfig};
use super::error::LoraError;
use super::find::{Found, check_exclusive, each_mut, find, is_within, join};
use super::fresh::{Fresh, check, fresh};
use super::parts::SavedCopy;
use super::saved::{saved_layers, saved_roots};
use super::tied::check_untied;

/// The layers that [`add_adapter`] adapted.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig, LoraReport};
/// use module_nn::prelude::*;
///
/// let mut model = [Linear::new(8, 8)?, Linear::new(8, 2)?];
/// let config = LoraConfig::new().r(2).modules_to_save(["1".to_owned()]);
/// let report: LoraReport = lora::add_adapter(&mut model, "default", "0", &config)?;
/// assert_eq!((report.matched.join(" "), report.saved.join(" ")), ("0".to_owned(), "1".to_owned()));
/// let text = "trainable params: 50 || all params: 140 || trainable%: 35.7143";
/// assert_eq!(report.to_string().lines().next(), Some(text));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoraReport {
    /// The paths of the layers that have the adapter, and of the weights of recurrent layers.
    pub matched: Vec<String>,
    /// The paths of the layers whose copies are trained, for `modules_to_save`.
    pub saved: Vec<String>,
    /// The number of elements that are now trained.
    pub trainable: usize,
    /// The number of elements of all parameters, including the adapters'.
    pub total: usize,
}

impl fmt::Display for LoraReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            matched,
            saved,
            trainable,
            total,
        } = self;
        let percent = 100.0 * *trainable as f64 / (*total).max(1) as f64;
        writeln!(
            f,
            "trainable params: {trainable} || all params: {total} || trainable%: {percent:.4}"
        )?;
        writeln!(f, "adapted: {}", matched.join(", "))?;
        match saved.is_empty() {
            true => Ok(()),
            false => writeln!(f, "saved as a whole: {}", saved.join(", ")),
        }
    }
}

/// Adds an adapter to the selected layers and freezes everything else: LoRA.
///
/// A layer computes `y = W·x + b + scale · B·A·dropout(x)`, where only `A` `[r, in_features]` and `B` `[out_features, r]`
/// are trained. Linear layers, convolutions, embeddings, attention and recurrent layers can have adapters, wherever they
/// are in a model. In an attention layer, the projections of queries, keys and values are one weight without dropout;
/// `out_proj` is adapted with it, and its part is added twice, as in PEFT. In a recurrent layer or cell, `scale · B·A` is
/// added to each weight, or to those selected by their own paths: `"lstm.weight_hh_l0"`.
///
/// The selection refers to the paths of modules: `"**.query"`. The first adapter is used and trained at once, a later one
/// after [`set_adapter`](super::set_adapter). All other parameters and running statistics are frozen, except the biases
/// that the configuration names. The factors are drawn from the default generator, bit for bit as in PEFT.
///
/// Source: Hu et al., *LoRA: low-rank adaptation of large language models* (2021).
///
/// # Errors
///
/// A selection that matches nothing, with the nearest name; a match that cannot be adapted, with its type; a name that
/// already exists or is not a valid key; arguments out of range; a pattern of ranks or scales that matches no selected
/// layer; a second adapter that trains biases; a layer behind a shared `Arc`. Then nothing is changed.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// #[derive(Module)]
/// struct Net {
///     query: Linear,
///     head: Linear,
/// }
///
/// let mut net = Net { query: Linear::new(8, 8)?, head: Linear::new(8, 2)? };
/// let report = lora::add_adapter(&mut net, "default", "query", &LoraConfig::new().r(2))?;
/// assert_eq!(report.matched, ["query"]);
/// assert_eq!(report.trainable, 2 * 8 + 8 * 2);
/// let keys = net.state_dict()?;
/// assert_eq!(keys.keys().filter(|key| key.starts_with("query")).collect::<Vec<_>>(), [
///     "query.weight",
///     "query.bias",
///     "query.lora_A.default.weight",
///     "query.lora_B.default.weight",
/// ]);
/// let error = lora::add_adapter(&mut net, "other", "qury", &LoraConfig::new()).unwrap_err();
/// assert_eq!(error.to_string(), "`qury` selects nothing; did you mean `query`?");
/// # Ok::<(), Error>(())
/// ```
pub fn add_adapter<M: Module + ?Sized>(
    model: &mut M,
    name: &str,
    select: impl Into<Select>,
    config: &LoraConfig,
) -> Result<LoraReport> {
    let check_patterns = |_: &dyn Module, plan: &Plan, _: &Layers| {
        config.check_matches(&plan.matched)?;
        Ok(Vec::new())
    };
    add_filled(
        model.as_module_mut(),
        name,
        &select.into(),
        config,
        &check_patterns,
    )
}

/// Adds an adapter whose values `fill` sets before the model is changed; `fill` returns values for the model's own
/// parameters. Compiled once, because there are many models.
pub(super) fn add_filled(
    model: &mut dyn Module,
    name: &str,
    select: &Select,
    config: &LoraConfig,
    fill: &dyn Fn(&dyn Module, &Plan, &Layers) -> Result<Values>,
) -> Result<LoraReport> {
    check_name(model, name)?;
    config.check()?;
    let kept = check_biases(model, config.bias)?;
    let plan = Plan::of(model, select, config)?;
    let changed = plan.matched.iter().chain(&plan.saved);
    check_exclusive(model, changed.map(String::as_str))?;
    let (layers, mut weights) = make(model, name, &plan.matched, &plan.saved, config)?;
    weights.extend(fill(model, &plan, &layers)?);
    let Plan { matched, saved } = plan;
    let trained = trained_biases(model, &matched, config.bias);
    freeze_base(model, &trained, &kept)?;
    for (path, weight) in weights {
        model.get_parameter(&path)?.set(weight)?;
    }
    let first = find(model)
        .iter()
        .all(|found| found.place.is_none_or(|place| place.adapters.is_empty()));
    let shared_config = Arc::new(config.clone());
    let mut layers = layers;
    each_mut(model, &mut |path, adapters| {
        if let Some(fresh) = layers.shift_remove(path) {
            let state = AdapterState::new(shared_config.clone(), fresh.scale, first);
            install(adapters, name, fresh.held, state);
        }
    });
    Ok(LoraReport {
        matched,
        saved,
        trainable: model.num_trainable(),
        total: model.num_parameters(),
    })
}

/// The biases that are trained with another adapter; a second adapter that trains biases is refused.
fn check_biases(model: &dyn Module, bias: LoraBias) -> Result<Vec<String>> {
    match bias_trainer(model) {
        Some((other, _)) if bias != LoraBias::None => {
            let problem = format!(
                "must be none, because `{}` trains biases already, which are the model's own and not an adapter's",
                quote(&other)
            );
            Err(Error::argument("add_adapter", "bias", bias, problem))
        }
        Some((_, biases)) => Ok(biases),
        None => Ok(Vec::new()),
    }
}

/// Refuses names that are not valid keys or already exist.
pub(super) fn check_name(model: &dyn Module, name: &str) -> Result<()> {
    if name.is_empty() || name.contains('.') {
        let (op, key) = ("add_adapter", name.to_owned());
        return Err(ModuleError::InvalidKey { op, key }.into());
    }
    let held = |found: &Found<'_>| {
        found
            .place
            .and_then(|place| place.held())
            .is_some_and(|held| held.states.contains_key(name))
    };
    match find(model).iter().any(held) {
        true => {
            let adapter = name.to_owned();
            Err(LoraError::Exists { adapter }.into())
        }
        false => Ok(()),
    }
}

/// The layers that get something, in walk order.
pub(super) struct Plan {
    pub(super) matched: Vec<String>,
    pub(super) saved: Vec<String>,
}

impl Plan {
    fn of(model: &dyn Module, select: &Select, config: &LoraConfig) -> Result<Self> {
        let found = find(model);
        let roots = saved_roots(&found, &config.modules_to_save)?;
        let saved = saved_layers(&found, &roots)?;
        let paths = found.iter().map(|found| found.path.as_str());
        let selected = select.resolve_modules(paths)?;
        let within_saved = |path: &str| roots.iter().any(|root| is_within(path, root));
        let layers: Vec<Option<&str>> = found.iter().map(|found| found.layer.as_deref()).collect();
        let mut matched: Vec<String> = Vec::new();
        for Found {
            path,
            module,
            place,
            layer,
            ..
        } in &found
        {
            let projects = place.is_some_and(|place| place.adaptable() == Adaptable::InProjection);
            let is_selected = |path: &String| selected.contains(&path.as_str());
            let is_meant = is_selected(path) || layer.as_ref().is_some_and(is_selected);
            // A layer with several weights stands for all of them.
            if !is_meant || within_saved(path) || layers.contains(&Some(path.as_str())) {
                continue;
            }
            check(path, module.kind(), *place, config)?;
            matched.push(path.clone());
            let out_proj = join(path, "out_proj");
            if projects && !selected.contains(&out_proj.as_str()) {
                matched.push(out_proj);
            }
        }
        if matched.is_empty() {
            return Err(ModuleError::NothingSelected {
                selection: select.to_string(),
                suggestion: None,
                names: Vec::new(),
            }
            .into());
        }
        Ok(Self { matched, saved })
    }
}

pub(super) type Layers = IndexMap<String, Fresh>;

/// New values of the model's own parameters, by their paths.
pub(super) type Values = Vec<(String, Tensor)>;

/// The parameters to add to each layer, and the weights that change.
fn make(
    model: &dyn Module,
    name: &str,
    matched: &[String],
    saved: &[String],
    config: &LoraConfig,
) -> Result<(Layers, Values)> {
    let (mut layers, mut weights) = (Layers::new(), Vec::new());
    let found = find(model);
    let mut modes = found.iter().filter_map(|found| found.training).peekable();
    // A model without a mode counts as training.
    let training = modes.peek().is_none() || modes.any(|training| training);
    // PEFT adapts weights after layers.
    let (weights_of_layers, modules): (Vec<&Found<'_>>, Vec<&Found<'_>>) =
        found.iter().partition(|found| found.is_weight());
    for Found {
        path,
        module,
        place,
        ..
    } in modules.into_iter().chain(weights_of_layers)
    {
        let Some(place) = *place else {
            continue;
        };
        if matched.contains(path) {
            if place.adaptable() == Adaptable::InProjection {
                // PEFT draws the adapter of `out_proj` twice, the first time here.
                let out_proj = join(path, "out_proj");
                let mut inner = found.iter().filter(|found| found.path == out_proj);
                if let Some(place) = inner.find_map(|found| found.place) {
                    fresh(&out_proj, name, place, config, training)?;
                }
            }
            let mut fresh = fresh(path, name, place, config, training)?;
            let is_projection = |other: &Found<'_>| {
                let of = other.place.map(|place| place.adaptable());
                of == Some(Adaptable::InProjection)
                    && matched.contains(&other.path)
                    && *path == join(&other.path, "out_proj")
            };
            if found.iter().any(is_projection) {
                // PEFT adds the contribution of `out_proj` twice, and so did the training of its adapters.
                fresh.scale *= 2.0;
            }
            if let Some(weight) = fresh.weight.take() {
                if let Some(own) = place.weight {
                    check_untied("add_adapter", &found, path, own)?;
                }
                weights.push((join(path, "weight"), weight));
            }
            layers.insert(path.clone(), fresh);
        } else if saved.contains(path)
            && let Some(weight) = place.weight
        {
            let copy = SavedCopy {
                kind: module.kind(),
                weight: Parameter::new(weight.detach())?,
                bias: Maybe::when(place.bias.is_some(), || {
                    Parameter::new(place.bias.unwrap_or(weight).detach())
                })?,
            };
            let mut held = Held::default();
            held.saved.insert(name.to_owned(), copy);
            let (scale, weight) = (1.0, None);
            layers.insert(
                path.clone(),
                Fresh {
                    held,
                    scale,
                    weight,
                },
            );
        }
    }
    Ok((layers, weights))
}

/// Adds an adapter to a layer; an adapter that is not active yet is not trained.
pub(super) fn install(adapters: &mut Adapters, name: &str, fresh: Held, state: AdapterState) {
    let active = state.is_active();
    for parameter in fresh.parameters(name) {
        parameter.set_requires_grad(active);
    }
    let held = adapters.held.get_or_insert_default();
    held.dropout.extend(fresh.dropout);
    held.a.extend(fresh.a);
    held.b.extend(fresh.b);
    held.embedding_a.extend(fresh.embedding_a);
    held.embedding_b.extend(fresh.embedding_b);
    held.magnitude.extend(fresh.magnitude);
    held.saved.extend(fresh.saved);
    held.states.insert(name.to_owned(), state);
}
