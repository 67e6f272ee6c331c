//! A custom differentiable operation, with its gradient checked to second order.

use module_nn::autograd::{gradcheck, gradgradcheck};
use module_nn::prelude::*;
use module_nn::{Backward, Function, Gradients};

/// `mish(x) = x · tanh(log(1 + eˣ))` as one operation, regardless of how it is computed.
fn mish(x: &Tensor) -> Result<Tensor> {
    let y = no_grad(|| x.exp()?.log1p()?.tanh()?.mul(x))?;
    Ok(y.record([x], |_| Mish { x: x.clone() }))
}

/// Its gradient, with the values that the forward pass saves for it.
struct Mish {
    x: Tensor,
}

impl Function for Mish {
    fn name(&self) -> &'static str {
        "mish"
    }

    /// `tanh s + x · σ(x) · (1 - tanh² s)` where `s = log(1 + eˣ)`, written with differentiable operations, so that second
    /// derivatives work.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let x = &self.x;
        let tanh = x.exp()?.log1p()?.tanh()?;
        let rest = tanh.square()?.neg()?.add(1.0)?;
        let slope = tanh.add(x.mul(x.sigmoid()?)?.mul(rest)?)?;
        Ok([Some(ctx.grad().mul(slope)?)].into_iter().collect())
    }
}

fn main() -> Result<()> {
    let x = Tensor::from([[-2.0_f64, -0.5, 0.0], [0.25, 1.0, 3.0]]);
    gradcheck(|x| mish(&x[0]), std::slice::from_ref(&x))?;
    gradgradcheck(|x| mish(&x[0]), std::slice::from_ref(&x))?;
    println!("the gradients of mish agree with differences, to second order");

    let x = x.with_grad()?;
    let y = mish(&x)?;
    y.sum(..)?.backward()?;
    println!("mish {y}");
    if let Some(grad) = x.grad() {
        println!("grad {grad}");
    }
    Ok(())
}
