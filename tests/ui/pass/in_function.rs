//! Modules that are defined in a function, two of them by one name.

use module_nn::prelude::*;

#[path = "../show.rs"]
mod show;
use show::{assert_shown, parameter};

fn first() -> Vec<String> {
    #[derive(Module)]
    struct Net {
        a: Parameter,
    }
    show::shown(&Net { a: parameter() })
}

fn main() {
    #[derive(Module)]
    struct Net {
        b: Parameter,
    }
    assert_eq!(first(), ["a"]);
    assert_shown(&mut Net { b: parameter() }, &["b"]);
}
