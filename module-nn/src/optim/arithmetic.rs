//! The arithmetic that optimizers share, in PyTorch's order of operations, which gives its roundings.

use module_core::{Result, Tensor};

/// The gradient, negated to climb, with the weight decay `λ·p` added.
pub(super) fn decay_gradient(
    grad: &Tensor,
    value: &Tensor,
    weight_decay: f64,
    maximize: bool,
) -> Result<Tensor> {
    let grad = if maximize { grad.neg()? } else { grad.clone() };
    match weight_decay == 0.0 {
        true => Ok(grad),
        false => grad.add_scaled(value, weight_decay),
    }
}

/// The parameter after decoupled weight decay, `p·(1 - γ·λ)`.
pub(super) fn decay_value(value: &Tensor, lr: f64, weight_decay: f64) -> Result<Tensor> {
    match weight_decay == 0.0 {
        true => Ok(value.clone()),
        false => value.mul(1.0 - lr * weight_decay),
    }
}

/// `x + w·(y - x)`, from the side that rounds less.
pub(super) fn lerp(x: &Tensor, y: &Tensor, weight: f64) -> Result<Tensor> {
    let difference = y.sub(x)?;
    match weight < 0.5 {
        true => x.add_scaled(&difference, weight),
        false => y.add_scaled(&difference, weight - 1.0),
    }
}

/// `x + f·a·b`.
pub(super) fn add_product(x: &Tensor, factor: f64, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    x.add(&a.mul(factor)?.mul(b)?)
}

/// `x + f·a/b`.
pub(super) fn add_quotient(x: &Tensor, factor: f64, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    x.add(&a.mul(factor)?.div(b)?)
}

/// The average of squares, `β·v + (1 - β)·g²`.
pub(super) fn average_square(average: &Tensor, grad: &Tensor, beta: f64) -> Result<Tensor> {
    add_product(&average.mul(beta)?, 1.0 - beta, grad, grad)
}

/// `βᵗ`.
pub(super) fn power(beta: f64, step: u64) -> f64 {
    beta.powf(step as f64)
}
