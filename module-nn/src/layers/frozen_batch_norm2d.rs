use module_core::module::Repr;
use module_core::{Buffer, Forward, Module, Result, Tensor};

use crate::config::{Build, check_positive, config};

/// A batch normalization whose scale, shift and statistics are constants: torchvision's `FrozenBatchNorm2d`.
///
/// ```text
/// y = (x - running_mean) / √(running_var + eps) · weight + bias
/// ```
///
/// Source: `torchvision.ops.FrozenBatchNorm2d`.
///
/// # Shapes
///
/// `[batch, num_features, height, width]` to the same.
///
/// # State dict
///
/// `weight`, `bias`, `running_mean` and `running_var`, all `[num_features]` and all buffers. A checkpoint of a
/// [`BatchNorm2d`](super::BatchNorm2d) also has `num_batches_tracked`, which `LoadOptions::ignore_if_present` skips.
///
/// # Initialization
///
/// Weight and variance 1, bias and mean 0, without a draw.
///
/// # Errors
///
/// A wrong number of dimensions or of channels, a dtype or device that differs from the buffers'.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = FrozenBatchNorm2d::new(2)?;
/// assert_eq!(norm.num_parameters(), 0);
/// let x = Tensor::ones([1, 2, 3, 3], DType::F32)?;
/// assert_eq!(norm.call(x.clone())?.shape(), x.shape());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct FrozenBatchNorm2d {
    num_features: usize,
    eps: f64,
    weight: Buffer,
    bias: Buffer,
    running_mean: Buffer,
    running_var: Buffer,
}

config! {
    /// The arguments of [`FrozenBatchNorm2d`].
    pub struct FrozenBatchNorm2dConfig => FrozenBatchNorm2d {
        required {
            /// The number of channels.
            num_features: usize,
        }
        optional {
            /// Added to the variance.
            eps: f64 = 1e-5,
        }
    }
}

impl Build for FrozenBatchNorm2dConfig {
    type Output = FrozenBatchNorm2d;

    /// A layer that changes nothing, except by `eps`.
    ///
    /// # Errors
    ///
    /// A size of 0, sizes that exceed memory.
    fn build(&self) -> Result<FrozenBatchNorm2d> {
        let &Self { num_features, eps } = self;
        check_positive("FrozenBatchNorm2d", "num_features", num_features)?;
        Ok(FrozenBatchNorm2d {
            num_features,
            eps,
            weight: Buffer::new(Tensor::ones(num_features, ())?),
            bias: Buffer::new(Tensor::zeros(num_features, ())?),
            running_mean: Buffer::new(Tensor::zeros(num_features, ())?),
            running_var: Buffer::new(Tensor::ones(num_features, ())?),
        })
    }
}

impl FrozenBatchNorm2d {
    /// The scale, `[num_features]`.
    pub fn weight(&self) -> &Buffer {
        &self.weight
    }

    /// The shift, `[num_features]`.
    pub fn bias(&self) -> &Buffer {
        &self.bias
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, eps={}", self.num_features, Repr(&self.eps))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> FrozenBatchNorm2dConfig {
        FrozenBatchNorm2dConfig {
            num_features: self.num_features,
            eps: self.eps,
        }
    }
}

impl Forward for FrozenBatchNorm2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let channels = self.num_features;
        if input.rank() != 4 || input.size(1)? != channels {
            let expected = format!("[batch, {channels}, height, width]");
            return Err(input.shape().error("FrozenBatchNorm2d", expected));
        }
        let column = |buffer: &Buffer| buffer.tensor().reshape([1, channels, 1, 1]);
        let scale = column(&self.running_var)?.add(self.eps)?.rsqrt()?;
        let scale = column(&self.weight)?.mul(&scale)?;
        let shift = column(&self.bias)?.sub(&column(&self.running_mean)?.mul(&scale)?)?;
        input.mul(&scale)?.add(&shift)
    }
}
