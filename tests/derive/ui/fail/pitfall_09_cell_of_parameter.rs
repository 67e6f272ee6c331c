//! State behind a cell.

use std::sync::Mutex;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    hidden: Mutex<Parameter>,
}

fn main() {}
