//! A type parameter is flattened, and only known to be a module.

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
