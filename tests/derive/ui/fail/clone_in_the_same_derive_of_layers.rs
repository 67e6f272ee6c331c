//! The same with a field that is not `Clone`: only the compiler's own error appears.

use module_nn::prelude::*;

#[derive(Clone, Module)]
struct Net {
    fc: Linear,
    act: ReLU,
}

fn main() {}
