//! Systems of linear equations.

use faer::linalg::solvers::{PartialPivLu, Solve as _};
use faer::{Mat, MatRef};

use super::host::{Batch, append};
use super::{identity, transposed};
use crate::ops::autocast::AutocastPolicy;
use crate::tensor::{Backward, Function, Gradients, Tensor, two};
use crate::{Error, Result, Shape, ShapeError};

/// `X` with `A X = B`: PyTorch's `torch.linalg.solve`.
///
/// The batches are broadcast. `B` may also be vectors: a single one, or of the shape of `A` without its last dimension.
///
/// # Shapes
///
/// `[…, n, n]` and `[…, n, k]` give the latter; `[…, n, n]` and `[…, n]` too.
///
/// # Errors
///
/// A singular matrix, incompatible shapes, different dtypes.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, linalg};
///
/// let a = Tensor::from([[2.0_f64, 0.0], [0.0, 4.0]]);
/// let x = linalg::solve(&a, &Tensor::from([2.0_f64, 2.0]))?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 0.5]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    general(a, b, true)
}

/// `X` with `X A = B`, where `A` is on the right: `torch.linalg.solve(…, left=False)`.
///
/// # Shapes
///
/// `[…, n, n]` and `[…, k, n]` give the latter.
///
/// # Errors
///
/// Those of [`solve`], and vectors.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, linalg};
///
/// let a = Tensor::from([[2.0_f64, 0.0], [0.0, 4.0]]);
/// let x = linalg::solve_right(&a, &Tensor::from([[2.0_f64, 2.0]]))?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 0.5]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn solve_right(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    general(a, b, false)
}

fn general(a: &Tensor, b: &Tensor, left: bool) -> Result<Tensor> {
    const NAME: &str = "linalg.solve";
    if let Some(out) = AutocastPolicy::Float32.apply([a, b], [], |[a, b], []| general(a, b, left)) {
        return out;
    }
    a.check_same(NAME, b)?;
    let lead = a.rank().saturating_sub(1);
    let vector = b.rank() == 1 || (b.rank() == lead && b.shape()[..] == a.shape()[..lead]);
    if vector {
        if !left {
            return Err(b.shape().error(
                NAME,
                "a matrix as the right-hand side; `solve_right` takes no vectors",
            ));
        }
        let b = b.unsqueeze(-1)?;
        return system(NAME, &Solve::General, a, &b)?.squeeze(-1);
    }
    solve_from(NAME, &Solve::General, a, b, left)
}

/// The half of a square matrix that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// The diagonal and everything below it.
    Lower,
    /// The diagonal and everything above it.
    Upper,
}

crate::options! {
    /// The options of [`solve_triangular`], with PyTorch's names and defaults.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SolveTriangularOptions {
        required {
            /// The half of `A` that is used.
            triangle: Triangle,
        }
        optional {
            /// Whether `A` is on the left, `A X = B`, rather than on the right, `X A = B`.
            left: bool = true,
            /// Whether the diagonal of `A` is assumed to be ones and not read.
            unitriangular: bool = false,
        }
    }
}

/// `X` with `A X = B` for triangular `A`: PyTorch's `torch.linalg.solve_triangular`. The batches are
/// broadcast.
///
/// # Errors
///
/// A 0 on the diagonal, where PyTorch gives infinities; incompatible shapes, different dtypes.
///
/// # Example
///
/// ```
/// use module_tensor::linalg::{self, SolveTriangularOptions, Triangle};
/// use module_tensor::Tensor;
///
/// let a = Tensor::from([[2.0_f64, 9.0], [1.0, 4.0]]);
/// let b = Tensor::from([[2.0_f64], [5.0]]);
/// let x = linalg::solve_triangular(&a, &b, SolveTriangularOptions::new(Triangle::Lower))?;
/// assert_eq!(x.to_vec::<f64>()?, [1.0, 1.0]);
/// let ones = SolveTriangularOptions::new(Triangle::Lower).unitriangular(true);
/// assert_eq!(linalg::solve_triangular(&a, &b, ones)?.to_vec::<f64>()?, [2.0, 3.0]);
/// let x = linalg::solve_triangular(&a, &b.t()?, ones.left(false))?;
/// assert_eq!(x.to_vec::<f64>()?, [-3.0, 5.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn solve_triangular(a: &Tensor, b: &Tensor, options: SolveTriangularOptions) -> Result<Tensor> {
    const NAME: &str = "linalg.solve_triangular";
    let SolveTriangularOptions {
        triangle,
        left,
        unitriangular,
    } = options;
    a.check_same(NAME, b)?;
    // A transposed matrix has its triangle on the other side.
    let upper = (triangle == Triangle::Upper) == left;
    solve_from(
        NAME,
        &Solve::Triangular {
            upper,
            unitriangular,
        },
        a,
        b,
        left,
    )
}

