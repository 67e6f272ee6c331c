//! A variant with several fields, with named fields or with none is a separate module.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
enum Norm {
    Affine {
        weight: Parameter,
        #[module(rename = "beta")]
        bias: Parameter,
        eps: f64,
    },
    Pair(Parameter, #[module(skip)] String, Parameter),
    Hidden(#[module(skip)] String),
    None,
}

#[derive(Module)]
struct Net {
    norm: Norm,
}

fn net(norm: Norm) -> Net {
    Net { norm }
}

#[test]
fn runs() {
    assert_shown(
        &mut net(Norm::Affine {
            weight: parameter(),
            bias: parameter(),
            eps: 0.5,
        }),
        &["norm: Norm", "norm.weight", "norm.beta", "norm.eps=0.5"],
    );
    assert_shown(
        &mut net(Norm::Pair(parameter(), String::new(), parameter())),
        &["norm: Norm", "norm.0", "norm.2"],
    );
    assert_shown(&mut net(Norm::Hidden(String::new())), &["norm: Norm"]);
    assert_shown(&mut net(Norm::None), &["norm: Norm"]);
}
