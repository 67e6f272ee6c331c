//! A weight tied by `clone`.

use module_nn::prelude::*;

#[derive(Module)]
struct Decoder {
    weight: Parameter,
}

fn tie(decoder: &mut Decoder, encoder: &Embedding) {
    decoder.weight = encoder.weight().clone();
}

fn main() {}
