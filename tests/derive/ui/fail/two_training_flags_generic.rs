//! A second mode flag behind a type parameter.

use module_nn::prelude::*;

#[derive(Module)]
struct Net<A> {
    training: Training,
    act: A,
}

fn main() {
    let kind: fn(&Net<Training>) -> &'static str = Module::kind;
    let _ = kind;
}
