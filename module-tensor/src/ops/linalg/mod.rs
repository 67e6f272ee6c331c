//! Linear algebra: PyTorch's `torch.linalg`, behind the feature `linalg`.
//!
//! | function | of a matrix `A` |
//! |---|---|
//! | [`cholesky`] | `A = L Lᵀ` |
//! | [`det`], [`slogdet`] | the determinant, its sign and logarithm |
//! | [`eigh`], [`eigvalsh`] | `A = Q diag(λ) Qᵀ` |
//! | [`inv`] | `A⁻¹` |
//! | [`qr`] | `A = Q R` |
//! | [`solve`], [`solve_triangular`] | `X` with `A X = B` |
//! | [`svd`], [`svdvals`] | `A = U diag(S) Vᵀ` |
//!
//! All functions take `F32` or `F64`; the last two dimensions are the matrices, the others a batch. They compute in `f64`,
//! round once, and have gradients of any order unless they say otherwise. PyTorch's keyword arguments are positional here,
//! in its order. A matrix that cannot be decomposed is an [`ErrorKind::Factorization`].

mod cholesky;
mod determinant;
mod eigh;
mod host;
mod qr;
mod solve;
mod svd;

pub use cholesky::{cholesky, cholesky_upper};
pub use determinant::{det, slogdet};
pub use eigh::{eigh, eigvalsh};
pub use qr::{QrMode, qr};
pub use solve::{SolveTriangularOptions, Triangle, inv, solve, solve_right, solve_triangular};
pub use svd::{svd, svd_reduced, svdvals};

#[cfg(doc)]
use crate::ErrorKind;
use crate::Result;
use crate::tensor::Tensor;

/// The transposed matrices.
fn transposed(x: &Tensor) -> Result<Tensor> {
    x.transpose(-1, -2)
}

/// The identity matrix for vectors along the last dimension.
fn identity(x: &Tensor) -> Result<Tensor> {
    let n = x.shape().last().copied().unwrap_or(0);
    Tensor::eye(n, n, (x.dtype(), &x.device()))
}
