//! The same for a module, behind an alias and an `Option`.

use module_nn::prelude::*;

type Head = Option<Linear>;

#[derive(Module)]
struct Net {
    fc: Linear,
    #[module(skip)]
    head: Head,
}

fn main() {}
