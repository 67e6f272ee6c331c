//! Unnamed fields register under their numbers.

use module_nn::prelude::*;

#[path = "../show.rs"]
mod show;
use show::{assert_shown, parameter};

#[derive(Module)]
struct Pair(Parameter, Inner);

#[derive(Module)]
struct Inner(Parameter);

fn main() {
    assert_shown(&mut Pair(parameter(), Inner(parameter())), &["0", "1: Inner", "1.0"]);
}
