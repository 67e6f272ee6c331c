//! An enum is the fix, but its payload cannot be an `Option` either.

use module_nn::prelude::*;

#[derive(Module)]
enum Skip {
    Project(Option<Linear>),
    Identity(Identity),
}

fn main() {}
