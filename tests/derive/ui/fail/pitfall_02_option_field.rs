//! An optional child.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    downsample: Option<Linear>,
}

fn main() {}
