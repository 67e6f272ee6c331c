//! A cloned buffer.

use module_nn::prelude::*;

fn keep(mean: &Buffer) -> Buffer {
    mean.clone()
}

fn main() {}
