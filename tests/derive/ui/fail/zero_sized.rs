//! The same with fields that have no size either.

use std::marker::PhantomData;

use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    unit: PhantomData<u8>,
    none: [f32; 0],
}

fn main() {}
