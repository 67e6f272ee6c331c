//! Fields register under their names, in declaration order.

use module_nn::prelude::*;

use crate::show::parameter;

/// A doc comment on the type.
#[derive(Module)]
pub(crate) struct Net {
    /// A doc comment on a field.
    weight: Parameter,
    pub(crate) running_mean: Buffer,
    pub fc: Linear,
    training: Training,
    eps: f64,
    bias: Parameter,
}

#[test]
fn runs() {
    let mut net = Net {
        weight: parameter(),
        running_mean: crate::show::buffer(),
        fc: crate::show::linear(),
        training: Training::new(),
        eps: 1e-5,
        bias: parameter(),
    };
    let lines = crate::show::shown(&net);
    assert_eq!(
        lines[..5],
        [
            "weight",
            "[running_mean]",
            "fc: Linear",
            "fc.in_features=2",
            "fc.out_features=3"
        ]
        .map(String::from)
    );
    assert_eq!(lines[5..7], ["fc.weight", "fc.bias"].map(String::from));
    assert!(lines[7..].contains(&"<training>".to_owned()));
    assert!(lines[7..].contains(&"eps=1e-05".to_owned()));
    assert_eq!(lines.last().map(String::as_str), Some("bias"));
    assert_eq!(net.kind(), "Net");
    assert_eq!(
        crate::show::shown_mut(&mut net).last().map(String::as_str),
        Some("bias")
    );
}
