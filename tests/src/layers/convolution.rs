//! The entries of convolutions.

use module_nn::prelude::*;

use super::{Arguments, Entry, layer, layer_with};

pub(super) fn entries() -> Vec<Entry> {
    vec![
        layer("Conv1d", Conv1d::config),
        layer("Conv2d", Conv2d::config),
        layer("Conv3d", Conv3d::config),
        layer_with("ConvTranspose1d", ConvTranspose1d::config, transpose),
        layer_with("ConvTranspose2d", ConvTranspose2d::config, transpose),
        layer_with("ConvTranspose3d", ConvTranspose3d::config, transpose),
    ]
}

fn transpose<const N: usize>(
    layer: &ConvTranspose<N>,
    given: &Arguments<'_>,
) -> Result<Vec<Tensor>> {
    let x = given.tensor(0)?;
    let output = match given.sizes("output_size")? {
        Some(output_size) => layer.call((x, output_size))?,
        None => layer.call(x)?,
    };
    Ok(vec![output])
}
