use module_nn::parametrize::{SpectralNormConfig, WithWeight, spectral_norm, weight_norm};
use module_nn::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Entry;

pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::composed("ParametrizedConv2d", |kwargs| {
            parametrized(
                config::<Conv2dConfig>(&kwargs["module"]["kwargs"])?.build()?,
                kwargs,
            )
        }),
        Entry::composed("ParametrizedLinear", |kwargs| {
            parametrized(
                config::<LinearConfig>(&kwargs["module"]["kwargs"])?.build()?,
                kwargs,
            )
        }),
    ]
}

/// The layer `module` under the parametrization `norm`.
fn parametrized<L>(layer: L, kwargs: &Value) -> Result<Box<dyn Layer>>
where
    L: WithWeight<Output = Tensor>,
{
    if kwargs["norm"] == "weight_norm" {
        let dim = kwargs["dim"].as_u64().map(|dim| dim as usize);
        return Ok(Box::new(weight_norm(layer, dim)?));
    }
    let mut rest = kwargs.clone();
    let arguments = rest.as_object_mut().expect("arguments");
    arguments.retain(|name, _| name != "norm" && name != "module");
    Ok(Box::new(spectral_norm(
        layer,
        &config::<SpectralNormConfig>(&rest)?,
    )?))
}

fn config<C: DeserializeOwned>(kwargs: &Value) -> Result<C> {
    C::deserialize(kwargs).map_err(Error::custom)
}
