//! A type may contain itself through a `Box` or a `Vec`, even if it is generic.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Tree {
    value: Parameter,
    children: Vec<Self>,
}

#[derive(Module)]
struct GenericTree<N> {
    value: N,
    children: Vec<GenericTree<N>>,
}

#[derive(Module)]
enum List {
    Cons { head: Parameter, tail: Box<List> },
    Nil(Parameter),
}

#[test]
fn runs() {
    let mut tree = Tree {
        value: parameter(),
        children: vec![Tree {
            value: parameter(),
            children: vec![],
        }],
    };
    assert_shown(
        &mut tree,
        &[
            "value",
            "children: ModuleList",
            "children.0: Tree",
            "children.0.value",
            "children.0.children: ModuleList",
        ],
    );
    let mut tree = GenericTree {
        value: parameter(),
        children: vec![GenericTree {
            value: parameter(),
            children: vec![],
        }],
    };
    assert_eq!(crate::show::shown(&tree)[3], "children.0.value");
    assert_eq!(crate::show::shown_mut(&mut tree)[3], "children.0.value");
    let mut list = List::Cons {
        head: parameter(),
        tail: Box::new(List::Nil(parameter())),
    };
    assert_shown(&mut list, &["head", "tail"]);
}
