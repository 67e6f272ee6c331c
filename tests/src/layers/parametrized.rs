use module_nn::parametrize::{SpectralNormConfig, WithWeight, spectral_norm, weight_norm};
use module_nn::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Entry, built};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        built("ParametrizedConv2d", |norm| {
            parametrized(norm, Conv2dConfig::build)
        }),
        built("ParametrizedLinear", |norm| {
            parametrized(norm, LinearConfig::build)
        }),
    ]
}

/// A layer's configuration with the parametrization of its weight.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "norm", rename_all = "snake_case")]
enum Norm<C> {
    WeightNorm {
        module: Described<C>,
        dim: Option<usize>,
    },
    SpectralNorm {
        module: Described<C>,
        #[serde(flatten)]
        config: SpectralNormConfig,
    },
}

/// A layer in the form in which golden files describe nested layers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described<C> {
    layer: String,
    kwargs: C,
}

fn parametrized<C, L>(norm: &Norm<C>, build: fn(&C) -> Result<L>) -> Result<Box<dyn Layer>>
where
    L: WithWeight<Output = Tensor>,
{
    Ok(match norm {
        Norm::WeightNorm { module, dim } => Box::new(weight_norm(build(&module.kwargs)?, *dim)?),
        Norm::SpectralNorm { module, config } => {
            Box::new(spectral_norm(build(&module.kwargs)?, config)?)
        }
    })
}
