//! Eigenvalues and eigenvectors of symmetric matrices: `eigh`.

use faer::Side;

use super::host::{Batch, append};
use super::{identity, transposed};
use crate::Result;
use crate::ops::autocast::AutocastPolicy;
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled};

const NAME: &str = "linalg.eigh";

/// The eigenvalues of symmetric matrices in ascending order, and their eigenvectors as the columns of a matrix; only the
/// lower triangle is read: PyTorch's `torch.linalg.eigh`.
///
/// Eigenvectors are determined only up to sign, so only functions that do not depend on the signs are well defined. Their
/// gradient is not finite if eigenvalues are equal.
///
/// # Errors
///
/// An element that is not finite, anything but square matrices.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, linalg};
///
/// let (values, vectors) = linalg::eigh(&Tensor::from([[2.0_f64, 0.0], [0.0, 1.0]]))?;
/// assert_eq!(values.to_vec::<f64>()?, [1.0, 2.0]);
/// assert_eq!(vectors.abs()?.to_vec::<f64>()?, [0.0, 1.0, 1.0, 0.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn eigh(x: &Tensor) -> Result<(Tensor, Tensor)> {
    if let Some(out) = AutocastPolicy::Float32.apply([x], [], |[x], []| eigh(x)) {
        return out;
    }
    let batch = Batch::square(NAME, x)?;
    batch.check_finite()?;
    let n = batch.rows;
    let (mut values, mut vectors) = (batch.reserve(&[n])?, batch.reserve(&[n, n])?);
    for i in 0..batch.count() {
        if n == 0 {
            continue;
        }
        let found = batch.matrix(i).self_adjoint_eigen(Side::Lower);
        let found = found.map_err(|_| {
            batch.fail(
                i,
                "has no computed eigenvalues: the iteration did not converge",
            )
        })?;
        values.extend(found.S().column_vector().iter());
        append(&mut vectors, found.U(), false);
    }
    let (values, vectors) = (batch.tensor(values, &[n])?, batch.tensor(vectors, &[n, n])?);
    let part = |which| Eigen {
        x: x.clone(),
        values: values.clone(),
        vectors: vectors.clone(),
        which,
    };
    Ok((
        values.clone().record([x], |_| part(Part::Values)),
        vectors.clone().record([x], |_| part(Part::Vectors)),
    ))
}

/// The eigenvalues of symmetric matrices in ascending order: PyTorch's `torch.linalg.eigvalsh`.
///
/// # Errors
///
/// Those of [`eigh`].
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, linalg};
///
/// let values = linalg::eigvalsh(&Tensor::from([[2.0_f64, 0.0], [0.0, 1.0]]))?;
/// assert_eq!(values.to_vec::<f64>()?, [1.0, 2.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn eigvalsh(x: &Tensor) -> Result<Tensor> {
    Ok(eigh(x)?.0)
}

enum Part {
    Values,
    Vectors,
}

struct Eigen {
    x: Tensor,
    values: Tensor,
    vectors: Tensor,
    which: Part,
}

impl Function for Eigen {
    fn name(&self) -> &'static str {
        NAME
    }

    /// `Q (diag(gλ) + Qᵀ gQ / E) Qᵀ`, where `Eᵢⱼ = λⱼ - λᵢ`, without its diagonal.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (values, vectors) = match is_grad_enabled() {
            // The decomposition again, as a function of the matrix.
            true => eigh(&self.x)?,
            false => (self.values.clone(), self.vectors.clone()),
        };
        let turned = transposed(&vectors)?;
        let inner = match self.which {
            Part::Values => vectors.mul(&ctx.grad().unsqueeze(-2)?)?,
            Part::Vectors => {
                let one = identity(&vectors)?;
                let gaps = values
                    .unsqueeze(-2)?
                    .sub(&values.unsqueeze(-1)?)?
                    .add(&one)?;
                let inner = turned.matmul(ctx.grad())?.div(&gaps)?;
                vectors.matmul(&inner.mul(&one.neg()?.add(1.0)?)?)?
            }
        };
        crate::tensor::one(inner.matmul(&turned)?)
    }
}
