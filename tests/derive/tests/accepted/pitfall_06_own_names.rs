//! A user's type with the name of a refused type is treated as the type that it is.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Option<T> {
    value: T,
}

#[derive(Module)]
struct Cell<T>(T);

#[derive(Module)]
struct HashMap<K, V>(K, V);

#[derive(Module)]
struct Tensor(Parameter);

#[derive(Module)]
struct Net {
    option: Option<Parameter>,
    cell: Cell<Parameter>,
    map: HashMap<u8, Parameter>,
    tensor: Tensor,
}

#[test]
fn runs() {
    let mut net = Net {
        option: Option { value: parameter() },
        cell: Cell(parameter()),
        map: HashMap(1, parameter()),
        tensor: Tensor(parameter()),
    };
    assert_shown(
        &mut net,
        &[
            "option: Option",
            "option.value",
            "cell: Cell",
            "cell.0",
            "map: HashMap",
            "map.0=1",
            "map.1",
            "tensor: Tensor",
            "tensor.0",
        ],
    );
}
