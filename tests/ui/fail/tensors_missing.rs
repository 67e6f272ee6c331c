//! A layer called with a type that is no `Tensors`.

use module_nn::prelude::*;

struct Input {
    rows: Tensor,
}

#[derive(Module)]
struct First {
    marker: Marker,
}

impl Forward<Input> for First {
    type Output = Tensor;

    fn forward(&self, input: Input) -> Result<Tensor> {
        Ok(input.rows)
    }
}

fn output(first: &First, input: Input) -> Result<Tensor> {
    first.call(input)
}

fn main() {}
