//! A map without an order.

use std::collections::HashMap;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    heads: HashMap<String, Linear>,
}

fn main() {}
