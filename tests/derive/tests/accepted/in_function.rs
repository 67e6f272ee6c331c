//! Modules defined in a function, two of them with the same name.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

fn first() -> Vec<String> {
    #[derive(Module)]
    struct Net {
        a: Parameter,
    }
    crate::show::shown(&Net { a: parameter() })
}

#[test]
fn runs() {
    #[derive(Module)]
    struct Net {
        b: Parameter,
    }
    assert_eq!(first(), ["a"]);
    assert_shown(&mut Net { b: parameter() }, &["b"]);
}
