//! `bincount` and `count_nonzero`.

use crate::layout::Dims;
use crate::tensor::Tensor;
use crate::{DType, Error, Result, Shape, ShapeError};

impl Tensor {
    /// The number of occurrences of each number from 0 on in a vector of integers, as `I64`; with weights the sum of
    /// the weights of its occurrences, in their dtype if that is `F32`, else as `F64`.
    ///
    /// The result has at least `minlength` elements. The weights have a gradient, where PyTorch has none.
    ///
    /// # Errors
    ///
    /// Anything but a vector of integers from 0 on, weights of another length, a result that exceeds
    /// memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 3, 1]);
    /// assert_eq!(x.bincount(None, 0)?.to_vec::<i64>()?, [0, 2, 0, 1]);
    /// let weights = Tensor::from([0.5_f32, 2.0, 1.0]);
    /// assert_eq!(x.bincount(Some(&weights), 5)?.to_vec::<f32>()?, [0.0, 1.5, 0.0, 2.0, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn bincount(&self, weights: Option<&Self>, minlength: usize) -> Result<Self> {
        const NAME: &str = "bincount";
        let dtype = self.dtype();
        if !matches!(dtype, DType::I64 | DType::I32 | DType::U8) {
            let (op, needs) = (NAME, "integers");
            return Err(dtype.error(op, needs));
        }
        if self.rank() != 1 {
            return Err(self.shape().error(NAME, "one dimension"));
        }
        if let Some(weights) = weights {
            self.check_device(NAME, weights)?;
            if weights.shape() != self.shape() {
                let (lhs, rhs) = (self.shape().clone(), weights.shape().clone());
                let rule = "there must be a weight for each element".to_owned();
                let op = NAME;
                return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
            }
        }
        let bins = self.to_dtype(DType::I64)?;
        if bins.numel() == 0 {
            return Self::zeros(minlength, (DType::I64, &self.device()));
        }
        let (low, high) = (bins.amin(..)?, bins.amax(..)?);
        let (low, high) = (low.item::<i64>()?, high.item::<i64>()?);
        if low < 0 {
            let problem = "must not be negative";
            return Err(Error::argument(NAME, "element", low, problem));
        }
        // One more than the maximum fits, because that is at most `i64::MAX`.
        let length = (high as usize + 1).max(minlength);
        let shape = Shape::from(length);
        let numel = shape.checked_numel(NAME, size_of::<i64>())?;
        crate::backend::check_host_allocatable::<i64>(numel)?;
        let weights = match weights {
            None => {
                let counts = self
                    .device()
                    .backend()
                    .bincount(bins.plain(NAME)?, length)?;
                return Ok(Self::fresh(counts, shape));
            }
            Some(weights) if weights.dtype() == DType::F32 => weights.clone(),
            Some(weights) => weights.to_dtype(DType::F64)?,
        };
        Self::zeros(shape, (weights.dtype(), &self.device()))?.scatter_add(0, &bins, &weights)
    }

    /// The number of elements over `dims` (`..` for all) that are not 0, as `I64`; NaN counts as nonzero.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or occurs twice.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[0_i64, 2], [3, 4]]);
    /// assert_eq!(x.count_nonzero(..)?.item::<i64>()?, 3);
    /// assert_eq!(x.count_nonzero(0)?.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn count_nonzero(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.count_nonzero_over(&dims.into())
    }

    fn count_nonzero_over(&self, dims: &Dims) -> Result<Self> {
        let dims = self.shape().dims("count_nonzero", dims)?;
        self.is_true()?.to_dtype(DType::I64)?.sum(&dims)
    }
}
