//! Explicit bounds are kept, and the type of a field may be an associated type.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

trait Activation: Module {}

trait Family {
    type Norm;
    type Act: Activation;
}

#[derive(Module)]
struct Net<F: Family, N: Send + Clone>
where
    F::Act: Sized,
    N: 'static,
{
    norm: F::Norm,
    act: <F as Family>::Act,
    name: N,
}

#[derive(Module)]
struct Gelu(Marker);

impl Activation for Gelu {}

struct Small;

impl Family for Small {
    type Norm = Parameter;
    type Act = Gelu;
}

#[test]
fn runs() {
    let mut net: Net<Small, String> = Net {
        norm: parameter(),
        act: Gelu(Marker::new()),
        name: "net".to_owned(),
    };
    assert_shown(&mut net, &["norm", "act: Gelu", "name=net"]);
}
