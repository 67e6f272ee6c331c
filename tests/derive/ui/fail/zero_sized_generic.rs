//! A generic module turns out to have no size.

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
