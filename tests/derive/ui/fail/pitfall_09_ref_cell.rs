//! State behind a cell that is not `Sync`.

use std::cell::RefCell;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    last: RefCell<Linear>,
}

fn main() {}
