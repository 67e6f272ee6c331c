//! A shared child that is limited to one thread.

use std::rc::Rc;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    encoder: Rc<Linear>,
}

fn main() {}
