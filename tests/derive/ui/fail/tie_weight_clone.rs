//! A weight that is tied by `clone`.

use module_nn::prelude::*;

fn tie(decoder: &mut Linear, encoder: &Embedding) -> Result<()> {
    decoder.tie_weight(encoder.weight().clone())
}

fn main() {}
