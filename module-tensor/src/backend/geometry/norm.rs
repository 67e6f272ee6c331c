use crate::DType;
use crate::layout::Shape;

/// The elements that share a mean and a variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NormOver {
    /// The channels of a group in one element of the batch.
    Row,
    /// A group over the whole batch.
    Batch,
    /// Like [`Batch`](Self::Batch), but with given statistics, which do not depend on the input.
    Given,
}

/// The normalization of an input `[batch, groups, channels, inner]`:
/// `(x - mean) / √(var + eps) · weight + bias` with a weight and a bias `[groups, channels]`.
///
/// Over the batch there is one channel in each group.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{NormGeometry, NormInputs, NormOver};
/// use module_tensor::{DType, Device, Layout, Tensor};
///
/// // Layer normalization of two rows: each is a group of one channel with four elements.
/// let geometry = NormGeometry {
///     batch: 2,
///     groups: 1,
///     channels: 1,
///     inner: 4,
///     over: NormOver::Row,
///     centered: true,
///     eps: 0.0,
///     with_statistics: true,
///     compute: DType::F64,
/// };
/// assert_eq!((geometry.shape().to_string(), geometry.statistics_count()), ("[2, 1, 1, 4]".into(), 2));
///
/// let x = Tensor::from([[1.0, 1.0, 3.0, 3.0], [0.0, 0.0, 0.0, 8.0]]).reshape(geometry.shape())?;
/// let inputs = NormInputs { x: x.operand(), weight: None, bias: None, statistics: None };
/// let kernels = Device::cpu().backend().normalization().expect("the CPU has this family");
/// let normalized = kernels.forward(inputs.clone(), &geometry)?;
/// let tensor = |storage, shape: &[usize]| Tensor::from_storage(storage, Layout::contiguous(shape.into()));
/// let y = tensor(normalized.output, &[2, 4]);
/// assert_eq!(y.select(0, 0)?.to_vec::<f64>()?, [-1.0, -1.0, 1.0, 1.0]);
/// let [means, variances] = normalized.statistics.expect("the geometry asks for them");
/// assert_eq!(tensor(means, &[2]).to_vec::<f64>()?, [2.0, 2.0]);
/// assert_eq!(tensor(variances, &[2]).to_vec::<f64>()?, [1.0, 12.0]);
///
/// // Adding the same number to a row changes nothing, so a gradient of ones becomes 0.
/// let ones = x.ones_like()?.operand();
/// let grads = kernels.backward(ones, inputs, &normalized.saved, &geometry)?;
/// let largest = tensor(grads.x, &[8]).abs()?.amax(..)?.item::<f64>()?;
/// assert!(largest < 1e-12 && grads.weight.is_none());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormGeometry {
    /// The size of the batch.
    pub batch: usize,
    /// The number of groups of channels.
    pub groups: usize,
    /// The number of channels of a group.
    pub channels: usize,
    /// The number of elements with the same weight.
    pub inner: usize,
    /// The elements that share statistics.
    pub over: NormOver,
    /// Whether the mean is subtracted; otherwise the mean is 0, and the variance is the mean square.
    pub centered: bool,
    /// The number that is added to the variance.
    pub eps: f64,
    /// Whether means and variances are returned, for running statistics.
    pub with_statistics: bool,
    /// The dtype to compute in, whatever dtypes the operands have.
    pub compute: DType,
}

impl NormGeometry {
    /// The shape `[batch, groups, channels, inner]`.
    pub fn shape(&self) -> Shape {
        [self.batch, self.groups, self.channels, self.inner].into()
    }

    /// The number of means and of variances.
    pub fn statistics_count(&self) -> usize {
        match self.over {
            NormOver::Row => self.batch * self.groups,
            NormOver::Batch | NormOver::Given => self.groups,
        }
    }
}
