//! Code that the encoder and the decoder share: consecutive layers, which start as copies of one, and the final
//! normalization; detection of causal masks.

use module_core::{Call, DType, Layer, Module, ModuleExt, Result, Tensor, deferred};

use crate::config::{PartSize, check_count_fits, check_positive};
use crate::layers::causal::{additive_mask, causal_mask};
use crate::layers::{LayerNorm, LayerNormConfig};

/// The members of an encoder or a decoder, which flattens it into itself.
#[derive(Module)]
#[module(debug)]
pub(super) struct Stack<L: Module> {
    layers: Vec<L>,
    #[module(flatten)]
    norm: LastNorm,
}

impl<L: Module> Stack<L> {
    /// Copies of one layer, with an optional normalization.
    pub(super) fn build(
        name: &'static str,
        count: usize,
        build: impl Fn() -> Result<L>,
        norm: Option<&LayerNormConfig>,
    ) -> Result<Self> {
        let layers = build_copies(name, count, build)?;
        let norm: Option<LayerNorm> = norm.map(LayerNormConfig::build).transpose()?;
        Ok(Self::new(layers, norm))
    }

    pub(super) fn new(layers: Vec<L>, norm: Option<impl Layer>) -> Self {
        let norm = LastNorm::new(norm);
        Self { layers, norm }
    }

    pub(super) fn layers(&self) -> &[L] {
        &self.layers
    }

    /// Runs all layers, each through `call`, and the normalization.
    pub(super) fn run(
        &self,
        x: Tensor,
        call: impl FnMut(Tensor, &L) -> Result<Tensor>,
    ) -> Result<Tensor> {
        self.norm.run(self.layers.iter().try_fold(x, call)?)
    }
}

/// Builds `count` layers that all start with the values of the first, as PyTorch's deep copies do.
fn build_copies<M: Module>(
    name: &'static str,
    count: usize,
    build: impl Fn() -> Result<M>,
) -> Result<Vec<M>> {
    check_count(name, "num_layers", count, &build)?;
    let mut layers = vec![build()?];
    while layers.len() < count {
        let layer = deferred(&build)?;
        for (copy, first) in layer.parameters().zip(layers[0].parameters()) {
            copy.initialize_like(first)?;
        }
        layers.push(layer);
    }
    Ok(layers)
}

/// Refuses a number of layers that is 0 or does not fit in memory.
pub(super) fn check_count<M: Module>(
    name: &'static str,
    argument: &'static str,
    count: usize,
    build: impl Fn() -> Result<M>,
) -> Result<()> {
    check_positive(name, argument, count)?;
    let layer = deferred(build)?;
    check_count_fits(name, argument, count, PartSize::of(layer.as_module()))
}

/// The final normalization, under the key `norm`; a stack flattens it into itself.
#[derive(Module)]
#[module(debug)]
enum LastNorm {
    /// A final normalization.
    Norm {
        /// The layer.
        norm: Box<dyn Layer>,
    },
    /// No final normalization.
    Without,
}

impl LastNorm {
    fn new(norm: Option<impl Layer>) -> Self {
        match norm {
            Some(norm) => Self::Norm {
                norm: Box::new(norm),
            },
            None => Self::Without,
        }
    }

    fn run(&self, x: Tensor) -> Result<Tensor> {
        match self {
            Self::Norm { norm } => norm.call(x),
            Self::Without => Ok(x),
        }
    }
}

/// The explicit setting for a mask, or whether it is the mask of causal attention.
pub(super) fn is_causal(mask: Option<&Tensor>, said: Option<bool>) -> Result<bool> {
    match (said, mask) {
        (Some(said), _) => Ok(said),
        (None, None) => Ok(false),
        // Trainable masks must get their gradient.
        (None, Some(mask)) if mask.requires_grad() => Ok(false),
        (None, Some(mask)) => {
            let &[queries, keys] = &**mask.shape() else {
                return Ok(false);
            };
            if queries != keys {
                return Ok(false);
            }
            let seen = causal_mask(queries, keys, 0, &mask.device())?;
            match mask.dtype() {
                DType::Bool => mask.equal(&seen.logical_not()?),
                dtype if dtype.is_floating_point() => mask.equal(&additive_mask(&seen, dtype)?),
                _ => Ok(false),
            }
        }
    }
}
