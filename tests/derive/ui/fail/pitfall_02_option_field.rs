//! A child that may be absent.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    downsample: Option<Linear>,
}

fn main() {}
