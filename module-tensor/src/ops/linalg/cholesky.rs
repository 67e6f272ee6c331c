//! The Cholesky decomposition.

use faer::Side;

use super::host::{Batch, append};
use super::solve::{SolveTriangularOptions, Triangle, solve_triangular};
use super::{identity, transposed};
use crate::Result;
use crate::ops::autocast::AutocastPolicy;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

const NAME: &str = "linalg.cholesky";

/// The lower triangular `L` with `L Lᵀ = A` for symmetric positive-definite `A`, of which only the lower triangle is read:
/// PyTorch's `torch.linalg.cholesky`.
///
/// # Errors
///
/// A matrix that is not positive-definite, anything but square matrices.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, linalg};
///
/// let x = linalg::cholesky(&Tensor::from([[4.0_f64, 2.0], [2.0, 5.0]]))?;
/// assert_eq!(x.to_vec::<f64>()?, [2.0, 0.0, 1.0, 2.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn cholesky(x: &Tensor) -> Result<Tensor> {
    triangular_root(x)
}

/// The upper triangular `Lᵀ` of [`cholesky`]: `upper=True`.
///
/// # Errors
///
/// Those of [`cholesky`].
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, linalg};
///
/// let x = linalg::cholesky_upper(&Tensor::from([[4.0_f64, 2.0], [2.0, 5.0]]))?;
/// assert_eq!(x.to_vec::<f64>()?, [2.0, 1.0, 0.0, 2.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn cholesky_upper(x: &Tensor) -> Result<Tensor> {
    transposed(&triangular_root(x)?)
}

fn triangular_root(x: &Tensor) -> Result<Tensor> {
    if let Some(out) = AutocastPolicy::Float32.apply([x], [], |[x], []| triangular_root(x)) {
        return out;
    }
    let batch = Batch::square(NAME, x)?;
    let sizes = [batch.rows, batch.rows];
    let mut out = batch.reserve(&sizes)?;
    for i in 0..batch.count() {
        let matrix = batch.matrix(i);
        let lower = batch.elements(i).iter().enumerate();
        let mut read = lower.filter(|(at, _)| at % batch.rows <= at / batch.rows);
        if read.any(|(_, v)| !v.is_finite()) {
            return Err(batch.fail(
                i,
                "is not positive-definite: it has an element that is not finite",
            ));
        }
        let root = matrix.llt(Side::Lower);
        let root = root.map_err(|_| batch.fail(i, "is not positive-definite"))?;
        append(&mut out, root.L(), false);
    }
    let root = batch.tensor(out, &sizes)?;
    Ok(root.record([x], |y| Root { y: y.clone() }))
}

struct Root {
    y: Tensor,
}

impl Function for Root {
    fn name(&self) -> &'static str {
        NAME
    }

    /// `L⁻ᵀ Φ(Lᵀ g) L⁻¹` made symmetric, where `Φ` takes the lower triangle and halves the diagonal.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let root = ctx.output(&self.y);
        let product = transposed(&root)?.matmul(&ctx.grad().tril(0)?)?.tril(0)?;
        let half = identity(&root)?.mul(-0.5)?.add(1.0)?;
        let upper = SolveTriangularOptions::new(Triangle::Upper);
        let lower = SolveTriangularOptions::new(Triangle::Lower).left(false);
        let out = solve_triangular(&transposed(&root)?, &product.mul(&half)?, upper)?;
        let out = solve_triangular(&root, &out, lower)?;
        one(out.add(&transposed(&out)?)?.mul(0.5)?)
    }
}
