//! The accuracy of the CPU's `f32` kernels in units in the last place (ULP), compared with `f64`: outputs and all
//! gradients, with one, two and three threads, which must give the same bits, and in shapes around the edges of blocks and
//! tiles.
//!
//! A unit is that of an element's *scale*:
//!
//! - Of an elementwise function, the scale is the exact result, and the unit is the distance from it to the next `f32`.
//!   Where a derivative is a sum that cancels (`1 - y²`), its scale is the sum of the magnitudes.
//! - Of a sum of products, the scale is the sum of their magnitudes, and the unit is `2⁻²³` times that, so that
//!   cancellation is not taken for inaccuracy.
//! - Of a formula of many steps, the scale follows from the same two rules, step by step ([`tape`]).
//!
//! Bounds come from theory, never from what the kernels return:
//!
//! - A sum of `n` products: `½ + √n`. Rounding a partial sum, which is at most the scale, errs by at most half a unit, by
//!   `√(1/12)` in the root mean square; `n` independent roundings of partial sums that grow evenly make `√n/6`, and six
//!   standard deviations are `√n` (N. Higham and T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", 2019).
//! - Convolutions by tiles: `3e-6` of the greatest scale, as `set_exact_convolutions` documents.
//! - The approximations in `f32` of `vector.rs` (`exp`, `exp2`, `expm1`, `ln`, `log1p`, `tanh`, `erf`): 2, as documented
//!   there. Functions of the standard library: 1. Those computed in `f64` and then rounded: ½.
//! - Formulas: the number of their roundings. Each errs by at most half a unit, but a unit may be half as large in the
//!   result.
//!
//! Each test runs in a child process. Run as its own child, it shows the greatest errors of every case, of the output and
//! of each gradient:
//!
//! ```text
//! MODULE_TESTS_CHILD=accuracy::products \
//!     cargo test -p module-tests --test tensors -- --exact accuracy::products --nocapture
//! ```
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod activations;
mod attention;
mod binary;
mod case;
mod convolutions;
mod function;
mod lanes;
mod losses;
mod normalizations;
mod pooling;
mod products;
mod recurrent;
mod reductions;
mod resampling;
mod sampling;
mod softmax;
mod tape;
mod terms;
mod unary;

use case::check;

#[test]
fn products() {
    check("products", products::cases);
}

#[test]
fn convolutions() {
    check("convolutions", convolutions::cases);
}

#[test]
fn transposed_convolutions() {
    check("transposed_convolutions", convolutions::transposed_cases);
}

#[test]
fn tiled_convolutions() {
    check("tiled_convolutions", convolutions::tiled_cases);
}

#[test]
fn unary_functions() {
    check("unary_functions", unary::cases);
}

#[test]
fn activations() {
    check("activations", activations::cases);
}

#[test]
fn binary_functions() {
    check("binary_functions", binary::cases);
}

#[test]
fn reductions() {
    check("reductions", reductions::cases);
}

#[test]
fn softmax() {
    check("softmax", softmax::cases);
}

#[test]
fn normalizations() {
    check("normalizations", normalizations::cases);
}

#[test]
fn pooling() {
    check("pooling", pooling::cases);
}

#[test]
fn resampling() {
    check("resampling", resampling::cases);
}

#[test]
fn sampling() {
    check("sampling", sampling::cases);
}

#[test]
fn attention() {
    check("attention", attention::cases);
}

#[test]
fn recurrent_layers() {
    check("recurrent_layers", recurrent::cases);
}

#[test]
fn losses_and_embeddings() {
    check("losses_and_embeddings", losses::cases);
}
