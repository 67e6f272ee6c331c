//! Structs written by a macro, with types and names from its arguments.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

macro_rules! network {
    ($name:ident { $($field:ident: $type:ty = $key:literal),* }) => {
        #[derive(Module)]
        struct $name {
            $(#[module(rename = $key)] $field: $type,)*
        }
    };
}

network!(Net { weight: Parameter = "w", layers: Vec<Parameter> = "l", name: &'static str = "n" });

#[test]
fn runs() {
    let mut net = Net {
        weight: parameter(),
        layers: vec![parameter()],
        name: "net",
    };
    assert_shown(&mut net, &["w", "l: ParameterList", "l.0", "n=net"]);
}
