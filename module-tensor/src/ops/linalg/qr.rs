//! The QR decomposition.

use super::host::{Batch, append};
use super::solve::{SolveTriangularOptions, Triangle, solve_triangular};
use super::{identity, transposed};
use crate::ops::autocast::AutocastPolicy;
use crate::tensor::{Backward, Function, Gradients, NoGradient, Tensor, is_grad_enabled, one};
use crate::{Result, Shape};

const NAME: &str = "linalg.qr";

/// The form of a decomposition `A = Q R`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QrMode {
    /// `Q` of `[m, k]` and `R` of `[k, n]`, where `k` is the smaller of `m` and `n`.
    #[default]
    Reduced,
    /// `Q` of `[m, m]` and `R` of `[m, n]`. With more rows than columns there is no gradient, as in PyTorch.
    Complete,
    /// `R` as for [`Reduced`](Self::Reduced), and a `Q` without elements. There is no gradient, as in PyTorch.
    R,
}

/// `Q` with orthonormal columns and an upper triangular `R` with `Q R = A`: PyTorch's `torch.linalg.qr`.
///
/// Columns of `Q` and rows of `R` are determined only up to sign. The gradient requires the first columns of `A`, as many
/// as there are rows, to be linearly independent.
///
/// # Shapes
///
/// `[…, m, n]` gives the shapes in [`QrMode`].
///
/// # Errors
///
/// Anything but matrices.
///
/// # Example
///
/// ```
/// use module_tensor::Tolerance;
/// use module_tensor::{Tensor, linalg};
///
/// let x = Tensor::from([[3.0_f64, 1.0], [4.0, 2.0]]);
/// let (q, r) = linalg::qr(&x, linalg::QrMode::Reduced)?;
/// assert!(q.matmul(&r)?.allclose(&x, Tolerance::new().rtol(1e-12).atol(1e-12))?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn qr(x: &Tensor, mode: QrMode) -> Result<(Tensor, Tensor)> {
    if let Some(out) = AutocastPolicy::Float32.apply([x], [], |[x], []| qr(x, mode)) {
        return out;
    }
    if let [.., m, n] = **x.shape()
        && m < n
        && mode != QrMode::R
    {
        // The columns beyond the number of rows follow from the others.
        let m = m as isize;
        let (first, rest) = (x.slice(-1, ..m, 1)?, x.slice(-1, m.., 1)?);
        let (q, r) = qr(&first, QrMode::Reduced)?;
        let rest = transposed(&q)?.matmul(&rest)?;
        return Ok((q, Tensor::cat(&[&r, &rest], -1)?));
    }
    let [q, r] = factors(x, mode == QrMode::Complete)?;
    let square = x.shape()[x.rank() - 2] == x.shape()[x.rank() - 1];
    if mode == QrMode::R {
        let r = r.record([x], |_| NoGradient("linalg.qr without Q"));
        return Ok((
            Tensor::zeros(Shape::from([0]), (x.dtype(), &x.device()))?,
            r,
        ));
    }
    if mode == QrMode::Complete && !square {
        let ended = |out: Tensor| out.record([x], |_| NoGradient("linalg.qr with a complete Q"));
        return Ok((ended(q), ended(r)));
    }
    let part = |of_q| Factor {
        x: x.clone(),
        q: q.clone(),
        r: r.clone(),
        of_q,
    };
    Ok((
        q.clone().record([x], |_| part(true)),
        r.clone().record([x], |_| part(false)),
    ))
}

fn factors(x: &Tensor, complete: bool) -> Result<[Tensor; 2]> {
    let batch = Batch::new(NAME, x)?;
    let (m, n) = (batch.rows, batch.columns);
    let k = if complete { m } else { m.min(n) };
    let (mut q, mut r) = (batch.reserve(&[m, k])?, batch.reserve(&[k, n])?);
    for i in 0..batch.count() {
        if m == 0 || n == 0 {
            // Nothing remains of `R`, and any orthonormal columns will do.
            append(&mut q, faer::Mat::identity(m, k).as_ref(), false);
            continue;
        }
        let found = batch.matrix(i).qr();
        if complete {
            append(&mut q, found.compute_Q().as_ref(), false);
        } else {
            append(&mut q, found.compute_thin_Q().as_ref(), false);
        }
        append(&mut r, found.thin_R(), false);
        // Below the triangle of a complete one.
        let rows = k - m.min(n);
        r.extend(std::iter::repeat_n(0.0, rows * n));
    }
    Ok([batch.tensor(q, &[m, k])?, batch.tensor(r, &[k, n])?])
}

struct Factor {
    x: Tensor,
    q: Tensor,
    r: Tensor,
    of_q: bool,
}

impl Function for Factor {
    fn name(&self) -> &'static str {
        NAME
    }

    /// `(gQ + Q sym(triu(gR Rᵀ - Qᵀ gQ))) R⁻ᵀ`, where `sym(X) = X + Xᵀ` with half its diagonal.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (q, r) = match is_grad_enabled() {
            // The decomposition again, as a function of the matrix.
            true => qr(&self.x, QrMode::Reduced)?,
            false => (self.q.clone(), self.r.clone()),
        };
        let grad = ctx.grad();
        let inner = match self.of_q {
            true => transposed(&q)?.matmul(grad)?.neg()?,
            false => grad.matmul(&transposed(&r)?)?,
        };
        let inner = inner.triu(0)?;
        let half = identity(&inner)?.mul(-0.5)?.add(1.0)?;
        let inner = inner.add(&transposed(&inner)?)?.mul(&half)?;
        let mut out = q.matmul(&inner)?;
        if self.of_q {
            out = out.add(grad)?;
        }
        let options = SolveTriangularOptions::new(Triangle::Lower).left(false);
        one(solve_triangular(&transposed(&r)?, &out, options)?)
    }
}
