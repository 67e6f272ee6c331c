//! `permute`, `transpose` and `movedim`: views with the dimensions in another order.

use smallvec::SmallVec;

use crate::layout::Dims;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Error, Result};

impl Tensor {
    /// The dimensions in another order.
    ///
    /// # Errors
    ///
    /// An order that does not name each dimension once.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 24, ())?.reshape([2, 3, 4])?;
    /// assert_eq!(x.permute([2, 0, 1])?.shape().to_string(), "[4, 2, 3]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn permute(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.permute_dims(&dims.into())
    }

    fn permute_dims(&self, dims: &Dims) -> Result<Self> {
        let Dims::Some(order) = dims else {
            return Ok(self.alias());
        };
        let mut dims: SmallVec<[usize; 4]> = SmallVec::new();
        for &dim in order.iter() {
            let dim = self.shape().dim("permute", dim)?;
            if dims.contains(&dim) || dims.len() == self.rank() {
                break;
            }
            dims.push(dim);
        }
        if dims.len() != order.len() || dims.len() != self.rank() {
            let problem = format!(
                "does not name each dimension of shape {} once",
                self.shape()
            );
            return Err(Error::argument(
                "permute",
                "dims",
                format_args!("{order:?}"),
                problem,
            ));
        }
        Ok(self.permute_by(&dims))
    }

    /// [`permute`](Self::permute) by indices that name each dimension once.
    pub(crate) fn permute_by(&self, order: &[usize]) -> Self {
        self.with_layout(self.layout.permute(order))
            .record([self], |_| Permute {
                order: order.into(),
            })
    }

    /// Swaps two dimensions.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.transpose(0, 1)?.to_vec::<i64>()?, [1, 3, 2, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "swapaxes")]
    #[doc(alias = "swapdims")]
    pub fn transpose(&self, dim0: isize, dim1: isize) -> Result<Self> {
        let (a, b) = (
            self.shape().dim("transpose", dim0)?,
            self.shape().dim("transpose", dim1)?,
        );
        let transposed = self.with_layout(self.layout.transpose(a, b));
        Ok(transposed.record([self], |_| {
            let mut order: SmallVec<[usize; 4]> = (0..self.rank()).collect();
            if a != b {
                order.swap(a, b);
            }
            Permute { order }
        }))
    }

    /// The transpose of a matrix; a tensor of fewer dimensions is returned unchanged.
    ///
    /// # Errors
    ///
    /// More than two dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.t()?.to_vec::<i64>()?, [1, 3, 2, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn t(&self) -> Result<Self> {
        match self.rank() {
            0 | 1 => Ok(self.alias()),
            2 => self.transpose(0, 1),
            _ => Err(self.shape().error("t", "at most two dimensions")),
        }
    }

    /// Moves the dimensions `source` to the positions `destination`; the others keep their order.
    ///
    /// # Errors
    ///
    /// Dimensions that are out of range or occur twice, lists of different lengths.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::zeros([2, 3, 4], DType::F32)?;
    /// assert_eq!(x.movedim(0, -1)?.shape().to_string(), "[3, 4, 2]");
    /// assert_eq!(x.movedim([2, 0], [0, 1])?.shape().to_string(), "[4, 2, 3]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    #[doc(alias = "moveaxis")]
    pub fn movedim(&self, source: impl Into<Dims>, destination: impl Into<Dims>) -> Result<Self> {
        self.move_dims(&source.into(), &destination.into())
    }

    fn move_dims(&self, source: &Dims, destination: &Dims) -> Result<Self> {
        const NAME: &str = "movedim";
        // The check of a list sorts it, but here its order matters.
        let listed = |dims: &Dims| -> Result<Vec<usize>> {
            let sorted = self.shape().dims(NAME, dims)?;
            match dims {
                Dims::All => Ok(sorted.to_vec()),
                Dims::Some(dims) => dims.iter().map(|&d| self.shape().dim(NAME, d)).collect(),
            }
        };
        let (from, to) = (listed(source)?, listed(destination)?);
        if from.len() != to.len() {
            let problem = format!("must name as many dimensions as {from:?}");
            let to = format_args!("{to:?}");
            return Err(Error::argument(NAME, "destination", to, problem));
        }
        let mut rest = (0..self.rank()).filter(|dim| !from.contains(dim));
        let moved = |dim| to.iter().position(|&to| to == dim).map(|i| from[i]);
        let order: SmallVec<[usize; 4]> = (0..self.rank())
            .filter_map(|dim| moved(dim).or_else(|| rest.next()))
            .collect();
        Ok(self
            .with_layout(self.layout.permute(&order))
            .record([self], |_| Permute { order }))
    }
}

struct Permute {
    order: SmallVec<[usize; 4]>,
}

impl Function for Permute {
    fn name(&self) -> &'static str {
        "permute"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let mut inverse = vec![0_isize; self.order.len()];
        for (i, &dim) in self.order.iter().enumerate() {
            inverse[dim] = i as isize;
        }
        one(ctx.grad().permute(inverse)?)
    }
}
