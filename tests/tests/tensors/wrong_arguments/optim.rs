//! Optimizer steps.

use super::fuzz;
use module_core::fused::{Real, UpdateFormula, update_elements};

#[derive(Clone, Copy)]
struct Step {
    numbers: [f64; 3],
}

impl UpdateFormula<2, 1> for Step {
    fn apply<T: Real>(self, [value, square]: [T; 2], [grad]: [T; 1]) -> [T; 2] {
        let [lr, beta, eps] = self.numbers;
        let square = (square * beta).add_product(1.0 - beta, grad, grad);
        let root = square.sqrt() + eps;
        [value.add_quotient(-lr, grad, root), square]
    }
}

#[test]
fn steps() {
    fuzz("update_elements", |d| {
        let mut x = d.maybe_huge();
        let like = |d: &mut super::Draw| if d.often() { x.clone() } else { d.like(&x) };
        let (grad, mut square) = (like(d), like(d));
        let numbers = [d.number(), d.number(), d.number()];
        update_elements([&mut x, &mut square], [&grad], Step { numbers })?;
        Ok(x)
    });
}
