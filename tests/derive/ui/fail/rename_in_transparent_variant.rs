//! The payload of a one-field variant has the enum's key.

use module_nn::prelude::*;

#[derive(Module)]
enum Skip {
    Project(#[module(rename = "project")] Linear),
    Identity(Identity),
}

fn main() {}
