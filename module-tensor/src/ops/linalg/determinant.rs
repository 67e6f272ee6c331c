//! Determinants.

use super::host::Batch;
use super::solve::{Lu, inv};
use super::svd::svd_reduced;
use super::transposed;
use crate::ops::autocast::AutocastPolicy;
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled, one};
use crate::{DType, Result};

/// The determinants of square matrices: PyTorch's `torch.linalg.det`.
///
/// The gradient, by cofactors, is exact for singular matrices too; with `create_graph` it requires invertible ones.
///
/// # Errors
///
/// Anything but square matrices.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, linalg};
///
/// let x = Tensor::from([[1.0_f64, 2.0], [3.0, 4.0]]);
/// assert!((linalg::det(&x)?.item::<f64>()? + 2.0).abs() < 1e-12);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn det(x: &Tensor) -> Result<Tensor> {
    if let Some(out) = AutocastPolicy::Unchanged.apply([x], [], |[x], []| det(x)) {
        return out;
    }
    let batch = Batch::square("linalg.det", x)?;
    let mut out = batch.reserve(&[])?;
    for i in 0..batch.count() {
        let (pivots, even) = Lu::new(batch.matrix(i).as_ref()).pivots();
        let product = match pivots.contains(&0.0) {
            true => 0.0,
            false => pivots.iter().product(),
        };
        out.push(if even { product } else { -product });
    }
    let out = batch.tensor(out, &[])?;
    Ok(out.record([x], |y| Det {
        x: x.clone(),
        y: y.clone(),
    }))
}

/// The signs of the determinants of square matrices, and the logarithms of their magnitudes, without overflow: PyTorch's
/// `torch.linalg.slogdet`. For singular matrices 0 and `-∞`.
///
/// The sign has no gradient; that of the logarithm is `A⁻ᵀ`.
///
/// # Errors
///
/// Anything but square matrices. The gradient at a singular matrix is an error.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, linalg};
///
/// let (sign, log) = linalg::slogdet(&Tensor::from([[0.0_f64, 1.0], [1.0, 0.0]]))?;
/// assert_eq!((sign.item::<f64>()?, log.item::<f64>()?), (-1.0, 0.0));
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn slogdet(x: &Tensor) -> Result<(Tensor, Tensor)> {
    if let Some(out) = AutocastPolicy::Unchanged.apply([x], [], |[x], []| slogdet(x)) {
        return out;
    }
    let batch = Batch::square("linalg.slogdet", x)?;
    let (mut signs, mut logs) = (batch.reserve(&[])?, batch.reserve(&[])?);
    for i in 0..batch.count() {
        let (pivots, even) = Lu::new(batch.matrix(i).as_ref()).pivots();
        if pivots.contains(&0.0) {
            signs.push(0.0);
            logs.push(f64::NEG_INFINITY);
            continue;
        }
        let negative = pivots.iter().filter(|pivot| **pivot < 0.0).count();
        let nan = pivots.iter().any(|pivot| pivot.is_nan());
        let sign = if even == (negative % 2 == 0) {
            1.0
        } else {
            -1.0
        };
        signs.push(if nan { f64::NAN } else { sign });
        logs.push(pivots.iter().map(|pivot| pivot.abs().ln()).sum());
    }
    let log = batch.tensor(logs, &[])?;
    let log = log.record([x], |_| LogDet { x: x.clone() });
    Ok((batch.tensor(signs, &[])?, log))
}

/// Numbers in a shape that broadcasts to matrices.
fn as_matrices(x: &Tensor) -> Result<Tensor> {
    x.unsqueeze(-1)?.unsqueeze(-1)
}

struct Det {
    x: Tensor,
    y: Tensor,
}

impl Function for Det {
    fn name(&self) -> &'static str {
        "linalg.det"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = as_matrices(ctx.grad())?;
        one(if is_grad_enabled() {
            let y = as_matrices(&ctx.output(&self.y))?;
            grad.mul(&y)?.mul(&transposed(&inv(&self.x)?)?)?
        } else {
            grad.mul(&cofactors(&self.x.detach())?)?
        })
    }
}

/// `det(U) det(V) U adj(S) Vᵀ`, without a division.
fn cofactors(x: &Tensor) -> Result<Tensor> {
    let (u, s, vh) = svd_reduced(&x.to_dtype(DType::F64)?)?;
    let sign = as_matrices(&det(&u)?.mul(&det(&vh)?)?)?;
    let width = s.shape().last().copied().unwrap_or(0);
    let mut others = s.to_vec::<f64>()?;
    if width > 0 {
        for row in others.chunks_exact_mut(width) {
            let values = row.to_vec();
            for (i, other) in row.iter_mut().enumerate() {
                let rest = values.iter().enumerate().filter(|&(j, _)| j != i);
                *other = rest.map(|(_, value)| value).product();
            }
        }
    }
    let others = Tensor::from_vec(others, s.shape())?.to_device(&x.device())?;
    u.mul(&others.unsqueeze(-2)?)?
        .matmul(&vh)?
        .mul(&sign)?
        .to_dtype(x.dtype())
}

struct LogDet {
    x: Tensor,
}

impl Function for LogDet {
    fn name(&self) -> &'static str {
        "linalg.slogdet"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(as_matrices(ctx.grad())?.mul(&transposed(&inv(&self.x)?)?)?)
    }
}
