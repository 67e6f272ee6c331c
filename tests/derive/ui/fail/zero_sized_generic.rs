//! A generic module that turns out to be zero-sized.

use std::marker::PhantomData;

use module_nn::prelude::*;

#[derive(Module)]
struct Wrap<T> {
    unit: PhantomData<T>,
}

fn main() {
    let wrap: Wrap<u8> = Wrap { unit: PhantomData };
    println!("{}", wrap.kind());
}
