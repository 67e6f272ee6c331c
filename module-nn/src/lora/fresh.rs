//! The parameters of a fresh adapter, drawn in PEFT's order.

use module_core::{
    DType, Error, IndexMap, ModuleExt, Parameter, Result, Shape, Tensor, Training, no_grad,
};

use super::adapters::{Adaptable, Held};
use super::config::{InitLoraWeights, LoraConfig};
use super::delta::{delta_weight, weight_norm};
use super::error::LoraError;
use super::find::Place;
use super::parts::{AdapterDropout, Factor, Magnitude};
use super::pissa::pissa;
use crate::init::{KaimingUniform, Normal, zeros};

/// The parameters that an adapter adds to a layer, and the layer's remaining weight if the adapter takes a part of it.
pub(super) struct Fresh {
    pub(super) held: Held,
    pub(super) scale: f64,
    pub(super) weight: Option<Tensor>,
}

/// An adapter for the layer at a path.
pub(super) fn fresh(
    path: &str,
    name: &str,
    place: Place<'_>,
    config: &LoraConfig,
    training: bool,
) -> Result<Fresh> {
    let Some(weight) = place.weight else {
        return Err(Error::argument(
            "add_adapter",
            "path",
            path,
            "has no weight",
        ));
    };
    let weight = weight.detach();
    let (r, scale) = config.scaling(path);
    let mut held = Held::default();
    draw(&mut held, name, place.adaptable(), &weight, r, config)?;
    let dropout = AdapterDropout {
        p: config.lora_dropout,
        training: Training::new(),
    };
    dropout.training.set(training);
    held.dropout.insert(name.to_owned(), dropout);
    // Half precision is trained in `F32`, as in PEFT.
    let dtype = match weight.dtype().size_in_bytes() {
        0..4 => DType::F32,
        _ => weight.dtype(),
    };
    let mut rest = None;
    if let Some(iterations) = config.init_lora_weights.pissa() {
        let (a, b, reduced) = pissa(&weight, r, scale, iterations)?;
        let factors = held.a.get(name).zip(held.b.get(name));
        if let Some((own_a, own_b)) = factors {
            own_a.weight.set(a.to_dtype(own_a.weight.dtype())?)?;
            own_b.weight.set(b.to_dtype(own_b.weight.dtype())?)?;
        }
        rest = Some(reduced);
    }
    for parameter in held.parameters(name) {
        let parameters = vec![parameter.share()];
        parameters.to_dtype(dtype)?;
        parameters.to_device(&weight.device())?;
    }
    if config.use_dora {
        let base = rest.as_ref().unwrap_or(&weight);
        let norm = no_grad(|| {
            let delta = delta_weight(&held, name, place.adaptable(), base.shape())?.mul(scale)?;
            weight_norm(base, &delta, place.adaptable())
        })?;
        let weight = Parameter::new(norm)?;
        held.magnitude.insert(name.to_owned(), Magnitude { weight });
    }
    Ok(Fresh {
        held,
        scale,
        weight: rest,
    })
}

/// Draws the two factors, including those that PEFT overwrites.
fn draw(
    held: &mut Held,
    name: &str,
    adaptable: Adaptable,
    weight: &Tensor,
    r: usize,
    config: &LoraConfig,
) -> Result<()> {
    let shape = weight.shape();
    let init = config.init_lora_weights;
    if adaptable == Adaptable::Embedding {
        let normal = Normal {
            mean: 0.0,
            std: 1.0,
        };
        let a = Parameter::with_init([r, shape[0]], normal)?;
        let b = Parameter::with_init([shape[1], r], normal)?;
        if init != InitLoraWeights::Random {
            a.initialize(zeros())?;
            b.initialize(normal)?;
        }
        held.embedding_a.insert(name.to_owned(), a);
        held.embedding_b.insert(name.to_owned(), b);
        return Ok(());
    }
    let [a, b] = factor_shapes(adaptable, shape, r);
    let [a, b] = [
        Parameter::with_init(a, KaimingUniform::default())?,
        Parameter::with_init(b, KaimingUniform::default())?,
    ];
    match init {
        InitLoraWeights::Default => a.initialize(KaimingUniform::default())?,
        InitLoraWeights::Gaussian => a.initialize(Normal {
            mean: 0.0,
            std: 1.0 / r as f64,
        })?,
        InitLoraWeights::Pissa | InitLoraWeights::PissaNiter(_) | InitLoraWeights::Random => {}
    }
    if matches!(init, InitLoraWeights::Default | InitLoraWeights::Gaussian) {
        b.initialize(zeros())?;
    }
    insert_factors(held, name, adaptable, [a, b]);
    Ok(())
}

