//! The expansion causes no warnings under the lints that users may enable.

#![forbid(unsafe_code)]
#![deny(
    warnings,
    unused,
    nonstandard_style,
    future_incompatible,
    rust_2018_idioms,
    let_underscore
)]
#![deny(
    missing_docs,
    unused_qualifications,
    unused_results,
    unused_lifetimes,
    single_use_lifetimes,
    unreachable_pub
)]
#![deny(
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    variant_size_differences,
    explicit_outlives_requirements
)]
#![allow(dead_code)]

use module_nn::prelude::*;

#[derive(Module)]
#[non_exhaustive]
struct Net<N, const K: usize> {
    weight: Parameter,
    #[deprecated]
    old: Parameter,
    inner: Private<N>,
    #[module(skip)]
    name: String,
    sizes: [usize; K],
}

#[derive(Module)]
struct Private<N>(N);

/// Documented and public.
#[derive(Module)]
pub struct Public<N> {
    hidden: Private<N>,
    #[module(flatten)]
    base: Private<N>,
}

#[derive(Module, Forward)]
#[allow(clippy::large_enum_variant)]
enum Choice {
    Linear(Linear),
    #[deprecated]
    Old(Linear),
}

#[derive(Module)]
#[repr(u8)]
enum Forms {
    A { a: Parameter, _hidden: u8 } = 3,
    B(Parameter, usize),
    C,
}

fn main() {}
