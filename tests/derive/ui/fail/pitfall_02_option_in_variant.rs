//! An enum is the cure, and its payload is no `Option` either.

use module_nn::prelude::*;

#[derive(Module)]
enum Skip {
    Project(Option<Linear>),
    Identity(Identity),
}

fn main() {}
