//! Batches of matrices in host memory, in `f64` whatever their dtype: one type to compile, and less rounding.

use faer::{Mat, MatRef};

use crate::backend::check_host_allocatable;
use crate::tensor::Tensor;
use crate::{DType, Error, ErrorKind, Result, Shape};

/// A batch of matrices, one after another in row-major order.
pub(super) struct Batch {
    op: &'static str,
    like: Tensor,
    lead: Vec<usize>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    values: Vec<f64>,
}

impl Batch {
    pub(super) fn new(op: &'static str, x: &Tensor) -> Result<Self> {
        let dtype = x.dtype();
        if !matches!(dtype, DType::F32 | DType::F64) {
            let needs = "float32 or float64 matrices";
            return Err(dtype.error(op, needs));
        }
        let &[ref lead @ .., rows, columns] = &**x.shape() else {
            return Err(x.shape().error(op, "matrices: at least two dimensions"));
        };
        let lead = lead.to_vec();
        // There may be any number of matrices without elements.
        let count = Shape::from(lead.as_slice()).checked_numel(op, size_of::<f64>())?;
        check_host_allocatable::<f64>(count)?;
        check_host_allocatable::<f64>(x.numel())?;
        let like = x.detach();
        let values = like.to_dtype(DType::F64)?.to_vec::<f64>()?;
        Ok(Self {
            op,
            like,
            lead,
            rows,
            columns,
            values,
        })
    }

    /// Like [`new`](Self::new), for square matrices.
    pub(super) fn square(op: &'static str, x: &Tensor) -> Result<Self> {
        let batch = Self::new(op, x)?;
        if batch.rows != batch.columns {
            return Err(x.shape().error(op, "square matrices"));
        }
        Ok(batch)
    }

    /// The number of matrices.
    pub(super) fn count(&self) -> usize {
        self.lead.iter().product()
    }

    /// The elements of one matrix.
    pub(super) fn elements(&self, i: usize) -> &[f64] {
        let size = self.rows * self.columns;
        self.values
            .get(i * size..(i + 1) * size)
            .unwrap_or_default()
    }

    pub(super) fn matrix(&self, i: usize) -> Mat<f64> {
        let values = self.elements(i);
        Mat::from_fn(self.rows, self.columns, |row, column| {
            values[row * self.columns + column]
        })
    }

    /// The error for one of the matrices.
    pub(super) fn fail(&self, matrix: usize, problem: impl Into<String>) -> Error {
        let (op, problem) = (self.op, problem.into());
        Error::new(ErrorKind::Factorization {
            op,
            matrix,
            problem,
        })
    }

    /// Refuses matrices for which no iteration converges.
    pub(super) fn check_finite(&self) -> Result<()> {
        match self.values.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(index) => {
                let size = self.rows * self.columns;
                let problem = format!(
                    "has the element {}, which is not finite",
                    self.values[index]
                );
                Err(self.fail(index / size, problem))
            }
        }
    }

    /// Memory for a result with `sizes` for each matrix.
    pub(super) fn reserve(&self, sizes: &[usize]) -> Result<Vec<f64>> {
        let numel = self.shape(sizes).checked_numel(self.op, size_of::<f64>())?;
        check_host_allocatable::<f64>(numel)?;
        Ok(Vec::with_capacity(numel))
    }

    /// A result with `sizes` for each matrix.
    pub(super) fn tensor(&self, values: Vec<f64>, sizes: &[usize]) -> Result<Tensor> {
        Tensor::from_vec(values, self.shape(sizes))?
            .to_dtype(self.like.dtype())?
            .to_device(&self.like.device())
    }

    fn shape(&self, sizes: &[usize]) -> Shape {
        self.lead.iter().chain(sizes).copied().collect()
    }
}

/// Appends the elements of a matrix in row-major order, of the transposed one if `turned`.
pub(super) fn append(out: &mut Vec<f64>, x: MatRef<'_, f64>, turned: bool) {
    let x = if turned { x.transpose() } else { x };
    for row in 0..x.nrows() {
        out.extend((0..x.ncols()).map(|column| x[(row, column)]));
    }
}
