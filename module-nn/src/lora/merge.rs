//! Merging adapters into the weights.

use module_core::{Buffer, IndexMap, Maybe, Module, Parameter, Result, Tensor, no_grad};

use super::adapters::{Adaptable, Held};
use super::delta::{add_wider, along_weight, delta_weight, weight_norm};
use super::error::LoraError;
use super::find::{Place, check_exclusive, each_mut, find};
use super::parts::Merged;
use super::switch::check_unmerged;
use super::tied::check_untied;

/// Adds the active adapters to the weights of their layers, and returns the paths: the outputs stay the same up to
/// rounding, at the cost of the plain model.
///
/// The adapters stay next to the weights until [`unmerge`] reverses this or [`merge_and_unload`] drops them. The state dict
/// marks each one as merged (`lora_merged`), so that it is not added twice if the weights are loaded next to an unmerged
/// adapter.
///
/// # Errors
///
/// Adapters that are already merged, no active adapters, and weights that cannot be changed: a weight that is tied to
/// another layer's, packed, computed, or of a convolution with groups, or that would not be finite. Then nothing is
/// changed.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, InitLoraWeights, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut layer = Linear::new(4, 2)?;
/// let config = LoraConfig::new().init_lora_weights(InitLoraWeights::Random);
/// lora::add_adapter(&mut layer, "default", "", &config)?;
/// let x = Tensor::ones([1, 4], DType::F32)?;
/// let y = layer.call(x.clone())?;
/// lora::merge(&mut layer)?;
/// assert!(layer.call(x)?.allclose(&y, module_nn::Tolerance::new().rtol(1e-5).atol(1e-6))?);
/// assert!(lora::merge(&mut layer).is_err());
/// lora::unmerge(&mut layer)?;
/// # Ok::<(), Error>(())
/// ```
pub fn merge<M: Module + ?Sized>(model: &mut M) -> Result<Vec<String>> {
    merge_into(model.as_module_mut())
}

/// Subtracts the merged adapters from the weights again, and returns the paths. The weights are the original ones up to
/// rounding.
///
/// # Errors
///
/// No merged adapter, and weights that cannot be changed, as for [`merge`].
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut net = Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?);
/// lora::add_adapter(&mut net, "default", "1", &LoraConfig::new().r(2))?;
/// lora::merge(&mut net)?;
/// assert!(net.state_dict()?.contains_key("1.lora_merged.default.scale"));
/// assert_eq!(lora::unmerge(&mut net)?, ["1"]);
/// assert!(!net.state_dict()?.contains_key("1.lora_merged.default.scale"));
/// # Ok::<(), Error>(())
/// ```
pub fn unmerge<M: Module + ?Sized>(model: &mut M) -> Result<Vec<String>> {
    take_out(model.as_module_mut())
}

/// [`merge`], unless the adapters are already merged, and then drops all adapters: the plain model with other weights,
/// which stay frozen.
///
/// # Errors
///
/// Those of [`merge`].
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut layer = Linear::new(4, 2)?;
/// lora::add_adapter(&mut layer, "default", "", &LoraConfig::new())?;
/// lora::merge_and_unload(&mut layer)?;
/// assert_eq!(layer.state_dict()?.keys().collect::<Vec<_>>(), ["weight", "bias"]);
/// # Ok::<(), Error>(())
/// ```
pub fn merge_and_unload<M: Module + ?Sized>(model: &mut M) -> Result<()> {
    let model = model.as_module_mut();
    if check_unmerged("merge_and_unload", model).is_ok() {
        merge_into(model)?;
    }
    drop_all(model)
}

/// Drops all adapters: the model as it was before the first, still frozen.
///
/// # Errors
///
/// Merged adapters, a layer behind a shared `Arc`. Then nothing is changed.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// let mut net = Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?);
/// lora::add_adapter(&mut net, "default", "1", &LoraConfig::new().r(2))?;
/// lora::unload(&mut net)?;
/// assert_eq!(net.state_dict()?.len(), 4);
/// # Ok::<(), Error>(())
/// ```
pub fn unload<M: Module + ?Sized>(model: &mut M) -> Result<()> {
    let model = model.as_module_mut();
    check_unmerged("unload", model)?;
    drop_all(model)
}

fn drop_all(model: &mut dyn Module) -> Result<()> {
    let paths: Vec<String> = super::find::adapted(model)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    check_exclusive(model, paths.iter().map(String::as_str))?;
    each_mut(model, &mut |_, adapters| adapters.held = None);
    Ok(())
}

/// The new contents of a layer, and the parameters that get other values.
struct Change<'a> {
    path: String,
    values: Vec<(&'a Parameter, Tensor)>,
    merged: IndexMap<String, Merged>,
}

fn merge_into(model: &mut dyn Module) -> Result<Vec<String>> {
    check_unmerged("merge", model)?;
    let needs = "no adapter is in use; choose one by `set_adapter` first";
    let concerned = |held: &Held| held.running().next().is_some();
    change(model, ["merge", needs], concerned, &merged)
}

fn take_out(model: &mut dyn Module) -> Result<Vec<String>> {
    let concerned = |held: &Held| !held.merged.is_empty();
    change(
        model,
        ["unmerge", "no adapter is merged"],
        concerned,
        &unmerged,
    )
}

