//! The same with a field that is no `Clone` itself: the compiler's own error is the only one.

use module_nn::prelude::*;

#[derive(Clone, Module)]
struct Net {
    fc: Linear,
    act: ReLU,
}

fn main() {}
