//! The expansion needs nothing in scope.

#![no_implicit_prelude]

#[derive(::module_nn::Module)]
struct Net<N, const K: usize> {
    weight: ::module_nn::Parameter,
    inner: N,
    #[module(skip)]
    name: ::std::string::String,
    sizes: [usize; K],
}

#[derive(::module_nn::Module)]
#[module(extra_repr = describe)]
enum Choice {
    Weight(::module_nn::Parameter),
    Named { weight: ::module_nn::Parameter },
    Unit,
}

fn describe(_: &Choice, _: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
    ::std::result::Result::Ok(())
}

#[derive(::module_nn::Module)]
struct Skips {
    weight: ::module_nn::Parameter,
    #[module(skip)]
    name: ::std::string::String,
}

#[::core::prelude::v1::test]
fn runs() {
    let _ = [Choice::Unit];
    fn is_module<M: ::module_nn::Module>() {}
    is_module::<Net<Choice, 2>>();
    is_module::<Skips>();
}
