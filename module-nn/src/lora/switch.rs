//! Which adapters are active in a model.

use std::sync::atomic::{AtomicUsize, Ordering};

use module_core::{Error, Module, Result};

use super::adapters::{Adaptable, Held};
use super::config::LoraConfig;
use super::error::LoraError;
use super::find::{adapted, each_mut, find};

/// The names of the adapters of a model, in the order in which they were added.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut net = Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?);
/// lora::add_adapter(&mut net, "default", "1", &LoraConfig::new().r(2))?;
/// assert_eq!(lora::adapter_names(&net), ["default"]);
/// # Ok::<(), Error>(())
/// ```
pub fn adapter_names<M: Module + ?Sized>(model: &M) -> Vec<String> {
    names(model.as_module())
}

fn names(model: &dyn Module) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, held) in held(model) {
        for name in held.states.keys() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// The paths of the layers and weights with an adapter, and those of copied layers.
///
/// # Errors
///
/// A name that no adapter has.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut net = Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?);
/// lora::add_adapter(&mut net, "default", "1", &LoraConfig::new().r(2))?;
/// assert_eq!(lora::adapted_layers(&net, "default")?, ["1"]);
/// # Ok::<(), Error>(())
/// ```
pub fn adapted_layers<M: Module + ?Sized>(model: &M, name: &str) -> Result<Vec<String>> {
    let model = model.as_module();
    check_names("adapted_layers", model, [name])?;
    let layers = held(model).into_iter();
    let layers = layers.filter(|(_, held)| held.states.contains_key(name));
    Ok(layers.map(|(path, _)| path).collect())
}

/// The configuration that an adapter was added with.
///
/// # Errors
///
/// A name that no adapter has.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut net = Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?);
/// lora::add_adapter(&mut net, "default", "1", &LoraConfig::new().r(2))?;
/// assert_eq!(lora::adapter_config(&net, "default")?.r, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn adapter_config<M: Module + ?Sized>(model: &M, name: &str) -> Result<LoraConfig> {
    let model = model.as_module();
    check_names("adapter_config", model, [name])?;
    let mut states = held(model).into_iter();
    let config = states.find_map(|(_, held)| Some(held.states.get(name)?.config.clone()));
    config.map(|config| (*config).clone()).ok_or_else(|| {
        let (op, adapter) = ("adapter_config", name.to_owned());
        let adapters = names(model);
        LoraError::NoSuchAdapter {
            op,
            adapter,
            adapters,
        }
        .into()
    })
}

/// The layers of a model that can have adapters, by path, with their types; for a recurrent layer its weights, all of which
/// its own path selects.
///
/// # Example
///
/// ```
/// use module_nn::lora;
/// use module_nn::prelude::*;
///
/// let net = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new()).push(Linear::new(8, 2)?);
/// let linear = [("0".to_owned(), "Linear"), ("2".to_owned(), "Linear")];
/// assert_eq!(lora::adaptable_layers(&net), linear);
/// # Ok::<(), Error>(())
/// ```
pub fn adaptable_layers<M: Module + ?Sized>(model: &M) -> Vec<(String, &'static str)> {
    let layers = find(model.as_module()).into_iter().filter(|found| {
        let known = |place: super::find::Place<'_>| {
            place.adaptable() != Adaptable::Copied && place.weight.is_some()
        };
        found.place.is_some_and(known)
    });
    layers
        .map(|found| (found.path, found.module.kind()))
        .collect()
}

/// Makes a model compute with these adapters, added to each other, and train them; all others become inactive.
///
/// A layer with none of them computes as if it had no adapters, and so does the model if there are no names. Biases that
/// are trained with an adapter are the model's own, and stay trained.
///
/// # Errors
///
/// A name that no adapter has; a merged adapter; several adapters with copies of one layer. Then nothing is changed.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut layer = Linear::new(4, 2)?;
/// lora::add_adapter(&mut layer, "first", "", &LoraConfig::new())?;
/// lora::add_adapter(&mut layer, "second", "", &LoraConfig::new())?;
/// lora::set_adapter(&layer, ["second"])?;
/// assert!(!layer.get_parameter("lora_A.first.weight")?.requires_grad());
/// assert!(layer.get_parameter("lora_A.second.weight")?.requires_grad());
/// assert!(lora::set_adapter(&layer, ["third"]).is_err());
/// # Ok::<(), Error>(())
/// ```
pub fn set_adapter<'n, M: Module + ?Sized>(
    model: &M,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<()> {
    activate(model.as_module(), &names.into_iter().collect::<Vec<_>>())
}

fn activate(model: &dyn Module, names: &[&str]) -> Result<()> {
    const OP: &str = "set_adapter";
    check_names(OP, model, names.iter().copied())?;
    check_unmerged(OP, model)?;
    let layers = held(model);
    for (path, held) in &layers {
        let copied = names.iter().filter(|name| held.saved.contains_key(**name));
        let adapters: Vec<String> = copied.map(|&name| name.to_owned()).collect();
        if adapters.len() > 1 {
            let (op, path) = (OP, path.clone());
            let reason = "each has a copy of the layer, and only one can take its place".to_owned();
            return Err(LoraError::Together {
                op,
                path,
                adapters,
                reason,
            }
            .into());
        }
    }
    for (_, held) in layers {
        for (name, state) in &held.states {
            let active = names.contains(&name.as_str());
            state.set_active(active);
            for parameter in held.parameters(name) {
                parameter.set_requires_grad(active);
            }
        }
    }
    Ok(())
}

