//! Module-only attributes on an input type that is used.

use module_nn::prelude::*;

#[derive(Tensors)]
#[module(extra_repr = Self::describe)]
struct Input {
    #[module(rename = "x")]
    rows: Tensor,
    #[module(flatten)]
    rest: Vec<Tensor>,
}

#[derive(Tensors)]
#[module(kind = Self::name, debug)]
struct Named {
    rows: Tensor,
}

fn main() {
    fn is_tensors<T: Tensors>() {}
    is_tensors::<Input>();
    is_tensors::<Named>();
}
