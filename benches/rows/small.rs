//! Work so small that the overhead of an operation dominates its arithmetic.

use module_nn::prelude::*;

use super::networks::classifier;
use super::row::{Rows, clear, randn, work};

pub(crate) fn add(rows: &mut Rows) {
    rows.add("add one element", || {
        let (a, b) = (randn(&[1])?, randn(&[1])?);
        work(move || a.add(&b).map(drop))
    });
    rows.add("add one element, tracked", || {
        let (a, b) = (randn(&[1])?.with_grad()?, randn(&[1])?);
        work(move || a.add(&b).map(drop))
    });
    rows.add("mul one element by a number", || {
        let a = randn(&[1])?;
        work(move || a.mul(2.0).map(drop))
    });
    rows.add("MLP 2-16-1, batch 8, SGD step", || {
        let model = classifier(&[2, 16, 1])?;
        let mut optimizer = SGD::new(&model, 1e-3)?;
        let (x, y) = (randn(&[8, 2])?, randn(&[8, 1])?);
        work(move || {
            clear(&model, []);
            let loss = model.call(x.clone())?.sub(&y)?.square()?.mean(..)?;
            loss.backward()?;
            optimizer.step(&model)
        })
    });
}
