//! The same with zero-sized fields.

use std::marker::PhantomData;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    unit: PhantomData<u8>,
    none: [f32; 0],
}

fn main() {}
