//! `r#type` registers as `type`, its name in Python.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct r#Match {
    r#type: Parameter,
    r#fn: Parameter,
}

#[test]
fn runs() {
    let mut module = r#Match {
        r#type: parameter(),
        r#fn: parameter(),
    };
    assert_shown(&mut module, &["type", "fn"]);
    assert_eq!(module.kind(), "Match");
}
