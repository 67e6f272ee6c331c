//! The name in the module tree and in errors: the type's, or a constant, which may depend on type parameters.

use module_nn::prelude::*;

#[derive(Module)]
#[module(kind = Self::NAME)]
struct Conv<const N: usize> {
    weight: Parameter,
}

impl<const N: usize> Conv<N> {
    const NAME: &'static str = if N == 1 { "Conv1d" } else { "Conv2d" };
}

const OTHER: &str = "Other";

#[derive(Module)]
#[module(kind = crate::kind::OTHER)]
enum Choice {
    A,
    B,
}

#[test]
fn runs() -> Result<()> {
    let weight = || Parameter::new(Tensor::from([1.0_f32]));
    assert_eq!(Conv::<1> { weight: weight()? }.kind(), "Conv1d");
    assert_eq!(Conv::<2> { weight: weight()? }.kind(), "Conv2d");
    assert_eq!((Choice::A.kind(), Choice::B.kind()), ("Other", "Other"));
    Ok(())
}
