//! `cdist`: distances between all vectors of two batches.

use std::ops::Range;

use super::AutocastPolicy;
use crate::backend::{BinaryOp, UnaryOp};
use crate::tensor::{Backward, Function, Gradients, Tensor, no_grad, two};
use crate::{Error, Result, Shape, ShapeError};

/// Whether [`Tensor::cdist`] computes Euclidean distances with a matrix product, which is faster but less precise for small
/// distances between large vectors.
///
/// # Example
///
/// ```
/// use module_tensor::CdistMode;
///
/// assert_eq!(CdistMode::default(), CdistMode::UseMmIfNecessary);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CdistMode {
    /// Uses matrix products with more than 25 vectors on a side: PyTorch's `use_mm_for_euclid_dist_if_necessary`.
    #[default]
    UseMmIfNecessary,
    /// Always uses matrix products: `use_mm_for_euclid_dist`.
    UseMm,
    /// Never uses matrix products: `donot_use_mm_for_euclid_dist`.
    DonotUseMm,
}

/// The maximum number of differences in memory at a time.
const BLOCK: usize = 1 << 20;

impl Tensor {
    /// The distances `‖x1ᵢ - x2ⱼ‖ₚ` of all vectors of this tensor from all of `x2`, PyTorch's
    /// `torch.cdist`, whose defaults are a `p` of 2 and [`CdistMode::default`].
    ///
    /// ```text
    /// p = 0: how many elements differ     p = ∞: the greatest difference     else: (Σ |x1 - x2|ᵖ)^(1/p)
    /// ```
    ///
    /// At a distance of 0 the gradient is 0.
    ///
    /// # Shapes
    ///
    /// `[…, n, features]` and `[…, m, features]` give `[…, n, m]`; leading dimensions broadcast.
    ///
    /// # Errors
    ///
    /// Fewer than two dimensions, different numbers of features, shapes that do not broadcast, a negative `p`
    /// or NaN, different dtypes or devices, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{CdistMode, Tensor};
    ///
    /// let (a, b) = (Tensor::from([[0.0_f32, 0.0]]), Tensor::from([[3.0_f32, 4.0], [0.0, 1.0]]));
    /// assert_eq!(a.cdist(&b, 2.0, CdistMode::default())?.to_vec::<f32>()?, [5.0, 1.0]);
    /// assert_eq!(a.cdist(&b, 1.0, CdistMode::default())?.to_vec::<f32>()?, [7.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn cdist(&self, x2: &Self, p: f64, compute_mode: CdistMode) -> Result<Self> {
        const NAME: &str = "cdist";
        if let Some(out) = AutocastPolicy::Float32
            .apply([self, x2], [], |[x, x2], []| x.cdist(x2, p, compute_mode))
        {
            return out;
        }
        self.check_floating(NAME)?;
        self.check_same(NAME, x2)?;
        if p.is_nan() || p < 0.0 {
            return Err(Error::argument(NAME, "p", p, "must be at least 0"));
        }
        let (&[ref a_batch @ .., n, features], &[ref b_batch @ .., m, others]) =
            (&**self.shape(), &**x2.shape())
        else {
            let x = if self.rank() < 2 { self } else { x2 };
            return Err(x.shape().error(NAME, "[…, vectors, features]"));
        };
        if features != others {
            let (lhs, rhs) = (self.shape().clone(), x2.shape().clone());
            let rule = "vectors must have one number of features".to_owned();
            let op = NAME;
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        let batch = Shape::from(a_batch).broadcast(NAME, &b_batch.into())?;
        let with = |n: usize| -> Shape { batch.iter().copied().chain([n, features]).collect() };
        let out: Shape = batch.iter().copied().chain([n, m]).collect();
        out.checked_numel(NAME, self.dtype().size_in_bytes())?;
        with(n).checked_numel(NAME, self.dtype().size_in_bytes())?;
        with(m).checked_numel(NAME, self.dtype().size_in_bytes())?;
        let (a, b) = (
            self.widened()?.expand(with(n))?,
            x2.widened()?.expand(with(m))?,
        );
        let by_product = match compute_mode {
            CdistMode::UseMmIfNecessary => n > 25 || m > 25,
            CdistMode::UseMm => true,
            CdistMode::DonotUseMm => false,
        };
        let distances = match p == 2.0 && by_product {
            true => no_grad(|| a.detach().euclidean(&b.detach())),
            false => no_grad(|| a.detach().differences(&b.detach(), p)),
        };
        let distances = distances?.record([&a, &b], |y| Cdist {
            a: a.clone(),
            b: b.clone(),
            y: y.clone(),
            p,
        });
        distances.to_dtype(self.dtype())
    }

