//! The text between the parentheses in the module tree: the constants, or a function's output.

use std::fmt;

use module_nn::prelude::*;

#[derive(Module)]
#[module(extra_repr = Self::describe)]
struct Conv<const K: usize> {
    kernel: [usize; K],
}

impl<const K: usize> Conv<K> {
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel of {K}")
    }
}

#[derive(Module)]
struct Plain {
    size: usize,
    bias: bool,
}

#[derive(Module)]
#[module(extra_repr = functions::describe)]
enum Choice {
    A,
    B,
}

mod functions {
    pub(crate) fn describe(
        choice: &super::Choice,
        f: &mut std::fmt::Formatter<'_>,
    ) -> std::fmt::Result {
        f.write_str(if matches!(choice, super::Choice::A) {
            "a"
        } else {
            "b"
        })
    }
}

struct Repr<'a>(&'a dyn Module);

impl fmt::Display for Repr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.extra_repr(f)
    }
}

#[test]
fn runs() {
    assert_eq!(Repr(&Conv { kernel: [1, 2] }).to_string(), "kernel of 2");
    assert_eq!(
        Repr(&Plain {
            size: 4,
            bias: true
        })
        .to_string(),
        "size=4, bias=True"
    );
    assert_eq!(
        Repr(&Choice::A).to_string() + &Repr(&Choice::B).to_string(),
        "ab"
    );
}
