//! Powers of tensors, selection between numbers, `isclose`, splits into given sizes, draws.

use super::fuzz;
use module_core::Tolerance;

#[test]
fn what_was_missing() {
    fuzz("pow of a tensor", |d| {
        let x = d.maybe_huge();
        let exponent = d.value(&x);
        x.pow(exponent)
    });
    fuzz("a number on the left", |d| {
        let (x, left) = (d.maybe_huge(), d.number());
        match d.below(4) {
            0 => left + &x,
            1 => left - &x,
            2 => left * &x,
            _ => left / &x,
        }
    });
    fuzz("where with numbers", |d| {
        let mask = d.maybe_huge().gt(0.0)?;
        let x = d.like(&mask);
        let (a, b) = (d.value(&x), d.value(&x));
        mask.where_(a, b)
    });
    fuzz("expand", |d| {
        let x = d.maybe_huge();
        let rank = d.below(5);
        let sizes: Vec<isize> = (0..rank).map(|_| d.dim()).collect();
        x.expand(sizes)
    });
    fuzz("split_with_sizes", |d| {
        let x = d.maybe_huge();
        let count = d.below(4);
        let sizes: Vec<usize> = (0..count).map(|_| d.size()).collect();
        let mut parts = x.split_with_sizes(sizes, d.dim())?;
        // There may be none.
        Ok(parts.pop().unwrap_or(x))
    });
    fuzz("isclose", |d| {
        let x = d.maybe_huge();
        let other = d.like(&x);
        x.isclose(
            &other,
            Tolerance::new()
                .rtol(d.number())
                .atol(d.number())
                .equal_nan(d.often()),
        )
    });
    fuzz("equal", |d| {
        let x = d.maybe_huge();
        let other = d.like(&x);
        Ok(x.equal(&other)?.into())
    });
    fuzz("rand_like", |d| d.maybe_huge().rand_like());
    fuzz("randn_like", |d| d.maybe_huge().randn_like());
}