/// Scales the contribution of an adapter: by `factor` times its `alpha / r`, or `alpha / √r`.
///
/// # Errors
///
/// A name that no adapter has, a merged adapter, a factor that is not finite.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, InitLoraWeights, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut layer = Linear::new(4, 2)?;
/// let x = Tensor::ones([1, 4], DType::F32)?;
/// let plain = layer.call(x.clone())?;
/// let config = LoraConfig::new().init_lora_weights(InitLoraWeights::Random);
/// lora::add_adapter(&mut layer, "default", "", &config)?;
/// lora::set_scale(&layer, "default", 0.0)?;
/// assert!(layer.call(x)?.equal(&plain)?);
/// # Ok::<(), Error>(())
/// ```
pub fn set_scale<M: Module + ?Sized>(model: &M, name: &str, factor: f64) -> Result<()> {
    const OP: &str = "set_scale";
    let model = model.as_module();
    check_names(OP, model, [name])?;
    check_unmerged(OP, model)?;
    if !factor.is_finite() {
        return Err(Error::argument(OP, "factor", factor, "must be finite"));
    }
    for (_, held) in held(model) {
        if let Some(state) = held.states.get(name) {
            state.set_scale(state.own_scale * factor);
        }
    }
    Ok(())
}

/// Runs `f` while the model computes without its adapters: the outputs of the frozen model, bit for bit.
///
/// Biases that are trained with an adapter are the model's own and stay. Concurrent calls on other threads get these
/// outputs too. A backward pass through `checkpoint`ed calls belongs inside the scope, because it recomputes them.
///
/// # Errors
///
/// Merged adapters; then `f` is not called.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, InitLoraWeights, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut layer = Linear::new(4, 2)?;
/// let x = Tensor::ones([1, 4], DType::F32)?;
/// let plain = layer.call(x.clone())?;
/// let config = LoraConfig::new().init_lora_weights(InitLoraWeights::Random);
/// lora::add_adapter(&mut layer, "default", "", &config)?;
/// assert!(!layer.call(x.clone())?.equal(&plain)?);
/// let without = lora::disable_adapters(&layer, || layer.call(x))??;
/// assert!(without.equal(&plain)?);
/// # Ok::<(), Error>(())
/// ```
pub fn disable_adapters<M: Module + ?Sized, R>(model: &M, f: impl FnOnce() -> R) -> Result<R> {
    let scope = Disabled::of(model.as_module())?;
    let result = f();
    drop(scope);
    Ok(result)
}

/// The counters of the layers, which are decremented again when this is dropped.
struct Disabled<'m>(Vec<&'m AtomicUsize>);

impl<'m> Disabled<'m> {
    fn of(model: &'m dyn Module) -> Result<Self> {
        check_unmerged("disable_adapters", model)?;
        let counters = held(model).into_iter().map(|(_, held)| &held.disabled);
        let scope = Self(counters.collect());
        for counter in &scope.0 {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        Ok(scope)
    }
}

impl Drop for Disabled<'_> {
    fn drop(&mut self) {
        for counter in &self.0 {
            counter.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Removes an adapter from every layer. If it was active, the model computes without it from now on.
///
/// # Errors
///
/// A name that no adapter has, a merged adapter, a layer behind a shared `Arc`. Then nothing is changed.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut net = Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?);
/// lora::add_adapter(&mut net, "default", "1", &LoraConfig::new().r(2))?;
/// lora::delete_adapter(&mut net, "default")?;
/// assert!(lora::adapter_names(&net).is_empty());
/// # Ok::<(), Error>(())
/// ```
pub fn delete_adapter<M: Module + ?Sized>(model: &mut M, name: &str) -> Result<()> {
    const OP: &str = "delete_adapter";
    let layers = adapted_layers(model, name)?;
    check_unmerged(OP, model.as_module())?;
    let model = model.as_module_mut();
    super::find::check_exclusive(model, layers.iter().map(String::as_str))?;
    each_mut(model, &mut |_, adapters| {
        if let Some(held) = &mut adapters.held {
            held.remove(name);
            adapters.held.take_if(|held| held.states.is_empty());
        }
    });
    Ok(())
}

/// The contents of a model's layers, with their paths.
fn held(model: &dyn Module) -> Vec<(String, &Held)> {
    let layers = adapted(model).into_iter();
    layers
        .filter_map(|(path, place)| Some((path, place.held()?)))
        .collect()
}

/// Refuses names that no adapter has.
pub(super) fn check_names<'n>(
    op: &'static str,
    model: &dyn Module,
    wanted: impl IntoIterator<Item = &'n str>,
) -> Result<()> {
    let adapters = names(model);
    for name in wanted {
        if !adapters.iter().any(|adapter| adapter == name) {
            let adapter = name.to_owned();
            return Err(LoraError::NoSuchAdapter {
                op,
                adapter,
                adapters,
            }
            .into());
        }
    }
    Ok(())
}

/// Refuses a model with merged adapters.
pub(super) fn check_unmerged(op: &'static str, model: &dyn Module) -> Result<()> {
    let mut adapters: Vec<String> = Vec::new();
    for (_, held) in held(model) {
        for name in held.merged.keys() {
            if !adapters.contains(name) {
                adapters.push(name.clone());
            }
        }
    }
    match adapters.is_empty() {
        true => Ok(()),
        false => Err(LoraError::Merged { op, adapters }.into()),
    }
}
