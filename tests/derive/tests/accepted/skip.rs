//! A skipped field is not part of the module, whatever its type.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Net<F, T> {
    weight: Parameter,
    #[module(skip)]
    act: fn(f32) -> f32,
    #[module(skip)]
    closure: F,
    #[module(skip)]
    names: std::collections::HashMap<String, usize>,
    #[module(skip)]
    note: Option<T>,
    #[module(skip)]
    cache: std::sync::Mutex<Vec<u8>>,
}

#[test]
fn runs() {
    let mut net = Net {
        weight: parameter(),
        act: |x| x,
        closure: |x: f32| x + 1.0,
        names: Default::default(),
        note: Some("note"),
        cache: Default::default(),
    };
    assert_shown(&mut net, &["weight"]);
    assert_eq!((net.act)(1.0) + (net.closure)(1.0), 3.0);
}