    /// `√(‖a‖² - 2 a·b + ‖b‖²)` with one matrix product.
    fn euclidean(&self, b: &Self) -> Result<Self> {
        let square = |x: &Self| x.square()?.sum_keepdim(-1);
        let (a_square, b_square) = (square(self)?, square(b)?);
        let a = Self::cat(&[&self.mul(-2.0)?, &a_square, &a_square.ones_like()?], -1)?;
        let b = Self::cat(&[b, &b_square.ones_like()?, &b_square], -1)?;
        let square = a.matmul(&b.transpose(-1, -2)?)?;
        let square = square.binary_over(BinaryOp::Maximum, 0.0.into(), Tensor::clamp_min)?;
        square.unary_over(UnaryOp::Sqrt, Self::sqrt)
    }

    /// The norms of all differences, some rows at a time.
    fn differences(&self, b: &Self, p: f64) -> Result<Self> {
        let b = b.unsqueeze(-3)?;
        let norms = |rows: Range<usize>| {
            let a = self.narrow(-2, rows)?;
            a.unsqueeze(-2)?.sub(&b)?.norm(p, -1)
        };
        if b.shape().last() == Some(&0) {
            // The norm of no elements is 0, even the maximum norm.
            let shape = self.unsqueeze(-2)?.sub(&b)?.sum(-1)?;
            return shape.zeros_like();
        }
        by_rows(self, &b, norms)
    }
}

/// Concatenates the results of `f` for a few vectors of `a` at a time, to limit the memory of the differences from `b`.
fn by_rows(a: &Tensor, b: &Tensor, f: impl Fn(Range<usize>) -> Result<Tensor>) -> Result<Tensor> {
    let rows = a.shape()[a.rank() - 2];
    let at_once = (BLOCK / b.numel().max(1)).max(1);
    if rows <= at_once {
        return f(0..rows);
    }
    let starts = (0..rows).step_by(at_once);
    let parts = starts.map(|start| f(start..rows.min(start + at_once)));
    let parts: Vec<Tensor> = parts.collect::<Result<_>>()?;
    Tensor::cat(&parts.iter().collect::<Vec<_>>(), -2)
}

struct Cdist {
    a: Tensor,
    b: Tensor,
    y: Tensor,
    p: f64,
}

impl Function for Cdist {
    fn name(&self) -> &'static str {
        "cdist"
    }

    /// ```text
    /// d y / d aᵢ = Σⱼ sign(aᵢ - bⱼ) · (|aᵢ - bⱼ| / y)ᵖ⁻¹
    /// ```
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { a, b, y, p } = self;
        let y = ctx.output(y);
        let zero = y.eq(0.0)?;
        // Inside as well, so that second derivatives do not multiply 0 with an infinity.
        let apart = zero.where_(1.0, y)?;
        let grad = zero.where_(0.0, ctx.grad())?;
        if *p == 0.0 {
            return two(ctx, || a.zeros_like(), || b.zeros_like());
        }
        if *p == 2.0 {
            let ratio = (grad / apart)?;
            return two(
                ctx,
                || ratio.sum_keepdim(-1)?.mul(a)?.sub(&ratio.matmul(b)?),
                || {
                    let turned = ratio.transpose(-1, -2)?;
                    turned.sum_keepdim(-1)?.mul(b)?.sub(&turned.matmul(a)?)
                },
            );
        }
        let turned = |x: &Tensor| x.transpose(-1, -2);
        two(
            ctx,
            || distance_gradient(a, b, [&apart, &grad], *p),
            || distance_gradient(b, a, [&turned(&apart)?, &turned(&grad)?], *p),
        )
    }
}

/// The gradient of the vectors `a` from their distances `y` from `b`.
fn distance_gradient(a: &Tensor, b: &Tensor, [y, grad]: [&Tensor; 2], p: f64) -> Result<Tensor> {
    let b = b.unsqueeze(-3)?;
    by_rows(a, &b, |rows| {
        let cut = |x: &Tensor| x.narrow(-2, rows.clone());
        let difference = cut(a)?.unsqueeze(-2)?.sub(&b)?;
        let (y, grad) = (cut(y)?.unsqueeze(-1)?, cut(grad)?.unsqueeze(-1)?);
        let (sign, size) = (difference.sign()?, difference.abs()?);
        let share = if p == 1.0 {
            sign
        } else if p.is_infinite() {
            sign.mul(&size.eq(&y)?.to_dtype(size.dtype())?)?
        } else {
            // A difference of 0 has no sign; 1 is used for its power, which may be infinite.
            let none = size.eq(0.0)?;
            sign.mul(&size.masked_fill(&none, 1.0)?.div(&y)?.pow(p - 1.0)?)?
        };
        share.mul(&grad)?.sum(-2)
    })
}
