//! Adapters combined from others.

use std::sync::Arc;

use module_core::{Error, IndexMap, Maybe, Module, Parameter, Result, Tensor, no_grad};

use super::adapters::{Adaptable, AdapterState, Held};
use super::add::{check_name, install};
use super::config::LoraConfig;
use super::error::LoraError;
use super::find::{adapted, check_exclusive, each_mut};
use super::fresh::insert_factors;
use super::parts::{AdapterDropout, SavedCopy};
use super::patterns::exact;
use super::switch::{adapter_config, check_names, check_unmerged};

const OP: &str = "add_weighted_adapter";

/// How adapters are combined: PEFT's `combination_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combination {
    /// Sums of the factors, each times the square root of its weight and scale. All must have the same rank. It is not the
    /// sum of the adapters' contributions.
    #[default]
    Linear,
    /// Concatenated factors: the weighted sum of the adapters' contributions. The ranks add up.
    Cat,
}

/// Combines adapters into a new one, each with a weight, which may be negative, and returns the paths of its layers. It
/// becomes active when [`set_adapter`](super::set_adapter) names it.
///
/// # Errors
///
/// No adapter, names that no adapter has, a name that already exists, merged adapters, adapters with DoRA, different ranks
/// if the factors are added, several copies of one layer, a convolution with groups. Then nothing is changed.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, Combination, InitLoraWeights, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut layer = LinearConfig::new(4, 2).bias(false).build()?;
/// let config = LoraConfig::new().init_lora_weights(InitLoraWeights::Random);
/// lora::add_adapter(&mut layer, "a", "", &config.clone().r(2))?;
/// lora::add_adapter(&mut layer, "b", "", &config.r(3))?;
/// lora::add_weighted_adapter(&mut layer, &[("a", 0.5), ("b", -1.0)], "both", Combination::Cat)?;
/// assert_eq!(layer.get_parameter("lora_A.both.weight")?.shape().to_string(), "[5, 4]");
/// lora::set_adapter(&layer, ["both"])?;
/// # Ok::<(), Error>(())
/// ```
pub fn add_weighted_adapter<M: Module + ?Sized>(
    model: &mut M,
    adapters: &[(&str, f64)],
    name: &str,
    combination: Combination,
) -> Result<Vec<String>> {
    add(model.as_module_mut(), adapters, name, combination)
}

fn add(
    model: &mut dyn Module,
    adapters: &[(&str, f64)],
    name: &str,
    combination: Combination,
) -> Result<Vec<String>> {
    let Some((first, _)) = adapters.first() else {
        return Err(Error::argument(
            OP,
            "adapters",
            "[]",
            "must name one at least",
        ));
    };
    check_names(OP, model, adapters.iter().map(|(name, _)| *name))?;
    check_unmerged(OP, model)?;
    check_name(model, name)?;
    for (_, weight) in adapters {
        if !weight.is_finite() {
            return Err(Error::argument(OP, "weight", weight, "must be finite"));
        }
    }
    let mut made: IndexMap<String, Held> = IndexMap::new();
    let mut ranks: IndexMap<String, usize> = IndexMap::new();
    for (path, place) in adapted(model) {
        let Some(held) = place.held() else {
            continue;
        };
        let combined =
            no_grad(|| combine(&path, place.adaptable(), held, adapters, name, combination))?;
        if let Some((held, r)) = combined {
            ranks.extend(r.map(|r| (path.clone(), r)));
            made.insert(path, held);
        }
    }
    let paths: Vec<String> = made.keys().cloned().collect();
    check_exclusive(model, paths.iter().map(String::as_str))?;
    let config = Arc::new(config_of(adapter_config(model, first)?, &ranks));
    each_mut(model, &mut |path, layer| {
        if let Some(held) = made.shift_remove(path) {
            install(
                layer,
                name,
                held,
                AdapterState::new(config.clone(), 1.0, false),
            );
        }
    });
    Ok(paths)
}

/// The configuration that gives each layer its rank and a scale of 1.
fn config_of(first: LoraConfig, ranks: &IndexMap<String, usize>) -> LoraConfig {
    let r = ranks.values().copied().max().unwrap_or(first.r);
    let others = ranks.iter().filter(|(_, own)| **own != r);
    let others = others.map(|(path, own)| (exact(path), *own));
    let others: Vec<(String, usize)> = others.collect();
    LoraConfig {
        r,
        lora_alpha: r.into(),
        use_rslora: false,
        alpha_pattern: others
            .iter()
            .map(|(path, own)| (path.clone(), (*own).into()))
            .collect(),
        rank_pattern: others.into_iter().collect(),
        ..first
    }
}

