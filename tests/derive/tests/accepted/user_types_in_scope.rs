//! Users' types and constants are not mistaken for those that the expansion needs.

#![allow(dead_code, unused_macros, non_upper_case_globals, non_camel_case_types)]

struct Result;
struct Vec;
struct Option;
struct Some;
struct None;
struct Box;
struct str;
struct usize;
struct Send;
struct Sync;
struct Visitor;
struct Field;
trait Module {}
macro_rules! assert {
    () => {};
}
const visitor: u8 = 0;
const v: u8 = 0;
const name: u8 = 0;
mod core {}
mod std {}

#[derive(::module_nn::Module)]
struct Net<A> {
    weight: ::module_nn::Parameter,
    inner: A,
    #[module(skip)]
    note: u8,
}

#[derive(::module_nn::Module)]
enum Choice {
    Weight(::module_nn::Parameter),
    Unit,
}

#[test]
fn runs() {
    let mut net = Net {
        weight: crate::show::parameter(),
        inner: Choice::Weight(crate::show::parameter()),
        note: 1,
    };
    crate::show::assert_shown(&mut net, &["weight", "inner"]);
}
