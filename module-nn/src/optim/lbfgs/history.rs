//! The history that L-BFGS keeps between iterations, and the direction that it computes from it.

use std::collections::VecDeque;

use module_core::{DType, Result, Tensor};

/// The difference of two gradients, and the step between them.
#[derive(Clone)]
pub(in crate::optim) struct Pair {
    pub(in crate::optim) grads: Tensor,
    pub(in crate::optim) step: Tensor,
    /// The inverse of the product of both.
    pub(in crate::optim) rho: f64,
}

/// Everything that an iteration needs from previous ones.
#[derive(Clone)]
pub(in crate::optim) struct History {
    pub(in crate::optim) func_evals: u64,
    pub(in crate::optim) n_iter: u64,
    pub(in crate::optim) direction: Option<Tensor>,
    pub(in crate::optim) last_grad: Option<Tensor>,
    /// The length of the last step.
    pub(in crate::optim) step: f64,
    /// The estimate of the inverse of the Hessian's diagonal.
    pub(in crate::optim) diagonal: f64,
    pub(in crate::optim) pairs: VecDeque<Pair>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            func_evals: 0,
            n_iter: 0,
            direction: None,
            last_grad: None,
            step: 0.0,
            diagonal: 1.0,
            pairs: VecDeque::new(),
        }
    }
}

impl History {
    /// Takes a gradient, and computes the direction of the next step.
    pub(super) fn turn(&mut self, grad: &Tensor, history_size: usize) -> Result<()> {
        let direction = match (&self.last_grad, &self.direction) {
            (Some(last_grad), Some(direction)) => {
                let grads = grad.sub(last_grad)?;
                let step = direction.mul(self.step)?;
                self.add_pair(grads, step, history_size)?;
                self.multiply(&grad.neg()?)?
            }
            _ => grad.neg()?,
        };
        self.direction = Some(direction);
        self.last_grad = Some(grad.clone());
        Ok(())
    }

    /// Keeps a pair, if the loss is convex along it.
    fn add_pair(&mut self, grads: Tensor, step: Tensor, history_size: usize) -> Result<()> {
        let product = item(&grads.dot(&step)?)?;
        if product.is_nan() || product <= 1e-10 {
            return Ok(());
        }
        self.diagonal = product / item(&grads.dot(&grads)?)?;
        let rho = 1.0 / product;
        while self.pairs.len() >= history_size.max(1) {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { grads, step, rho });
        Ok(())
    }

    /// The product with the estimated inverse of the Hessian, by the two-loop recursion.
    fn multiply(&self, x: &Tensor) -> Result<Tensor> {
        let mut q = x.clone();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let alpha = item(&pair.step.dot(&q)?)? * pair.rho;
            q = q.add_scaled(&pair.grads, -alpha)?;
            alphas.push(alpha);
        }
        let mut r = q.mul(self.diagonal)?;
        for (pair, alpha) in self.pairs.iter().zip(alphas.into_iter().rev()) {
            let beta = item(&pair.grads.dot(&r)?)? * pair.rho;
            r = r.add_scaled(&pair.step, alpha - beta)?;
        }
        Ok(r)
    }
}

/// The number in a tensor with one element.
pub(super) fn item(x: &Tensor) -> Result<f64> {
    x.to_dtype(DType::F64)?.item()
}
