//! The type determines the role, not its spelling: aliases and renamed imports register.

use module_nn::prelude::*;
use module_nn::{Buffer as State, Linear as Dense, Parameter as Weight};

use crate::show::parameter;

type Alias = Parameter;
type Layers = Vec<Alias>;
type Flag = Training;

#[derive(Module)]
struct Net {
    alias: Alias,
    weight: Weight,
    state: State,
    layers: Layers,
    dense: Dense,
    flag: Flag,
}

#[test]
fn runs() {
    let net = Net {
        alias: parameter(),
        weight: parameter(),
        state: crate::show::buffer(),
        layers: vec![parameter()],
        dense: crate::show::linear(),
        flag: Flag::new(),
    };
    let lines = crate::show::shown(&net);
    assert_eq!(
        lines[..6],
        [
            "alias",
            "weight",
            "[state]",
            "layers: ParameterList",
            "layers.0",
            "dense: Linear"
        ]
        .map(String::from)
    );
    assert!(lines.contains(&"dense.weight".to_owned()));
    assert_eq!(lines.last().map(String::as_str), Some("<training>"));
}