/// The combination for one layer, with its rank, if the layer has any of the adapters.
fn combine(
    path: &str,
    adaptable: Adaptable,
    held: &Held,
    adapters: &[(&str, f64)],
    name: &str,
    combination: Combination,
) -> Result<Option<(Held, Option<usize>)>> {
    let present = adapters
        .iter()
        .filter(|(name, _)| held.states.contains_key(*name));
    let present: Vec<(&str, f64)> = present.copied().collect();
    let refused = |reason: String| {
        let (op, path) = (OP, path.to_owned());
        let adapters = present.iter().map(|(name, _)| (*name).to_owned()).collect();
        Err(LoraError::Together {
            op,
            path,
            adapters,
            reason,
        }
        .into())
    };
    let mut made = Held::default();
    let copies = present.iter().filter_map(|(name, _)| held.saved.get(*name));
    match copies.collect::<Vec<_>>().as_slice() {
        [] => {}
        [copy] => {
            let copy = SavedCopy {
                kind: copy.kind,
                weight: Parameter::new(copy.weight.detach())?,
                bias: Maybe::when(copy.bias.is_present(), || {
                    Parameter::new(copy.bias.get().unwrap_or(&copy.weight).detach())
                })?,
            };
            made.saved.insert(name.to_owned(), copy);
            return Ok(Some((made, None)));
        }
        _ => return refused("each has a copy of the layer, and copies cannot be added".to_owned()),
    }
    if present
        .iter()
        .any(|(name, _)| held.magnitude.contains_key(*name))
    {
        return refused("DoRA's magnitudes cannot be added".to_owned());
    }
    if let Adaptable::Conv { groups } = adaptable
        && groups > 1
    {
        return refused(format!("factors of {groups} groups cannot be joined"));
    }
    let (mut all_a, mut all_b) = (Vec::new(), Vec::new());
    for (adapter, weight) in &present {
        let Some((a, b)) = factors(held, adapter) else {
            continue;
        };
        let scale = held.states.get(*adapter).map_or(1.0, AdapterState::scale);
        let weight = weight * scale;
        // The sign goes to one factor only.
        let [of_a, of_b] = match combination {
            Combination::Linear => [weight.abs().sqrt() * weight.signum(), weight.abs().sqrt()],
            Combination::Cat => [weight, 1.0],
        };
        all_a.push(a.mul(of_a)?);
        all_b.push(b.mul(of_b)?);
    }
    if all_a.is_empty() {
        return Ok(None);
    }
    let (a, b) = match combination {
        Combination::Cat => {
            let [a, b]: [Vec<&Tensor>; 2] = [all_a.iter().collect(), all_b.iter().collect()];
            (Tensor::cat(&a, 0)?, Tensor::cat(&b, 1)?)
        }
        Combination::Linear => {
            let ranks: Vec<usize> = all_a
                .iter()
                .map(|a| a.shape().first().copied().unwrap_or(0))
                .collect();
            if ranks.iter().any(|r| *r != ranks[0]) {
                return refused(format!(
                    "their ranks are {ranks:?}; take `Combination::Cat`"
                ));
            }
            (sum(&all_a)?, sum(&all_b)?)
        }
    };
    let r = a.size(0)?;
    let [a, b] = [Parameter::new(a)?, Parameter::new(b)?];
    match adaptable {
        Adaptable::Embedding => {
            made.embedding_a.insert(name.to_owned(), a);
            made.embedding_b.insert(name.to_owned(), b);
        }
        _ => insert_factors(&mut made, name, adaptable, [a, b]),
    }
    let dropout = present.iter().find_map(|(name, _)| held.dropout.get(*name));
    if let Some(dropout) = dropout {
        let training = module_core::Training::new();
        training.set(dropout.training.is_training());
        let dropout = AdapterDropout {
            p: dropout.p,
            training,
        };
        made.dropout.insert(name.to_owned(), dropout);
    }
    Ok(Some((made, Some(r))))
}

fn factors(held: &Held, name: &str) -> Option<(Tensor, Tensor)> {
    let factors = held.a.get(name).zip(held.b.get(name));
    let factors = factors.map(|(a, b)| (a.weight.detach(), b.weight.detach()));
    let tables = held.embedding_a.get(name).zip(held.embedding_b.get(name));
    factors.or_else(|| tables.map(|(a, b)| (a.detach(), b.detach())))
}

fn sum(tensors: &[Tensor]) -> Result<Tensor> {
    let mut all = tensors.iter();
    let first = all
        .next()
        .cloned()
        .map_or_else(|| Tensor::zeros(0, ()), Ok)?;
    all.try_fold(first, |sum, next| sum.add(next))
}
