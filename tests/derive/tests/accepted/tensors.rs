//! Structs and enums as inputs, without any imports from the standard library.

#![no_implicit_prelude]
#![allow(dead_code)]

use ::module_nn::Tensors as _;

struct Option;
struct Vec;
struct Tensor;
trait Tensors {}
trait FnMut {}

#[derive(::module_nn::Tensors)]
struct Batch<'a, T, const N: usize> {
    rows: T,
    masks: [::module_nn::Tensor; N],
    r#type: &'a ::module_nn::Tensor,
    #[module(skip)]
    source: Option,
}

#[derive(::module_nn::Tensors)]
struct Pair(::module_nn::Tensor, ::std::vec::Vec<Pair>);

#[derive(::module_nn::Tensors)]
struct Unit;

#[derive(::module_nn::Tensors)]
#[module(crate = "::module_core")]
enum Input<T>
where
    T: ::std::marker::Send,
{
    One(T),
    Many { first: T, rest: ::std::vec::Vec<T> },
    Absent,
}

#[derive(::module_nn::Tensors)]
enum Never {}

#[::core::prelude::v1::test]
fn runs() {
    let one = || <::module_nn::Tensor as ::std::convert::From<f32>>::from(1.0);
    let borrowed = one();
    let mut batch = Batch {
        rows: Pair(one(), ::std::vec![Pair(one(), ::std::vec![])]),
        masks: [one()],
        r#type: &borrowed,
        source: Option,
    };
    let (mut seen, mut lent) = (0, 0);
    batch.for_each(&mut |_| seen += 1);
    batch.for_each_mut(&mut |_| lent += 1);
    ::std::assert_eq!((seen, lent), (4, 3));
    let many = Input::Many {
        first: one(),
        rest: ::std::vec![one(), one()],
    };
    for (input, expected) in [(many, 3), (Input::One(one()), 1), (Input::Absent, 0)] {
        let mut seen = 0;
        input.for_each(&mut |_| seen += 1);
        ::std::assert_eq!(seen, expected);
    }
    Unit.for_each(&mut |_| ::std::unreachable!());
}
