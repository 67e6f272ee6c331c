use module_nn::prelude::*;

use super::{Arguments, Entry, layer, layer_with, module};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer_with("AdaptiveMaxPool1d", AdaptiveMaxPool1dConfig::build, found),
        layer_with("AdaptiveMaxPool2d", AdaptiveMaxPool2dConfig::build, found),
        layer_with("AdaptiveMaxPool3d", AdaptiveMaxPool3dConfig::build, found),
        layer("AdaptiveAvgPool1d", AdaptiveAvgPool1dConfig::build),
        layer("AdaptiveAvgPool2d", AdaptiveAvgPool2dConfig::build),
        layer("AdaptiveAvgPool3d", AdaptiveAvgPool3dConfig::build),
        layer("AvgPool1d", AvgPool1dConfig::build),
        layer("AvgPool2d", AvgPool2dConfig::build),
        layer("AvgPool3d", AvgPool3dConfig::build),
        layer_with(
            "FractionalMaxPool2d",
            FractionalMaxPool2dConfig::build,
            found,
        ),
        layer_with(
            "FractionalMaxPool3d",
            FractionalMaxPool3dConfig::build,
            found,
        ),
        layer("LPPool1d", LPPool1dConfig::build),
        layer("LPPool2d", LPPool2dConfig::build),
        layer("LPPool3d", LPPool3dConfig::build),
        layer_with("MaxPool1d", MaxPool1dConfig::build, found),
        layer_with("MaxPool2d", MaxPool2dConfig::build, found),
        layer_with("MaxPool3d", MaxPool3dConfig::build, found),
        module("MaxUnpool1d", MaxUnpool1dConfig::build, back),
        module("MaxUnpool2d", MaxUnpool2dConfig::build, back),
        module("MaxUnpool3d", MaxUnpool3dConfig::build, back),
    ]
}

/// The elements, and where they were if that is asked for.
fn found<L>(layer: &L, given: &Arguments<'_>) -> Result<Vec<Tensor>>
where
    L: Forward<Tensor, Output = Tensor> + Forward<WithIndices, Output = (Tensor, Tensor)>,
{
    let x = given.tensor(0)?;
    if given.flag("return_indices", false) {
        let (elements, places) = layer.call(WithIndices(x))?;
        return Ok(vec![elements, places]);
    }
    Ok(vec![layer.call(x)?])
}

fn back<const N: usize>(layer: &MaxUnpool<N>, given: &Arguments<'_>) -> Result<Vec<Tensor>> {
    let (x, places) = (given.tensor(0)?, given.tensor(1)?);
    let output = match given.sizes("output_size")? {
        Some(output_size) => layer.call((x, places, output_size))?,
        None => layer.call((x, places))?,
    };
    Ok(vec![output])
}
