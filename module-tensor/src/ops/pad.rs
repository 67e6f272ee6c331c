//! Padding.

use super::AutocastPolicy;
use super::linear_map::LinearMap;
use crate::backend::{GatherAlongGeometry, GatherDim};
use crate::layout::Layout;
use crate::tensor::Tensor;
use crate::{Error, Result, Scalar, Shape};

/// The values with which [`Tensor::pad`] pads a tensor.
///
/// # Example
///
/// ```
/// use module_tensor::{PadMode, Tensor};
///
/// let x = Tensor::from([[1.0_f32, 2.0, 3.0]]);
/// assert_eq!(x.pad([1, 1], PadMode::Reflect)?.to_vec::<f32>()?, [2.0, 1.0, 2.0, 3.0, 2.0]);
/// assert_eq!(x.pad([1, 0], 9.0)?.to_vec::<f32>()?, [9.0, 1.0, 2.0, 3.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::{PadMode, Tensor};
///
/// let x = Tensor::from([1.0_f32, 2.0]);
/// assert_eq!(x.pad([1, 0], PadMode::constant(0.5))?.to_vec::<f32>()?, [0.5, 1.0, 2.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// A constant.
    Constant(Scalar),
    /// The tensor reflected at its edge, which is not repeated.
    Reflect,
    /// The edge repeated.
    Replicate,
    /// The elements at the other end of the tensor, which wraps around.
    Circular,
}

impl PadMode {
    /// Pads with one number of any type: `PadMode::constant(0.5)`.
    pub fn constant(value: impl Into<Scalar>) -> Self {
        Self::Constant(value.into())
    }
}

/// A plain number is a constant.
impl<T: Into<Scalar>> From<T> for PadMode {
    fn from(value: T) -> Self {
        Self::constant(value)
    }
}

/// Zeros, PyTorch's default.
impl Default for PadMode {
    fn default() -> Self {
        Self::Constant(0.into())
    }
}

impl Tensor {
    /// Pads this tensor: PyTorch's `F.pad`.
    ///
    /// The mode is a [`PadMode`], or a number for that constant. The amounts are those before and after the last dimension,
    /// then before and after the second to last one, and so on. Negative amounts crop. If the other side of the dimension
    /// is padded, `Reflect` can still reflect the cropped elements; `Circular` wraps around the remaining ones.
    ///
    /// # Shapes
    ///
    /// Each of the last dimensions grows by its two amounts.
    ///
    /// # Errors
    ///
    /// An odd number of amounts or more than two for each dimension, more padding than the tensor can fill (at most the
    /// size minus 1 to reflect, at most the size to wrap around, a size of at least 1 to repeat), cropping more than there
    /// is, or everything in modes other than constant, a floating-point constant for integers.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{PadMode, Tensor};
    ///
    /// let x = Tensor::from([1_i64, 2, 3]);
    /// let zeros = PadMode::default();
    /// assert_eq!(x.pad([1, 2], zeros)?.to_vec::<i64>()?, [0, 1, 2, 3, 0, 0]);
    /// assert_eq!(x.pad([-1, 1], zeros)?.to_vec::<i64>()?, [2, 3, 0]);
    /// assert_eq!(x.pad([0, 1], 7)?.to_vec::<i64>()?, [1, 2, 3, 7]);
    /// assert_eq!(x.pad([2, 1], PadMode::Reflect)?.to_vec::<i64>()?, [3, 2, 1, 2, 3, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "constant_pad_nd")]
    pub fn pad(&self, pad: impl AsRef<[isize]>, mode: impl Into<PadMode>) -> Result<Self> {
        self.pad_by(pad.as_ref(), mode.into())
    }

