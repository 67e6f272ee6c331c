//! The same of a buffer.

use module_nn::prelude::*;

fn keep(mean: &Buffer) -> Buffer {
    mean.clone()
}

fn main() {}
