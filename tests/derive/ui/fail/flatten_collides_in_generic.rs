//! The keys of a flattened type parameter are compared where the type is known.

use module_nn::prelude::*;

#[derive(Module)]
struct Base {
    weight: Parameter,
}

#[derive(Module)]
struct Net<B> {
    weight: Parameter,
    #[module(flatten)]
    base: B,
}

fn main() {
    let kind: fn(&Net<Base>) -> &'static str = Module::kind;
    let _ = kind;
}