    fn pad_by(&self, pad: &[isize], mode: PadMode) -> Result<Self> {
        const NAME: &str = "pad";
        // In PyTorch, reflection padding of three dimensions is composed of operations that are in no autocast list.
        let listed = match mode {
            PadMode::Reflect => pad.len() < 6,
            PadMode::Replicate => true,
            PadMode::Constant(_) | PadMode::Circular => false,
        };
        if listed
            && let Some(out) =
                AutocastPolicy::Float32.apply([self], [], |[x], []| x.pad_by(pad, mode))
        {
            return out;
        }
        let fail = |problem: String| Error::argument(NAME, "pad", format_args!("{pad:?}"), problem);
        let (pairs, &[]) = pad.as_chunks::<2>() else {
            return Err(fail("needs two amounts for each dimension".to_owned()));
        };
        let Some(first) = self.rank().checked_sub(pairs.len()) else {
            let shape = self.shape();
            return Err(fail(format!(
                "is for more dimensions than shape {shape} has"
            )));
        };
        let value = match mode {
            PadMode::Constant(value) => {
                // The check of a number operand.
                super::Value::from(value).like(NAME, self)?;
                Some(value)
            }
            _ => None,
        };
        let mut amounts = vec![[0, 0]; self.rank()];
        for (dim, &[before, after]) in (first..self.rank()).rev().zip(pairs) {
            let size = self.shape()[dim];
            let limit = match mode {
                PadMode::Reflect => size.saturating_sub(1),
                PadMode::Circular => size,
                PadMode::Replicate if size == 0 => 0,
                PadMode::Constant(_) | PadMode::Replicate => usize::MAX,
            };
            let most = before.max(after).max(0).unsigned_abs();
            if most > limit {
                return Err(fail(format!(
                    "asks for {most} in dimension {dim} of size {size}, which has at most {limit} to put there"
                )));
            }
            let cut = |amount: isize| amount.min(0).unsigned_abs();
            let left = size.checked_sub(cut(before).saturating_add(cut(after)));
            // `Reflect` and `Replicate` still use the cropped elements; `Circular` wraps around the remaining ones.
            let grows = mode != PadMode::Circular && most > 0;
            match left {
                None => {
                    return Err(fail(format!(
                        "cuts off more than size {size} of dimension {dim}"
                    )));
                }
                Some(0) if value.is_none() && size > 0 && !grows => {
                    return Err(fail(format!(
                        "cuts off all of size {size} of dimension {dim}"
                    )));
                }
                Some(left) if mode == PadMode::Circular && most > left => {
                    return Err(fail(format!(
                        "asks for {most} in dimension {dim}, but only {left} elements are left to wrap around"
                    )));
                }
                Some(_) => {}
            }
            amounts[dim] = [before, after];
        }
        match value {
            _ if amounts.iter().all(|&amounts| amounts == [0, 0]) => Ok(self.alias()),
            Some(value) => self.pad_constant(&amounts, value),
            None if mode == PadMode::Circular => {
                let grown = amounts
                    .iter()
                    .map(|amounts| amounts.map(|amount| amount.max(0)));
                self.cut(&amounts)?
                    .pad_with_itself(&grown.collect::<Vec<_>>(), mode)
            }
            None => self.pad_with_itself(&amounts, mode),
        }
    }

    /// Crops by the negative amounts.
    fn cut(&self, amounts: &[[isize; 2]]) -> Result<Self> {
        let mut kept = self.clone();
        for (dim, &[before, after]) in amounts.iter().enumerate() {
            let cut = |amount: isize| amount.min(0).unsigned_abs();
            if before < 0 || after < 0 {
                let range = cut(before)..self.shape()[dim] - cut(after);
                kept = kept.narrow(dim as isize, range)?;
            }
        }
        Ok(kept)
    }

    fn pad_constant(&self, amounts: &[[isize; 2]], value: Scalar) -> Result<Self> {
        let kept = self.cut(amounts)?;
        if amounts.iter().flatten().all(|&amount| amount <= 0) {
            return Ok(kept);
        }
        let grown = |[before, after]: [isize; 2], size: usize| {
            let more = before.max(0).saturating_add(after.max(0));
            size.saturating_add(more.unsigned_abs())
        };
        let sizes = amounts.iter().zip(kept.shape().iter());
        let shape: Shape = sizes.map(|(&amount, &size)| grown(amount, size)).collect();
        shape.checked_numel("pad", self.dtype().size_in_bytes())?;
        let mut layout = Layout::contiguous(shape.clone());
        for (dim, [before, _]) in amounts.iter().enumerate() {
            let start = before.max(&0).unsigned_abs();
            layout = layout.slice(dim, start, kept.shape()[dim], 1);
        }
        kept.as_strided_scatter(&shape, &layout, value)
    }

    /// Pads with elements of this tensor.
    fn pad_with_itself(&self, amounts: &[[isize; 2]], mode: PadMode) -> Result<Self> {
        let dims = amounts.iter().map(|&[before, after]| match mode {
            _ if before == 0 && after == 0 => GatherDim::Same,
            PadMode::Reflect => GatherDim::Reflect { before, after },
            PadMode::Circular => GatherDim::Circular { before, after },
            PadMode::Constant(_) | PadMode::Replicate => GatherDim::Replicate { before, after },
        });
        self.gather_dims("pad", dims.collect())
    }

    /// Gathers along each dimension; callers have checked that the elements exist.
    pub(super) fn gather_dims(&self, name: &'static str, dims: Vec<GatherDim>) -> Result<Self> {
        let input = self.shape().clone();
        let sizes = dims.iter().zip(input.iter());
        let output = sizes.map(|(dim, &size)| dim.len(size)).collect();
        self.apply_map(
            name,
            LinearMap::GatherAlong(GatherAlongGeometry {
                input,
                output,
                dims,
            }),
        )
    }
}
