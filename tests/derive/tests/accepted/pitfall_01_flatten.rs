//! One child with two parents: every member is kept, without a prefix.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct A {
    a: Parameter,
}

#[derive(Module)]
struct B<N> {
    b: N,
}

#[derive(Module)]
struct Child<N> {
    #[module(flatten)]
    first: A,
    #[module(flatten)]
    second: B<N>,
    c: Parameter,
}

#[test]
fn runs() {
    let mut child = Child {
        first: A { a: parameter() },
        second: B { b: parameter() },
        c: parameter(),
    };
    assert_shown(&mut child, &["a", "b", "c"]);
}
