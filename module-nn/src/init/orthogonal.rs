//! Matrices with orthonormal rows or columns.

use module_core::{DType, Generator, Init, Result, Shape, Tensor};

use super::Normal;

/// A matrix with orthonormal columns, or rows if there are fewer of them, times `gain`; tensors with more dimensions are
/// flattened after the first.
///
/// It is the orthogonal factor of a matrix of normal draws, with the signs that make the diagonal of the triangular factor
/// positive. It is computed in `F64` whatever the dtype, and agrees with PyTorch's up to rounding.
///
/// Source: Saxe et al., *Exact solutions to the nonlinear dynamics of learning in deep linear neural
/// networks* (2013).
///
/// # Example
///
/// ```
/// use module_nn::{DType, Parameter, init::Orthogonal, with_default_dtype};
///
/// let weight = with_default_dtype(DType::F64, || Parameter::with_init([2, 3], Orthogonal::default()))?;
/// let rows = weight.detach();
/// let products = rows.matmul(&rows.t()?)?.to_vec::<f64>()?;
/// assert!((products[0] - 1.0).abs() < 1e-12 && products[1].abs() < 1e-12);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orthogonal {
    /// The length of each row or column.
    pub gain: f64,
}

impl Default for Orthogonal {
    fn default() -> Self {
        Self { gain: 1.0 }
    }
}

impl Init for Orthogonal {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        let &[rows, ref rest @ ..] = &**shape else {
            return Err(too_few_error(shape));
        };
        if rest.is_empty() {
            return Err(too_few_error(shape));
        }
        let drawn = Tensor::normal(shape, 0.0, 1.0, dtype, generator)?;
        if drawn.numel() == 0 {
            return Ok(drawn);
        }
        let columns = drawn.numel() / rows;
        let drawn = drawn.to_dtype(DType::F64)?.reshape([rows, columns])?;
        // Each vector of the tall matrix contiguously: its columns, which are the rows of the transpose.
        let tall = if rows < columns { drawn } else { drawn.t()? };
        let (count, length) = (rows.min(columns), rows.max(columns));
        let vectors = orthonormalize(tall.to_vec::<f64>()?, length);
        let tall = Tensor::from_vec(vectors, [count, length])?;
        let matrix = if rows < columns { tall } else { tall.t()? };
        matrix.reshape(shape)?.to_dtype(dtype)?.mul(self.gain)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        let (mean, std) = (0.0, 1.0);
        Normal { mean, std }.skip(shape, dtype, generator)
    }
}

fn too_few_error(shape: &Shape) -> module_core::Error {
    shape.error("orthogonal", "at least two dimensions")
}

/// The orthogonal factor of a matrix whose columns of `length` are stored one after another, at most `length` of them, by
/// Householder reflections; its signs make the diagonal of the triangular factor positive.
fn orthonormalize(mut columns: Vec<f64>, length: usize) -> Vec<f64> {
    let count = columns.len() / length;
    let mut signs = Vec::with_capacity(count);
    // Column j becomes the vector v of the reflection 1 - v·vᵀ, below its diagonal.
    for j in 0..count {
        let (done, rest) = columns.split_at_mut((j + 1) * length);
        let Some(vector) = done.get_mut(j * length + j..) else {
            break;
        };
        signs.push(reflector(vector));
        for column in rest.chunks_exact_mut(length) {
            if let Some(column) = column.get_mut(j..) {
                reflect(column, vector);
            }
        }
    }
    // The columns of the identity, reflected backwards.
    let mut out = vec![0.0; columns.len()];
    for (j, column) in out.chunks_exact_mut(length).enumerate() {
        let sign = signs.get(j).copied().unwrap_or_default();
        if let Some(one) = column.get_mut(j) {
            *one = sign;
        }
        for (i, vector) in columns.chunks_exact(length).enumerate().take(j + 1).rev() {
            if let (Some(part), Some(vector)) = (column.get_mut(i..), vector.get(i..)) {
                reflect(part, vector);
            }
        }
    }
    out
}

/// Replaces `x` by the vector `v` for which `x - v (v·x)` is zero except for its first element, whose sign it returns;
/// returns 0 if all of `x` is 0.
fn reflector(x: &mut [f64]) -> f64 {
    let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    let Some(first) = x.first_mut().filter(|_| norm > 0.0) else {
        return 0.0;
    };
    // Away from the first element's sign, so that nothing cancels.
    let target = if *first > 0.0 { -norm } else { norm };
    *first -= target;
    let scale = (norm * first.abs()).sqrt();
    x.iter_mut().for_each(|v| *v /= scale);
    target.signum()
}

/// `column - vector (vector · column)`.
fn reflect(column: &mut [f64], vector: &[f64]) {
    let along: f64 = column.iter().zip(vector).map(|(a, b)| a * b).sum();
    for (a, b) in column.iter_mut().zip(vector) {
        *a -= b * along;
    }
}
