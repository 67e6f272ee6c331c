use std::fmt;

use module_core::{Forward, Module, Result, Tensor};

use super::instance_norm::{InstanceNorm, InstanceNorm3dConfig};

/// Instance normalisation, of each channel of each element of the batch by itself:
/// `y = (x - E[x]) / √(Var[x] + eps) · weight + bias`, with the biased variance.
///
/// With `track_running_stats` the mean of the elements' statistics, with the unbiased variance,
/// moves running ones in training, and these are used in evaluation.
///
/// Source: Ulyanov, Vedaldi and Lempitsky, *Instance Normalization: The Missing Ingredient for Fast
/// Stylization* (2016).
///
/// # Shapes
///
/// `[batch, channels, depth, height, width]`, or without the batch, to the same.
///
/// # State dict
///
/// Nothing by default. `weight` and `bias` `[channels]` with `affine`; `running_mean` and
/// `running_var` `[channels]` and `num_batches_tracked`, an `I64` without dimensions that stays 0,
/// with `track_running_stats`.
///
/// # Initialisation
///
/// Weight and running variance 1, bias and running mean 0, without a draw.
///
/// # Errors
///
/// Another number of dimensions; another number of channels, if there are parameters or running
/// statistics; a single value per channel, unless running statistics are used. An empty batch
/// leaves running statistics as they are, where PyTorch's become NaN.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = InstanceNorm3d::new(8)?;
/// let y = norm.call(Tensor::randn([4, 8, 2, 5, 5], DType::F32)?)?;
/// assert!(y.mean(.., false)?.item::<f32>()?.abs() < 1e-5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(extra_repr = Self::extra_repr)]
pub struct InstanceNorm3d {
    #[module(flatten)]
    norm: InstanceNorm,
}

impl InstanceNorm3d {
    /// With PyTorch's defaults; [`InstanceNorm3dConfig`] has the other arguments.
    ///
    /// # Errors
    ///
    /// No channels.
    pub fn new(num_features: usize) -> Result<Self> {
        InstanceNorm3dConfig::new(num_features).build()
    }

    pub(super) fn from_norm(norm: InstanceNorm) -> Self {
        Self { norm }
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.norm.extra_repr(f)
    }
}

impl Forward for InstanceNorm3d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.norm
            .forward_instance(&input, &["batch", "channels", "depth", "height", "width"])
    }
}
