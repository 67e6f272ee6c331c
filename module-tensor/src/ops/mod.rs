//! Operations, one file for each family: the methods and their gradients side by side.

mod adaptive_pool;
mod addmm;
mod angle;
mod arc;
mod arithmetic;
mod arrange;
mod attention;
mod autocast;
mod avg_pool;
mod batch_norm;
mod cast;
mod cdist;
mod clamp;
mod close;
mod compare;
mod complex;
mod conv;
mod conv_transpose;
mod count;
mod cross_entropy;
mod diagonals;
mod dropout;
mod each;
mod einsum;
mod exponential;
mod exponential_unit;
mod extreme;
mod fill_in_range;
mod fractional_pool;
mod fused;
mod gate;
mod grid_sample;
mod huber;
mod hyperbolic;
mod index;
mod index_tensor;
mod indexing;
mod integers;
mod interpolate;
mod join;
mod layer_norm;
#[cfg(feature = "linalg")]
pub mod linalg;
mod linear;
mod linear_map;
mod log_add_exp;
mod logarithm;
mod logic;
mod matmul;
mod max_min;
mod meshgrid;
mod multinomial;
mod nan_to_num;
mod no_influence;
mod norm;
mod normalize;
mod operators;
mod order_keys;
mod packed_matmul;
mod pad;
mod parts;
mod permute;
mod piecewise;
mod pointwise;
mod pool;
mod pow;
mod product;
mod quantile;
mod quotient;
mod rectifier;
mod recurrent;
mod reduce;
mod reduce_dim;
mod repeat_interleave;
mod reuse;
mod rounding;
mod rows;
mod running;
mod sample;
mod scan;
mod scatter;
mod scatter_reduce;
mod search;
mod sign;
mod sign_bit;
mod sizes;
mod slice;
mod softmax;
mod sort;
mod sorted_keys;
mod special;
mod squash;
mod step;
mod tensordot;
mod trigonometric;
mod unfold;
mod unique;
mod unpool;
mod update;
mod value;
mod variance;
mod view;
mod window;

pub use adaptive_pool::AdaptiveSize;
pub use attention::AttentionOptions;
pub use autocast::AutocastPolicy;
pub use avg_pool::AvgPoolOptions;
pub use cdist::CdistMode;
pub use close::Tolerance;
pub use conv::{Conv2dOptions, ConvOptions};
pub use conv_transpose::ConvTransposeOptions;
pub use cross_entropy::{CrossEntropyOptions, NllLossOptions, Reduction};
pub use gate::Approximate;
pub use grid_sample::{GridPaddingMode, GridSampleMode, GridSampleOptions};
pub use huber::huber;
pub use indexing::{IndexItem, IntoIndex};
pub use integers::{Integers, Lengths};
pub use interpolate::{InterpolateMode, InterpolateOptions, Resize};
pub use meshgrid::MeshIndexing;
pub use pad::PadMode;
pub use pool::{Pool2dOptions, PoolOptions};
pub use quantile::QuantileInterpolation;
pub use recurrent::{RecurrentOptions, RecurrentOutput, recurrent};
pub use reduce_dim::ReduceDim;
pub use repeat_interleave::Repeats;
pub use scatter_reduce::ScatterReduce;
pub use search::SearchSortedOptions;
pub use sizes::{Padding, Sizes};
pub use tensordot::TensordotDims;
pub use unfold::UnfoldOptions;
pub use unique::Unique;
pub use update::{unshare, update_elements};
pub use value::Value;

use crate::backend::{Storage, UnaryOp};
use crate::tensor::Tensor;
use crate::{DType, Result, ShapeError};

impl Tensor {
    /// A new tensor with this one's shape.
    fn like_shape(&self, storage: Storage) -> Self {
        Self::fresh(storage, self.shape().clone())
    }

    /// This tensor, saved for the gradient of `other`: `None` if `other` needs no gradient, so that frozen weights keep no
    /// activations alive.
    fn saved_for(&self, other: &Self) -> Option<Self> {
        other.requires_grad().then(|| self.clone())
    }

    fn unary(&self, op: UnaryOp) -> Result<Self> {
        let backend = self.device().backend();
        self.each(op.name(), |x| backend.unary(op, x))
    }

    /// A function of each element times a factor of the same shape, dtype and device.
    fn unary_times(&self, op: UnaryOp, factor: &Self) -> Result<Self> {
        let backend = self.device().backend();
        self.storage.check_plain(op.name())?;
        factor.storage.check_plain(op.name())?;
        self.each_pair(factor, |x, factor| backend.unary_times(op, x, factor))
    }

    /// The dtype in which this tensor is computed: `F32` for half precision.
    fn compute_dtype(&self) -> DType {
        match self.dtype() {
            DType::F16 | DType::BF16 => DType::F32,
            dtype => dtype,
        }
    }

    /// Half precision widened to `F32`, so that a multi-step formula is rounded once at its end, as in PyTorch's kernels;
    /// other dtypes unchanged.
    pub(crate) fn widened(&self) -> Result<Self> {
        self.to_dtype(self.compute_dtype())
    }

    /// Sums over the broadcast dimensions, so that a gradient has the shape of its input.
    ///
    /// # Errors
    ///
    /// A shape that does not broadcast to this tensor's.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.sum_to(&[2].into())?.to_vec::<i64>()?, [4, 6]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sum_to(&self, shape: &crate::Shape) -> Result<Self> {
        if self.shape() == shape {
            return Ok(self.clone());
        }
        if shape.broadcast("sum_to", self.shape())? != *self.shape() {
            let (lhs, rhs) = (self.shape().clone(), shape.clone());
            let rule = "the second must broadcast to the first".to_owned();
            return Err(ShapeError::Mismatch {
                op: "sum_to",
                lhs,
                rhs,
                rule,
            }
            .into());
        }
        let lead = self.rank().saturating_sub(shape.rank());
        let dims: Vec<usize> = (0..self.rank())
            .filter(|&dim| dim < lead || (shape[dim - lead] == 1 && self.shape()[dim] != 1))
            .collect();
        self.sum_keepdim(dims.as_slice())?.reshape_to(shape)
    }

    /// [`sum_to`](Self::sum_to) of a tensor that nobody needs any more.
    fn into_sum_to(self, shape: &crate::Shape) -> Result<Self> {
        match self.shape() == shape {
            true => Ok(self),
            false => self.sum_to(shape),
        }
    }
}

/// The gradient of input `i` computed from what was saved for it, if it needs one.
fn by_saved(
    ctx: &crate::Backward,
    i: usize,
    saved: Option<&Tensor>,
    gradient: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Option<Tensor>> {
    let saved = saved.filter(|_| ctx.needs(i));
    saved.map(gradient).transpose()
}

#[cfg(test)]
mod tests;
