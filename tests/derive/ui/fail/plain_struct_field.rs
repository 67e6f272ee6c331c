//! A struct that forgot to derive `Module`.

use module_nn::prelude::*;

struct Head {
    fc: Linear,
}

#[derive(Module)]
struct Net {
    head: Head,
}

fn main() {}
