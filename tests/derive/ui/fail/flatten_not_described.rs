//! A flattened type parameter that is only bound by `Module`.

use module_nn::prelude::*;

#[derive(Module)]
struct Net<B> {
    #[module(flatten)]
    base: B,
    weight: Parameter,
}

fn assert_module<M: Module>() {}

fn check<B: Module>() {
    assert_module::<Net<B>>();
}

fn main() {}
