//! The same behind an alias, which the tokens do not reveal.

use module_nn::prelude::*;

type Downsample = Option<Linear>;

#[derive(Module)]
struct Net {
    fc: Linear,
    downsample: Downsample,
}

fn main() {}
