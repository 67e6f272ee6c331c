//! Constants are printed but are not part of the state.

use std::marker::PhantomData;

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Net {
    flag: bool,
    size: usize,
    eps: f32,
    kernel: (usize, usize),
    dilation: [i64; 3],
    mode: &'static str,
    name: String,
    letter: char,
    unit: PhantomData<u8>,
    weight: Parameter,
}

#[test]
fn runs() {
    let mut net = Net {
        flag: true,
        size: 3,
        eps: 1.0,
        kernel: (3, 5),
        dilation: [1, 2, 3],
        mode: "zeros",
        name: "net".to_owned(),
        letter: 'x',
        unit: PhantomData,
        weight: parameter(),
    };
    assert_shown(
        &mut net,
        &[
            "flag=True",
            "size=3",
            "eps=1.0",
            "kernel=(3, 5)",
            "dilation=(1, 2, 3)",
            "mode=zeros",
            "name=net",
            "letter=x",
            "weight",
        ],
    );
}
