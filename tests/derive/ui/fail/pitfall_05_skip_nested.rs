//! The same in any container of the standard library.

use std::sync::{Arc, Mutex};

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    #[module(skip)]
    heads: Arc<Mutex<Vec<(usize, Option<Buffer>)>>>,
}

fn main() {}
