//! The same behind an alias.

use module_nn::prelude::*;

type Shared = std::rc::Rc<Linear>;

#[derive(Module)]
struct Net {
    encoder: Shared,
}

fn main() {}
