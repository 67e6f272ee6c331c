//! The singular value decomposition.

use super::host::{Batch, append};
use super::{identity, transposed};
use crate::Result;
use crate::ops::autocast::AutocastPolicy;
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled, one};

const NAME: &str = "linalg.svd";

/// `U`, the singular values `S` in descending order, and `Vᵀ` with `U diag(S) Vᵀ = A`: PyTorch's `torch.linalg.svd`.
///
/// Columns of `U` and rows of `Vᵀ` are determined only up to a common sign, so only functions that do not depend on it are
/// well defined. Their gradients are not finite if singular values are equal, or 0 in a matrix that is not square;
/// gradients of the columns and rows that only the full matrices have are ignored, as in PyTorch.
///
/// # Shapes
///
/// `[…, m, n]` gives `[…, m, m]`, `[…, k]` and `[…, n, n]`, where `k` is the smaller of `m` and `n`.
///
/// # Errors
///
/// An element that is not finite, anything but matrices.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, Tolerance, linalg};
///
/// let x = Tensor::from([[3.0_f64, 0.0], [0.0, -4.0], [0.0, 0.0]]);
/// let (u, s, vh) = linalg::svd(&x)?;
/// assert_eq!(u.shape().to_string(), "[3, 3]");
/// assert!(s.allclose(&Tensor::from([4.0_f64, 3.0]), Tolerance::new().rtol(1e-12))?);
/// assert_eq!(vh.shape().to_string(), "[2, 2]");
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn svd(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    decompose(x, true)
}

/// [`svd`] with only the first `k` columns of `U` and rows of `Vᵀ`: `full_matrices=False`.
///
/// # Shapes
///
/// `[…, m, n]` gives `[…, m, k]`, `[…, k]` and `[…, k, n]`, where `k` is the smaller of `m` and `n`.
///
/// # Errors
///
/// Those of [`svd`].
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, Tolerance, linalg};
///
/// let x = Tensor::from([[3.0_f64, 0.0], [0.0, -4.0], [0.0, 0.0]]);
/// let (u, s, vh) = linalg::svd_reduced(&x)?;
/// assert!(u.mul(&s)?.matmul(&vh)?.allclose(&x, Tolerance::new().rtol(1e-12))?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn svd_reduced(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    decompose(x, false)
}

fn decompose(x: &Tensor, full_matrices: bool) -> Result<(Tensor, Tensor, Tensor)> {
    if let Some(out) = AutocastPolicy::Float32.apply([x], [], |[x], []| decompose(x, full_matrices))
    {
        return out;
    }
    let [u, s, vh] = factors(x, full_matrices)?;
    let k = s.shape().last().copied().unwrap_or(0);
    let thin = [u.narrow(-1, 0..k)?, s.clone(), vh.narrow(-2, 0..k)?];
    let part = |which| Singular {
        x: x.clone(),
        thin: thin.clone(),
        which,
    };
    Ok((
        u.record([x], |_| part(Part::U)),
        s.record([x], |_| part(Part::S)),
        vh.record([x], |_| part(Part::Vh)),
    ))
}

/// The singular values in descending order: PyTorch's `torch.linalg.svdvals`.
///
/// # Errors
///
/// Those of [`svd`].
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, Tolerance, linalg};
///
/// let s = linalg::svdvals(&Tensor::from([[3.0_f64, 0.0], [0.0, -4.0]]))?;
/// assert!(s.allclose(&Tensor::from([4.0_f64, 3.0]), Tolerance::new().rtol(1e-12).atol(0.0))?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn svdvals(x: &Tensor) -> Result<Tensor> {
    Ok(svd_reduced(x)?.1)
}

fn factors(x: &Tensor, full: bool) -> Result<[Tensor; 3]> {
    let batch = Batch::new(NAME, x)?;
    batch.check_finite()?;
    let (m, n) = (batch.rows, batch.columns);
    let k = m.min(n);
    let (left, right) = if full {
        ([m, m], [n, n])
    } else {
        ([m, k], [k, n])
    };
    let (mut u, mut s, mut vh) = (
        batch.reserve(&left)?,
        batch.reserve(&[k])?,
        batch.reserve(&right)?,
    );
    for i in 0..batch.count() {
        if k == 0 {
            // Any orthonormal columns will do.
            append(
                &mut u,
                faer::Mat::identity(left[0], left[1]).as_ref(),
                false,
            );
            append(
                &mut vh,
                faer::Mat::identity(right[0], right[1]).as_ref(),
                false,
            );
            continue;
        }
        let matrix = batch.matrix(i);
        let found = if full {
            matrix.svd()
        } else {
            matrix.thin_svd()
        };
        let found = found.map_err(|_| {
            batch.fail(
                i,
                "has no computed singular values: the iteration did not converge",
            )
        })?;
        append(&mut u, found.U(), false);
        s.extend(found.S().column_vector().iter());
        append(&mut vh, found.V(), true);
    }
    Ok([
        batch.tensor(u, &left)?,
        batch.tensor(s, &[k])?,
        batch.tensor(vh, &right)?,
    ])
}

#[derive(Clone, Copy)]
enum Part {
    U,
    S,
    Vh,
}

struct Singular {
    x: Tensor,
    thin: [Tensor; 3],
    which: Part,
}

impl Function for Singular {
    fn name(&self) -> &'static str {
        NAME
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (u, s, vh) = if is_grad_enabled() {
            // The decomposition again, as a function of the matrix.
            svd_reduced(&self.x)?
        } else {
            let [u, s, vh] = &self.thin;
            (u.clone(), s.clone(), vh.clone())
        };
        let (row, column) = (s.unsqueeze(-2)?, s.unsqueeze(-1)?);
        let k = s.shape().last().copied().unwrap_or(0);
        // Differences of squares, and 1 on the diagonal, where the numerator is 0.
        let gaps = || row.square()?.sub(&column.square()?)?.add(&identity(&s)?);
        let skew = |x: Tensor| x.sub(&transposed(&x)?);
        let wide = |side: &Tensor, other: usize| side.shape()[side.rank() - other] > k;
        one(match self.which {
            Part::S => u.mul(&ctx.grad().unsqueeze(-2)?)?.matmul(&vh)?,
            Part::U => {
                let grad = ctx.grad().narrow(-1, 0..k)?;
                let inner = skew(transposed(&u)?.matmul(&grad)?)?.div(&gaps()?)?;
                let mut out = u.matmul(&inner.mul(&row)?)?;
                if wide(&u, 2) {
                    let outside = grad.div(&row)?;
                    let inside = u.matmul(&transposed(&u)?.matmul(&outside)?)?;
                    out = out.add(&outside)?.sub(&inside)?;
                }
                out.matmul(&vh)?
            }
            Part::Vh => {
                let grad = ctx.grad().narrow(-2, 0..k)?;
                let inner = skew(vh.matmul(&transposed(&grad)?)?)?.div(&gaps()?)?;
                let mut out = inner.mul(&column)?.matmul(&vh)?;
                if wide(&vh, 1) {
                    let outside = grad.div(&column)?;
                    let inside = outside.matmul(&transposed(&vh)?)?.matmul(&vh)?;
                    out = out.add(&outside)?.sub(&inside)?;
                }
                u.matmul(&out)?
            }
        })
    }
}
