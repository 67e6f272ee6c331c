//! A generic container needs no hand-written bounds.

use std::marker::PhantomData;

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Scale {
    weight: Parameter,
}

#[derive(Module)]
struct Block<N, A, T = u8> {
    norm: N,
    layers: Vec<A>,
    unit: PhantomData<T>,
}

#[derive(Module)]
struct Hidden<N>(Private<N>);

#[derive(Module)]
struct Private<N> {
    inner: N,
}

fn scale() -> Scale {
    Scale {
        weight: parameter(),
    }
}

#[test]
fn runs() {
    let mut block: Block<Scale, Scale> = Block {
        norm: scale(),
        layers: vec![scale(), scale()],
        unit: PhantomData,
    };
    assert_shown(
        &mut block,
        &[
            "norm: Scale",
            "norm.weight",
            "layers: ModuleList",
            "layers.0: Scale",
            "layers.0.weight",
            "layers.1: Scale",
            "layers.1.weight",
        ],
    );
    // A parameter or a constant is as valid a field as a module.
    let mut plain = Block {
        norm: 7_usize,
        layers: vec![parameter()],
        unit: PhantomData::<String>,
    };
    assert_shown(&mut plain, &["norm=7", "layers: ParameterList", "layers.0"]);
    let mut hidden = Hidden(Private { inner: parameter() });
    assert_shown(&mut hidden, &["0: Private", "0.inner"]);
}
