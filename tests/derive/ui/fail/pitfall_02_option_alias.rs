//! The same behind an alias, which tokens do not show.

use module_nn::prelude::*;

type Downsample = Option<Linear>;

#[derive(Module)]
struct Net {
    fc: Linear,
    downsample: Downsample,
}

fn main() {}