/// The inverse matrices: PyTorch's `torch.linalg.inv`.
///
/// # Errors
///
/// A singular matrix, anything but square ones.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, linalg};
///
/// let x = linalg::inv(&Tensor::from([[2.0_f64, 0.0], [0.0, 4.0]]))?;
/// assert_eq!(x.to_vec::<f64>()?, [0.5, 0.0, 0.0, 0.25]);
/// let error = linalg::inv(&Tensor::from([[1.0_f64, 2.0], [2.0, 4.0]])).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "linalg.inv: matrix 0 of the batch is singular: pivot 1 of its elimination is 0"
/// );
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[doc(alias = "inverse")]
pub fn inv(x: &Tensor) -> Result<Tensor> {
    const NAME: &str = "linalg.inv";
    if let Some(out) = AutocastPolicy::Float32.apply([x], [], |[x], []| inv(x)) {
        return out;
    }
    if x.rank() < 2 {
        return Err(x.shape().error(NAME, "matrices: at least two dimensions"));
    }
    system(NAME, &Solve::General, x, &identity(x)?)
}

/// The structure of the matrices.
#[derive(Clone)]
enum Solve {
    General,
    Triangular { upper: bool, unitriangular: bool },
}

/// `A X = B`, or `X A = B` by solving `Aᵀ Xᵀ = Bᵀ`.
fn solve_from(op: &'static str, how: &Solve, a: &Tensor, b: &Tensor, left: bool) -> Result<Tensor> {
    if left || a.rank() < 2 || b.rank() < 2 {
        return system(op, how, a, b);
    }
    transposed(&system(op, how, &transposed(a)?, &transposed(b)?)?)
}

/// `A X = B` for batches that are broadcast.
fn system(op: &'static str, how: &Solve, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (&[ref a_lead @ .., n, columns], &[ref b_lead @ .., rows, width]) =
        (&**a.shape(), &**b.shape())
    else {
        let least = if a.rank() < 2 { a } else { b };
        return Err(least.shape().error(op, "matrices: at least two dimensions"));
    };
    if n != columns {
        return Err(a.shape().error(op, "square matrices"));
    }
    if n != rows {
        let (lhs, rhs) = (a.shape().clone(), b.shape().clone());
        let rule = format!("there must be a row of the right side for each of the {n} unknowns");
        return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
    }
    let lead = Shape::from(a_lead).broadcast(op, &b_lead.into())?;
    let with = |sizes: [usize; 2]| -> Shape { lead.iter().copied().chain(sizes).collect() };
    let (a, b) = (a.expand(with([n, n]))?, b.expand(with([n, width]))?);
    solve_batch(op, how, &a, &b)
}

/// `A X = B` for batches of the same shape.
fn solve_batch(op: &'static str, how: &Solve, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (left, right) = (Batch::square(op, a)?, Batch::new(op, b)?);
    let sizes = [right.rows, right.columns];
    let mut out = right.reserve(&sizes)?;
    for i in 0..right.count() {
        match *how {
            Solve::General => {
                let lu = Lu::new(left.matrix(i).as_ref());
                if let Some(pivot) = lu.zero() {
                    return Err(singular(&left, i, pivot));
                }
                append(&mut out, lu.solve(&right.matrix(i)).as_ref(), false);
            }
            Solve::Triangular {
                upper,
                unitriangular,
            } => {
                let triangle = TriangularMatrix {
                    a: left.elements(i),
                    n: left.rows,
                    upper,
                    unitriangular,
                };
                if let Some(pivot) = triangle.zero() {
                    let problem = format!("is singular: element {pivot} of its diagonal is 0");
                    return Err(left.fail(i, problem));
                }
                triangle.solve(right.elements(i), right.columns, &mut out);
            }
        }
    }
    let out = right.tensor(out, &sizes)?;
    Ok(out.record([a, b], |y| Solved {
        op,
        how: how.clone(),
        a: a.clone(),
        y: y.clone(),
    }))
}

