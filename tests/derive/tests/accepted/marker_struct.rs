//! A module without state has a marker, which does not appear anywhere.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Swish {
    marker: Marker,
}

#[derive(Module)]
struct Mish(Marker);

#[derive(Module)]
struct Net {
    act: Swish,
    out: Mish,
    scale: Parameter,
}

#[test]
fn runs() {
    let mut net = Net {
        act: Swish {
            marker: Marker::new(),
        },
        out: Mish(Marker::new()),
        scale: parameter(),
    };
    assert_shown(&mut net, &["act: Swish", "out: Mish", "scale"]);
}
