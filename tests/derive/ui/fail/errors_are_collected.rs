//! One compilation reports every mistake of a type, but not the uses of the type.

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    #[module(skipp)]
    first: Parameter,
    #[module(rename = "a.b")]
    second: Parameter,
    third: fn(u8) -> u8,
}

fn uses(net: &Net) -> &'static str {
    net.kind()
}

fn main() {}
