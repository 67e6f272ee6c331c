use module_core::module::Repr;
use module_core::{DTypeError, Forward, Module, Result, Tensor, Training};
use serde::{Deserialize, Serialize};

use crate::config::{Build, check_between, config};

/// In training, zeroes branches of a residual network, for each row of the batch or for the whole batch, with probability
/// `p`, and scales the rest by `1/(1 - p)`; in evaluation, returns its input. It is torchvision's `StochasticDepth`.
///
/// The mask is the one that PyTorch draws from the same generator state.
///
/// Source: Huang, Sun, Liu, Sedra and Weinberger, *Deep Networks with Stochastic Depth* (2016).
///
/// # Shapes
///
/// `[batch, …]` to the same.
///
/// # Errors
///
/// In training, a dtype that is not floating-point; no dimension, if rows are zeroed.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let depth = StochasticDepth::new(0.5, StochasticDepthMode::Row)?;
/// let y = fork_rng(0, || depth.call(Tensor::from([[1.0_f32, 2.0], [3.0, 4.0], [5.0, 6.0]])))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.0, 0.0, 0.0, 10.0, 12.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct StochasticDepth {
    p: f64,
    #[module(skip)]
    mode: StochasticDepthMode,
    training: Training,
}

/// The elements that [`StochasticDepth`] zeroes together.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let depth = StochasticDepth::new(1.0, StochasticDepthMode::Batch)?;
/// assert_eq!(depth.call(Tensor::from([[1.0_f32, 2.0]]))?.to_vec::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StochasticDepthMode {
    /// The whole batch.
    Batch,
    /// Each row of the batch.
    Row,
}

config! {
    /// The arguments of [`StochasticDepth`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let depth = StochasticDepthConfig::new(0.2, StochasticDepthMode::Row).build()?;
    /// assert_eq!(depth.tree().to_string(), "StochasticDepth(p=0.2, mode=row)");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct StochasticDepthConfig => StochasticDepth {
        required {
            /// The probability of zeroing.
            p: f64,
            /// The elements that are zeroed together.
            mode: StochasticDepthMode,
        }
    }
}

impl Build for StochasticDepthConfig {
    type Output = StochasticDepth;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    fn build(&self) -> Result<StochasticDepth> {
        let &Self { p, mode } = self;
        check_between("StochasticDepth", "p", p, [0.0, 1.0])?;
        let training = Training::new();
        Ok(StochasticDepth { p, mode, training })
    }
}

impl StochasticDepth {
    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mode = match self.mode {
            StochasticDepthMode::Batch => "batch",
            StochasticDepthMode::Row => "row",
        };
        write!(f, "p={}, mode={mode}", Repr(&self.p))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> StochasticDepthConfig {
        StochasticDepthConfig {
            p: self.p,
            mode: self.mode,
        }
    }
}

impl Forward for StochasticDepth {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        const NAME: &str = "StochasticDepth";
        if !self.training.is_training() || self.p == 0.0 {
            return Ok(input);
        }
        let dtype = input.dtype();
        if !dtype.is_floating_point() {
            let (op, needs) = (NAME, "a floating-point dtype");
            return Err(DTypeError::Unsupported { op, dtype, needs }.into());
        }
        let mut shape = vec![1; input.rank()];
        if self.mode == StochasticDepthMode::Row {
            match (shape.first_mut(), input.shape().first()) {
                (Some(rows), Some(&batch)) => *rows = batch,
                _ => return Err(input.shape().error(NAME, "[batch, …]")),
            }
        }
        let survival = 1.0 - self.p;
        let mut noise = Tensor::bernoulli_with(shape, survival, dtype)?;
        if survival > 0.0 {
            noise = noise.div(survival)?;
        }
        input.mul(&noise.to_device(&input.device())?)
    }
}
