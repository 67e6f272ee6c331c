//! A generic enum, with a variant of each form.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
enum Either<A, B, const N: usize> {
    Left(A),
    Right { many: [B; N] },
    Neither,
}

#[test]
fn runs() {
    let mut left: Either<Parameter, Parameter, 1> = Either::Left(parameter());
    assert_shown(&mut left, &["0"]);
    let mut right: Either<Parameter, Parameter, 1> = Either::Right {
        many: [parameter()],
    };
    assert_shown(&mut right, &["many: ParameterList", "many.0"]);
    let mut neither: Either<Parameter, Parameter, 1> = Either::Neither;
    assert_shown(&mut neither, &[]);
}
