//! Matrix products.

use super::{AutocastPolicy, by_saved};
use crate::backend::{Operand, Storage};
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{Error, ErrorKind, Result, Shape, ShapeError};

impl Tensor {
    /// The inner product `Σ aᵢ bᵢ` of two vectors.
    ///
    /// # Errors
    ///
    /// Inputs that are not vectors, different lengths, dtypes or devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2, 3]);
    /// assert_eq!(x.dot(&x)?.item::<i64>()?, 14);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn dot(&self, other: &Self) -> Result<Self> {
        if let Some(out) =
            AutocastPolicy::Unchanged.apply([self, other], [], |[x, other], []| x.dot(other))
        {
            return out;
        }
        self.check_vectors("dot", other)?;
        if self.shape() != other.shape() {
            let (lhs, rhs) = (self.shape().clone(), other.shape().clone());
            let (op, rule) = ("dot", "both must have one length".to_owned());
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        self.matmul(other)
    }

    /// The outer product `outᵢⱼ = aᵢ bⱼ` of two vectors.
    ///
    /// # Errors
    ///
    /// Inputs that are not vectors, different dtypes or devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2]).outer(&Tensor::from([3_i64, 4, 5]))?;
    /// assert_eq!(x.to_vec::<i64>()?, [3, 4, 5, 6, 8, 10]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "ger")]
    pub fn outer(&self, other: &Self) -> Result<Self> {
        self.check_vectors("outer", other)?;
        self.unsqueeze(1)?.mul(other)
    }

    fn check_vectors(&self, op: &'static str, other: &Self) -> Result<()> {
        self.check_same(op, other)?;
        match [self, other].into_iter().find(|x| x.rank() != 1) {
            Some(x) => Err(x.shape().error(op, "a vector")),
            None => Ok(()),
        }
    }

    /// The matrix product, by the rules of PyTorch's `torch.matmul`: two vectors give their dot product, a vector with a
    /// matrix counts as a row or a column, leading dimensions broadcast.
    ///
    /// # Shapes
    ///
    /// `[…, m, k]` times `[…, k, n]` gives `[…, m, n]`. A matrix on the right may be [packed](Self::is_packed).
    ///
    /// # Errors
    ///
    /// A tensor without dimensions, inner sizes that differ, leading ones that do not broadcast,
    /// different dtypes or devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let a = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.matmul(&Tensor::from([1.0_f32, 1.0]))?.to_vec::<f32>()?, [3.0, 7.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias("mm", "bmm", "mv"))]
    pub fn matmul(&self, other: &Self) -> Result<Self> {
        const NAME: &str = "matmul";
        if other.is_packed() && other.rank() == 2 && self.rank() > 0 {
            return self.packed_matmul(NAME, other, None);
        }
        if let Some(out) =
            AutocastPolicy::LowerPrecision
                .apply([self, other], [], |[x, other], []| x.matmul(other))
        {
            return out;
        }
        self.check_same(NAME, other)?;
        match (self.rank(), other.rank()) {
            (0, _) => Err(self.shape().error(NAME, "at least one dimension")),
            (_, 0) => Err(other.shape().error(NAME, "at least one dimension")),
            (1, 1) => self
                .unsqueeze(0)?
                .matmul(&other.unsqueeze(1)?)?
                .squeeze([0, 1]),
            (1, _) => self.unsqueeze(0)?.matmul(other)?.squeeze(-2),
            (_, 1) => self.matmul(&other.unsqueeze(1)?)?.squeeze(-1),
            // One matrix on the right serves all rows of the left as one product.
            (rank, 2) if rank > 2 && self.is_contiguous() => {
                let rows = self.flatten(0, -2)?;
                let out = rows.matmul(other)?;
                let sizes = self.shape()[..rank - 1].iter().chain(out.shape().last());
                out.reshape_to(&sizes.copied().collect())
            }
            _ => self.matmul_batched(other),
        }
        .map_err(|error| self.name_shapes(other, error))
    }

    /// Inner errors quote the shapes that the user passed.
    fn name_shapes(&self, other: &Self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Shape(ShapeError::Mismatch { op, rule, .. }) => {
                let (lhs, rhs) = (self.shape().clone(), other.shape().clone());
                ShapeError::Mismatch {
                    op,
                    lhs,
                    rhs,
                    rule: rule.clone(),
                }
                .into()
            }
            _ => error,
        }
    }

    fn matmul_batched(&self, other: &Self) -> Result<Self> {
        let (&[ref a_batch @ .., m, k], &[ref b_batch @ .., k2, n]) =
            (&**self.shape(), &**other.shape())
        else {
            return Err(self.shape().error("matmul", "at least two dimensions"));
        };
        if k != k2 {
            return Err(ShapeError::Mismatch {
                op: "matmul",
                lhs: self.shape().clone(),
                rhs: other.shape().clone(),
                rule: format!("the inner sizes {k} and {k2} must be equal"),
            }
            .into());
        }
        if a_batch.is_empty() && b_batch.is_empty() {
            let shape = Shape::from([m, n]);
            shape.checked_numel("matmul", self.dtype().size_in_bytes())?;
            let backend = self.device().backend();
            let storage = backend.matmul(self.plain("matmul")?, other.plain("matmul")?)?;
            return Ok(self.product(other, storage, shape));
        }
        let batch = Shape::from(a_batch).broadcast("matmul", &b_batch.into())?;
        let shape: Shape = batch.iter().copied().chain([m, n]).collect();
        shape.checked_numel("matmul", self.dtype().size_in_bytes())?;
        let a = self.as_batch(&batch, [m, k])?;
        let b = other.as_batch(&batch, [k, n])?;
        let storage = self.device().backend().matmul(a, b)?;
        Ok(self.product(other, storage, shape))
    }

    fn product(&self, other: &Self, storage: Storage, shape: Shape) -> Self {
        Self::fresh(storage, shape).record([self, other], |_| Matmul {
            a: self.saved_for(other),
            b: other.saved_for(self),
            shapes: [self.shape().clone(), other.shape().clone()],
        })
    }

    /// The operand of the kernel: a matrix for each element of the batch, without copies.
    fn as_batch(&self, batch: &Shape, [rows, columns]: [usize; 2]) -> Result<Operand> {
        let full: Shape = batch.iter().copied().chain([rows, columns]).collect();
        // A factor may be larger than the product.
        full.checked_numel("matmul", self.dtype().size_in_bytes())?;
        let mut operand = self.plain("matmul")?;
        operand.layout = operand.layout.broadcast_to("matmul", &full)?;
        Ok(operand)
    }
}

struct Matmul {
    a: Option<Tensor>,
    b: Option<Tensor>,
    shapes: [Shape; 2],
}

impl Function for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { a, b, shapes } = self;
        let first = |b: &Tensor| ctx.grad().matmul(&b.transpose(-1, -2)?)?.sum_to(&shapes[0]);
        let first = by_saved(ctx, 0, b.as_ref(), first)?;
        let second = |a: &Tensor| a.transpose(-1, -2)?.matmul(ctx.grad())?.sum_to(&shapes[1]);
        Ok([first, by_saved(ctx, 1, a.as_ref(), second)?].into())
    }
}
