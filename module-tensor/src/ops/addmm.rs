//! `addmm`, `addmv`, `baddbmm` and `addbmm`: matrix products added to a tensor.

use super::AutocastPolicy;
use crate::tensor::Tensor;
use crate::{Result, Scalar, ShapeError};

impl Tensor {
    /// `β·self + α·(mat1 · mat2)`; with `β = 0` the elements of `self` are ignored, even NaN.
    ///
    /// # Shapes
    ///
    /// `[n, k]` times `[k, m]`, and what broadcasts to `[n, m]`.
    ///
    /// # Errors
    ///
    /// Other shapes, different dtypes or devices, a floating-point number beside integers.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let a = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// let y = Tensor::from([10.0_f32, 20.0]).addmm(&a, &a, 1.0, 0.5)?;
    /// assert_eq!(y.to_vec::<f32>()?, [13.5, 25.0, 17.5, 31.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn addmm(
        &self,
        mat1: &Self,
        mat2: &Self,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Self> {
        let factors = [mat1.of_rank("addmm", 2)?, mat2.of_rank("addmm", 2)?];
        self.plus_product("addmm", factors, beta.into(), alpha.into())
    }

    /// `β·self + α·(mat · vec)`, as [`addmm`](Self::addmm).
    ///
    /// # Shapes
    ///
    /// `[n, m]` times `[m]`, and what broadcasts to `[n]`.
    ///
    /// # Errors
    ///
    /// Those of [`addmm`](Self::addmm).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let a = Tensor::from([[1_i64, 2], [3, 4]]);
    /// let y = Tensor::from(10_i64).addmv(&a, &Tensor::from([1_i64, 1]), 1, 1)?;
    /// assert_eq!(y.to_vec::<i64>()?, [13, 17]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn addmv(
        &self,
        mat: &Self,
        vec: &Self,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Self> {
        let factors = [mat.of_rank("addmv", 2)?, vec.of_rank("addmv", 1)?];
        self.plus_product("addmv", factors, beta.into(), alpha.into())
    }

    /// `β·selfᵢ + α·(batch1ᵢ · batch2ᵢ)` for each matrix `i` of a batch, as [`addmm`](Self::addmm).
    ///
    /// # Shapes
    ///
    /// `[batch, n, k]` times `[batch, k, m]`, and what broadcasts to `[batch, n, m]`.
    ///
    /// # Errors
    ///
    /// Those of [`addmm`](Self::addmm), and batches of different sizes.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let ones = Tensor::ones([2, 1, 3], DType::F32)?;
    /// let y = Tensor::from(1.0_f32).baddbmm(&ones, &ones.transpose(1, 2)?, 2.0, 1.0)?;
    /// assert_eq!(y.to_vec::<f32>()?, [5.0, 5.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn baddbmm(
        &self,
        batch1: &Self,
        batch2: &Self,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Self> {
        let factors = batches("baddbmm", batch1, batch2)?;
        self.plus_product("baddbmm", factors, beta.into(), alpha.into())
    }

    /// `β·self + α·Σᵢ batch1ᵢ · batch2ᵢ` over the matrices of a batch, as [`addmm`](Self::addmm).
    ///
    /// # Shapes
    ///
    /// `[batch, n, k]` times `[batch, k, m]`, and what broadcasts to `[n, m]`.
    ///
    /// # Errors
    ///
    /// Those of [`baddbmm`](Self::baddbmm).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let ones = Tensor::ones([2, 1, 3], DType::F32)?;
    /// let y = Tensor::from(1.0_f32).addbmm(&ones, &ones.transpose(1, 2)?, 1.0, 1.0)?;
    /// assert_eq!(y.to_vec::<f32>()?, [7.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn addbmm(
        &self,
        batch1: &Self,
        batch2: &Self,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Self> {
        const NAME: &str = "addbmm";
        let [a, b] = batches(NAME, batch1, batch2)?;
        a.check_inner(NAME, b)?;
        // The matrices side by side, whose product sums over the batch too.
        let a = a.permute([1, 0, 2])?.flatten(1, 2)?;
        let b = b.flatten(0, 1)?;
        self.plus_product(NAME, [&a, &b], beta.into(), alpha.into())
    }

    fn plus_product(
        &self,
        name: &'static str,
        [a, b]: [&Self; 2],
        beta: Scalar,
        alpha: Scalar,
    ) -> Result<Self> {
        // PyTorch's autocast list has no matrix-vector products.
        let policy = match name {
            "addmv" => AutocastPolicy::Unchanged,
            _ => AutocastPolicy::LowerPrecision,
        };
        let product = |[x, a, b]: [&Self; 3], []: [Option<&Self>; 0]| {
            x.plus_product(name, [a, b], beta, alpha)
        };
        if let Some(out) = policy.apply([self, a, b], [], product) {
            return out;
        }
        self.check_same(name, a)?;
        self.check_same(name, b)?;
        self.check_number(name, beta)?;
        self.check_number(name, alpha)?;
        a.check_inner(name, b)?;
        let mut out = a.widened()?.matmul(&b.widened()?)?;
        if self.shape().broadcast(name, out.shape())? != *out.shape() {
            let (lhs, rhs) = (self.shape().clone(), out.shape().clone());
            let rule = "the first must broadcast to the product".to_owned();
            let op = name;
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        if alpha.to_f64() != 1.0 {
            out = out.mul(alpha)?;
        }
        out = match beta.to_f64() {
            0.0 => out.with_no_influence_of(name, self),
            1.0 => out.add(&self.widened()?)?,
            _ => out.add_scaled(&self.widened()?, beta)?,
        };
        out.to_dtype(self.dtype())
    }

    /// Refuses factors whose inner sizes differ.
    fn check_inner(&self, op: &'static str, other: &Self) -> Result<()> {
        let inner = other.rank().saturating_sub(2);
        if self.shape().last() == other.shape().get(inner) {
            return Ok(());
        }
        let (lhs, rhs) = (self.shape().clone(), other.shape().clone());
        let rule = "the inner sizes must be equal".to_owned();
        Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into())
    }

    fn of_rank(&self, op: &'static str, rank: usize) -> Result<&Self> {
        if self.rank() == rank {
            return Ok(self);
        }
        let expected = match rank {
            1 => "a vector",
            2 => "a matrix",
            _ => "a batch of matrices",
        };
        Err(self.shape().error(op, expected))
    }
}

/// Two batches of equal size.
fn batches<'a>(op: &'static str, a: &'a Tensor, b: &'a Tensor) -> Result<[&'a Tensor; 2]> {
    let pair = [a.of_rank(op, 3)?, b.of_rank(op, 3)?];
    if a.shape().first() == b.shape().first() {
        return Ok(pair);
    }
    let (lhs, rhs) = (a.shape().clone(), b.shape().clone());
    let rule = "both batches must have one size".to_owned();
    Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into())
}
