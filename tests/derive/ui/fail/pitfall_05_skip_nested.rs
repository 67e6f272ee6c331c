//! The same wherever a container of the standard library holds it.

use std::sync::{Arc, Mutex};

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    fc: Linear,
    #[module(skip)]
    heads: Arc<Mutex<Vec<(usize, Option<Buffer>)>>>,
}

fn main() {}
