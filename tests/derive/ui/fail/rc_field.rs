//! A shared child that only one thread may have.

use std::rc::Rc;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    encoder: Rc<Linear>,
}

fn main() {}
