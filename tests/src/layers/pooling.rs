use module_nn::prelude::*;

use super::{Arguments, Entry, layer, layer_with, module};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer_with("AdaptiveMaxPool1d", AdaptiveMaxPool1d::config, found),
        layer_with("AdaptiveMaxPool2d", AdaptiveMaxPool2d::config, found),
        layer_with("AdaptiveMaxPool3d", AdaptiveMaxPool3d::config, found),
        layer("AdaptiveAvgPool1d", AdaptiveAvgPool1d::config),
        layer("AdaptiveAvgPool2d", AdaptiveAvgPool2d::config),
        layer("AdaptiveAvgPool3d", AdaptiveAvgPool3d::config),
        layer("AvgPool1d", AvgPool1d::config),
        layer("AvgPool2d", AvgPool2d::config),
        layer("AvgPool3d", AvgPool3d::config),
        layer_with("FractionalMaxPool2d", FractionalMaxPool2d::config, found),
        layer_with("FractionalMaxPool3d", FractionalMaxPool3d::config, found),
        layer("LPPool1d", LPPool1d::config),
        layer("LPPool2d", LPPool2d::config),
        layer("LPPool3d", LPPool3d::config),
        layer_with("MaxPool1d", MaxPool1d::config, found),
        layer_with("MaxPool2d", MaxPool2d::config, found),
        layer_with("MaxPool3d", MaxPool3d::config, found),
        module("MaxUnpool1d", MaxUnpool1d::config, back),
        module("MaxUnpool2d", MaxUnpool2d::config, back),
        module("MaxUnpool3d", MaxUnpool3d::config, back),
    ]
}

/// The elements, and their indices if requested.
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
