//! Flattened children with distinct keys: generic, nested, behind pointers, in a variant and written by hand.

use module_nn::module::{Visitor, VisitorMut};
use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct A {
    a: Parameter,
    training: Training,
    eps: f64,
}

#[derive(Module)]
struct Nested<B> {
    #[module(flatten)]
    a: A,
    #[module(flatten)]
    b: Box<B>,
    eps: f64,
    training: Training,
}

#[derive(Module)]
enum Norm<const K: usize> {
    Affine {
        weight: Parameter,
        #[module(flatten)]
        rest: One<K>,
    },
    Plain {
        #[module(flatten)]
        rest: One<K>,
    },
}

#[derive(Module)]
struct One<const K: usize> {
    one: Parameter,
    sizes: [u8; K],
}

/// A module without `FIELDS`, whose keys are unknown.
struct Hand(Parameter);

impl Module for Hand {
    fn kind(&self) -> &'static str {
        "Hand"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visitor.parameter("hand", &self.0);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        visitor.parameter("hand", &mut self.0);
    }

    fn as_module(&self) -> &dyn Module {
        self
    }

    fn as_module_mut(&mut self) -> &mut dyn Module {
        self
    }
}

#[derive(Module)]
struct Net {
    #[module(flatten)]
    hand: Hand,
    #[module(flatten)]
    layers: Sequential,
    #[module(flatten)]
    layer: Box<dyn Layer>,
    #[module(flatten)]
    pair: (A, Parameter),
    a: Nested<One<0>>,
    one: Norm<1>,
}

/// A bound that callers can rely on for any flattened type.
fn shown<B: Module + Describe>(b: B) -> Vec<String> {
    crate::show::shown(&Nested {
        a: a(),
        b: Box::new(b),
        eps: 0.5,
        training: Training::new(),
    })
}

fn a() -> A {
    A {
        a: parameter(),
        training: Training::new(),
        eps: 0.5,
    }
}

fn one<const K: usize>() -> One<K> {
    One {
        one: parameter(),
        sizes: [1; K],
    }
}

#[test]
fn runs() {
    assert_eq!(
        shown(one::<0>()),
        [
            "a",
            "<training>",
            "eps=0.5",
            "one",
            "sizes=()",
            "eps=0.5",
            "<training>"
        ]
    );
    assert_shown(
        &mut Norm::Affine {
            weight: parameter(),
            rest: one::<1>(),
        },
        &["weight", "one", "sizes=(1,)"],
    );
    let nested = Nested {
        a: a(),
        b: Box::new(one()),
        eps: 0.5,
        training: Training::new(),
    };
    let net = Net {
        hand: Hand(parameter()),
        layers: Sequential::new(),
        layer: Box::new(crate::show::identity()),
        pair: (a(), parameter()),
        a: nested,
        one: Norm::Plain { rest: one() },
    };
    let lines = crate::show::shown(&net);
    assert_eq!(lines[0], "hand");
    assert_eq!(lines[1..3], ["0: A", "0.a"].map(String::from));
    assert!(lines.contains(&"1".to_owned()) && lines.contains(&"one.one".to_owned()));
}
