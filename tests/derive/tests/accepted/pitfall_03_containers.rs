//! Layers in lists, arrays, tuples and maps register, even if nested.

use module_nn::IndexMap;
use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Net {
    list: Vec<Scale>,
    array: [Scale; 2],
    tuple: (Scale, Parameter),
    map: IndexMap<String, Scale>,
    nested: Vec<Vec<Parameter>>,
    boxed: Box<Scale>,
    shared: std::sync::Arc<Scale>,
}

#[derive(Module)]
struct Scale {
    w: Parameter,
}

fn scale() -> Scale {
    Scale { w: parameter() }
}

#[test]
fn runs() {
    let mut net = Net {
        list: vec![scale()],
        array: [scale(), scale()],
        tuple: (scale(), parameter()),
        map: IndexMap::from_iter([("b".to_owned(), scale()), ("a".to_owned(), scale())]),
        nested: vec![vec![parameter()]],
        boxed: Box::new(scale()),
        shared: std::sync::Arc::new(scale()),
    };
    assert_shown(
        &mut net,
        &[
            "list: ModuleList",
            "list.0: Scale",
            "list.0.w",
            "array: ModuleList",
            "array.0: Scale",
            "array.0.w",
            "array.1: Scale",
            "array.1.w",
            "tuple: ModuleList",
            "tuple.0: Scale",
            "tuple.0.w",
            "tuple.1",
            "map: ModuleDict",
            "map.b: Scale",
            "map.b.w",
            "map.a: Scale",
            "map.a.w",
            "nested: ModuleList",
            "nested.0: ParameterList",
            "nested.0.0",
            "boxed: Scale",
            "boxed.w",
            "shared: Scale",
            "shared.w",
        ],
    );
}
