//! Skipped fields must be `Sync` too.

use std::cell::RefCell;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    #[module(skip)]
    cache: RefCell<Vec<u8>>,
}

fn main() {}
