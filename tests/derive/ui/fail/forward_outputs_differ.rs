//! Two payloads with different outputs.

use module_nn::prelude::*;

#[derive(Module)]
struct Pair {
    weight: Parameter,
}

impl Forward for Pair {
    type Output = (Tensor, Tensor);

    fn forward(&self, input: Tensor) -> Result<(Tensor, Tensor)> {
        Ok((input.clone(), input))
    }
}

#[derive(Module, Forward)]
enum Skip {
    Identity(Identity),
    Pair(Pair),
}

fn main() {}