/// Computes all changes, and then applies them.
fn change(
    model: &mut dyn Module,
    [op, needs]: [&'static str; 2],
    concerned: fn(&Held) -> bool,
    make: &dyn for<'a> Fn(Place<'a>, &'a Parameter, &'a Held) -> Result<Change<'a>>,
) -> Result<Vec<String>> {
    let found = find(model);
    let mut changes: Vec<Change<'_>> = Vec::new();
    for layer in &found {
        let held = layer.place.and_then(|place| Some((place, place.held()?)));
        let Some((place, held)) = held else {
            continue;
        };
        if !concerned(held) || changes.iter().any(|change| change.path == layer.path) {
            continue;
        }
        let refused = |reason: String| {
            let path = layer.path.clone();
            Err(LoraError::Weight { op, path, reason }.into())
        };
        let Some(weight) = place.weight else {
            return refused("is computed or no parameter, and cannot be changed".to_owned());
        };
        if weight.detach().is_packed() {
            return refused("is packed; dequantize first".to_owned());
        }
        if let Adaptable::Conv { groups } = place.adaptable()
            && groups > 1
            && !held.a.is_empty()
        {
            return refused(format!("has {groups} groups, and the adapter has none"));
        }
        for own in [Some(weight), place.bias].into_iter().flatten() {
            check_untied(op, &found, &layer.path, own)?;
        }
        let mut change = no_grad(|| make(place, weight, held))?;
        for (_, value) in &change.values {
            if !value.isfinite()?.all(..)?.item::<bool>()? {
                return refused("would not be finite; the adapter has diverged".to_owned());
            }
        }
        change.path.clone_from(&layer.path);
        changes.push(change);
    }
    if changes.is_empty() {
        return Err(LoraError::NothingToMerge { op, needs }.into());
    }
    let mut all_merged = IndexMap::new();
    let mut values = Vec::new();
    for change in changes {
        let set = change.values.into_iter();
        values.extend(set.map(|(parameter, value)| (parameter.share(), value)));
        all_merged.insert(change.path, change.merged);
    }
    let paths: Vec<String> = all_merged.keys().cloned().collect();
    check_exclusive(model, paths.iter().map(String::as_str))?;
    for (parameter, value) in values {
        parameter.set(value)?;
    }
    each_mut(model, &mut |path, adapters| {
        if let (Some(held), Some(merged)) = (&mut adapters.held, all_merged.shift_remove(path)) {
            held.merged = merged;
        }
    });
    Ok(paths)
}

fn merged<'a>(place: Place<'a>, weight: &'a Parameter, held: &'a Held) -> Result<Change<'a>> {
    let adaptable = place.adaptable();
    let own = weight.detach();
    let mut sum = own.clone();
    let mut merged = IndexMap::new();
    let mut values = Vec::new();
    let mut base = own.clone();
    for (name, state) in held.running() {
        let mut entry = Merged {
            scale: Buffer::new(Tensor::from(state.scale())).keep_dtype(),
            weight_norm: Maybe::Absent,
            weight: Maybe::Absent,
            bias: Maybe::Absent,
        };
        if let Some(copy) = held.saved.get(name) {
            entry.weight = Maybe::Present(Buffer::new(own.clone()));
            sum = copy.weight.detach();
            base = sum.clone();
            if let (Some(bias), Maybe::Present(copied)) = (place.bias, &copy.bias) {
                entry.bias = Maybe::Present(Buffer::new(bias.detach()));
                values.push((bias, copied.detach().to_dtype(bias.dtype())?));
            }
        }
        merged.insert(name.to_owned(), entry);
    }
    for (name, state) in held
        .running()
        .filter(|(name, _)| !held.saved.contains_key(*name))
    {
        let delta = delta_weight(held, name, adaptable, own.shape())?.mul(state.scale())?;
        let Some(magnitude) = held.magnitude.get(name) else {
            sum = add_wider(&sum, &delta)?;
            continue;
        };
        let norm = weight_norm(&base, &delta, adaptable)?;
        let factor = along_weight(
            &magnitude.weight.detach().div(&norm)?,
            own.shape(),
            adaptable,
        )?;
        sum = add_wider(&sum, &delta)?
            .to_dtype(factor.dtype())?
            .mul(&factor)?;
        if let Some(entry) = merged.get_mut(name) {
            entry.weight_norm = Maybe::Present(Buffer::new(norm));
        }
    }
    values.push((weight, sum.to_dtype(own.dtype())?));
    let path = String::new();
    Ok(Change {
        path,
        values,
        merged,
    })
}

fn unmerged<'a>(place: Place<'a>, weight: &'a Parameter, held: &'a Held) -> Result<Change<'a>> {
    let adaptable = place.adaptable();
    let own = weight.detach();
    let mut rest = own.clone();
    let mut values = Vec::new();
    for (name, entry) in held.merged.iter().rev() {
        if held.saved.contains_key(name) {
            continue;
        }
        let scale = entry.scale.tensor().item::<f64>()?;
        let delta = delta_weight(held, name, adaptable, own.shape())?.mul(scale)?;
        if let (Some(magnitude), Maybe::Present(norm)) =
            (held.magnitude.get(name), &entry.weight_norm)
        {
            let factor = magnitude.weight.detach().div(norm.tensor())?;
            let factor = along_weight(&factor, own.shape(), adaptable)?;
            rest = rest.to_dtype(factor.dtype())?.div(&factor)?;
        }
        rest = add_wider(&rest, &delta.neg()?)?;
    }
    for entry in held.merged.values() {
        if let Maybe::Present(before) = &entry.weight {
            rest = before.tensor();
        }
        if let (Some(bias), Maybe::Present(before)) = (place.bias, &entry.bias) {
            values.push((bias, before.tensor().to_dtype(bias.dtype())?));
        }
    }
    values.push((weight, rest.to_dtype(own.dtype())?));
    let (path, merged) = (String::new(), IndexMap::new());
    Ok(Change {
        path,
        values,
        merged,
    })
}
