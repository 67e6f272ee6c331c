//! A struct that does not derive `Module`.

use module_nn::prelude::*;

struct Head {
    fc: Linear,
}

#[derive(Module)]
struct Net {
    head: Head,
}

fn main() {}