/// The shapes of the factors of a weight that is not a table.
pub(super) fn factor_shapes(adaptable: Adaptable, weight: &Shape, r: usize) -> [Shape; 2] {
    let groups = match adaptable {
        Adaptable::Conv { groups } => groups,
        _ => 1,
    };
    let (&out, rest) = weight.split_first().unwrap_or((&0, &[]));
    let (&within, kernel) = rest.split_first().unwrap_or((&0, &[]));
    if adaptable == Adaptable::TransposedLinear {
        return [[r, out].into(), [within, r].into()];
    }
    let a = [r, within * groups]
        .into_iter()
        .chain(kernel.iter().copied());
    let b = [out, r / groups].into_iter();
    let ones = kernel.iter().map(|_| 1);
    [a.collect(), b.chain(ones).collect()]
}

/// Wraps the two factors, which print like PEFT's layers.
pub(super) fn insert_factors(
    held: &mut Held,
    name: &str,
    adaptable: Adaptable,
    [a, b]: [Parameter; 2],
) {
    let put = |factors: &mut IndexMap<String, Factor>, weight: Parameter| {
        let shape = weight.shape();
        let (out, within) = (shape.first().unwrap_or(&0), shape.get(1).unwrap_or(&0));
        let (kind, repr) = match adaptable {
            Adaptable::Conv { .. } => {
                let kernel: Vec<String> = shape[2..].iter().map(usize::to_string).collect();
                let kind = ["Conv1d", "Conv2d", "Conv3d"][kernel.len().clamp(1, 3) - 1];
                let comma = if kernel.len() == 1 { "," } else { "" };
                let kernel = kernel.join(", ");
                let repr = format!("{within}, {out}, kernel_size=({kernel}{comma}), bias=False");
                (kind, repr)
            }
            _ => {
                let repr = format!("in_features={within}, out_features={out}, bias=False");
                ("Linear", repr)
            }
        };
        let factor = Factor { kind, repr, weight };
        factors.insert(name.to_owned(), factor);
    };
    put(&mut held.a, a);
    put(&mut held.b, b);
}

/// Why a module cannot be adapted, if it cannot.
pub(super) fn check(
    path: &str,
    kind: &'static str,
    place: Option<Place<'_>>,
    config: &LoraConfig,
) -> Result<()> {
    let refused = |reason: String| {
        let path = path.to_owned();
        Err(LoraError::NotAdaptable { path, kind, reason }.into())
    };
    let Some(place) = place.filter(|place| place.adaptable() != Adaptable::Copied) else {
        let reason = "only Linear, TransposedLinear, Conv1d to Conv3d, Embedding, MultiheadAttention \
                      and recurrent layers hold adapters; select them by their own paths";
        return refused(reason.to_owned());
    };
    let Some(weight) = place.weight else {
        let reason = match place.adaptable() {
            Adaptable::InProjection => "it has weights of their own for queries, keys and values",
            _ => "its weight is computed or no parameter",
        };
        return refused(reason.to_owned());
    };
    let (r, _) = config.scaling(path);
    let is_pissa = config.init_lora_weights.pissa().is_some();
    let needs_values = config.use_dora || is_pissa;
    if needs_values && !weight.has_values() {
        return refused("its weight has no values yet; load or draw them first".to_owned());
    }
    if is_pissa {
        let shape = weight.shape();
        if place.adaptable() != Adaptable::Linear {
            return refused("PiSSA is for linear layers".to_owned());
        }
        if weight.detach().is_packed() {
            return refused(
                "PiSSA changes the weight, which is packed; dequantize first".to_owned(),
            );
        }
        let most = shape.iter().min().copied().unwrap_or(0);
        if r > most {
            return refused(format!(
                "its weight has {most} singular values, fewer than r = {r}"
            ));
        }
    }
    match place.adaptable() {
        Adaptable::Conv { groups } if !r.is_multiple_of(groups) => {
            refused(format!("r = {r} must be divisible by its {groups} groups"))
        }
        Adaptable::Conv { groups } if groups > 1 && config.use_dora => {
            refused(format!("DoRA is not defined for its {groups} groups"))
        }
        Adaptable::InProjection if config.use_dora => {
            refused("DoRA is not defined for attention layers; set `use_dora` to false".to_owned())
        }
        Adaptable::Weight if config.use_dora => {
            refused("DoRA is not defined for recurrent layers; set `use_dora` to false".to_owned())
        }
        // The input does not reach the factors, which are added to the weight.
        Adaptable::Weight if config.lora_dropout > 0.0 => refused(
            "adapters of recurrent layers have no dropout; set `lora_dropout` to 0, or give the other layers \
             an adapter of their own"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}
