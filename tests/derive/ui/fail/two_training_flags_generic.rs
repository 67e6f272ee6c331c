//! A second mode flag that a type parameter stands for.

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