pub(super) fn singular(batch: &Batch, matrix: usize, pivot: usize) -> Error {
    let problem = format!("is singular: pivot {pivot} of its elimination is 0");
    batch.fail(matrix, problem)
}

/// `P A = L U`.
pub(super) struct Lu(Option<PartialPivLu<f64>>);

impl Lu {
    pub(super) fn new(a: MatRef<'_, f64>) -> Self {
        Self((a.nrows() > 0).then(|| a.partial_piv_lu()))
    }

    /// The pivots, and whether the row permutation is even.
    pub(super) fn pivots(&self) -> (Vec<f64>, bool) {
        let Some(lu) = &self.0 else {
            return (Vec::new(), true);
        };
        let upper = lu.U();
        let pivots = (0..upper.nrows()).map(|i| upper[(i, i)]).collect();
        let order = lu.P().arrays().0;
        let (mut seen, mut even) = (vec![false; order.len()], true);
        for start in 0..order.len() {
            let (mut at, mut length) = (start, 0);
            while !seen[at] {
                seen[at] = true;
                at = order[at];
                length += 1;
            }
            // A cycle of an even length is an odd permutation.
            even ^= length > 0 && length % 2 == 0;
        }
        (pivots, even)
    }

    /// The first pivot that is 0.
    fn zero(&self) -> Option<usize> {
        self.pivots().0.iter().position(|&pivot| pivot == 0.0)
    }

    fn solve(&self, b: &Mat<f64>) -> Mat<f64> {
        match &self.0 {
            Some(lu) => lu.solve(b),
            None => b.clone(),
        }
    }
}

/// A triangle of a matrix in row-major order.
struct TriangularMatrix<'a> {
    a: &'a [f64],
    n: usize,
    upper: bool,
    unitriangular: bool,
}

impl TriangularMatrix<'_> {
    /// The first element of the diagonal that is 0.
    fn zero(&self) -> Option<usize> {
        let diagonal = |&i: &usize| self.a[i * self.n + i] == 0.0;
        (0..self.n).find(|i| !self.unitriangular && diagonal(i))
    }

    /// Appends the solution for a right side of `width` columns.
    fn solve(&self, b: &[f64], width: usize, out: &mut Vec<f64>) {
        let mut x = b.to_vec();
        for step in 0..self.n {
            let (i, before) = if self.upper {
                (self.n - 1 - step, self.n - step..self.n)
            } else {
                (step, 0..step)
            };
            for j in before {
                let factor = self.a[i * self.n + j];
                for column in 0..width {
                    x[i * width + column] -= factor * x[j * width + column];
                }
            }
            if !self.unitriangular {
                let pivot = self.a[i * self.n + i];
                x[i * width..(i + 1) * width]
                    .iter_mut()
                    .for_each(|v| *v /= pivot);
            }
        }
        out.extend(x);
    }
}

struct Solved {
    op: &'static str,
    how: Solve,
    a: Tensor,
    y: Tensor,
}

impl Function for Solved {
    fn name(&self) -> &'static str {
        self.op
    }

    /// For `B` it is `G = A⁻ᵀ g`, for `A` it is `-G Xᵀ`.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let turned = match self.how {
            Solve::General => Solve::General,
            Solve::Triangular {
                upper,
                unitriangular,
            } => Solve::Triangular {
                upper: !upper,
                unitriangular,
            },
        };
        let of_b = solve_batch(self.op, &turned, &transposed(&self.a)?, ctx.grad())?;
        let of_a = || {
            let y = ctx.output(&self.y);
            let all = of_b.matmul(&transposed(&y)?)?.neg()?;
            match self.how {
                Solve::General => Ok(all),
                Solve::Triangular {
                    upper,
                    unitriangular,
                } => {
                    let off = i64::from(unitriangular);
                    if upper { all.triu(off) } else { all.tril(-off) }
                }
            }
        };
        two(ctx, of_a, || Ok(of_b.clone()))
    }
}
