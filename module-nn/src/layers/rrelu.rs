use module_core::module::Number;
use module_core::{Error, Forward, Module, Result, Tensor, Training};

use crate::config::{Build, config};
use crate::functional::rrelu;

/// In training, `x` where it is positive, else `x` times a random slope from `[lower, upper)`; in evaluation, the slope is
/// their mean. The slopes are those that PyTorch draws from the same generator state.
///
/// Source: Xu, Wang, Chen and Li, *Empirical Evaluation of Rectified Activations in Convolutional
/// Network* (2015).
///
/// # Shapes
///
/// Any shape to the same.
///
/// # Errors
///
/// A dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let rrelu = RReLUConfig::new().lower(0.25).upper(0.75).build()?;
/// rrelu.eval();
/// assert_eq!(rrelu.call(Tensor::from([2.0_f32, -2.0]))?.to_vec::<f32>()?, [2.0, -1.0]);
///
/// let rrelu: RReLU = RReLU::new(); // Between 1/8 and 1/3.
/// let y = rrelu.call(Tensor::from([-1.0_f32]))?.item::<f32>()?;
/// assert!((-1.0 / 3.0..=-1.0 / 8.0).contains(&y));
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct RReLU {
    lower: Number,
    upper: Number,
    training: Training,
}

config! {
    /// The arguments of [`RReLU`].
    pub struct RReLUConfig => RReLU {
        optional {
            /// The smallest slope.
            lower: Number = 1.0 / 8.0,
            /// The largest slope.
            upper: Number = 1.0 / 3.0,
        }
    }
}

impl Build for RReLUConfig {
    type Output = RReLU;

    /// The activation.
    ///
    /// # Errors
    ///
    /// A `lower` above `upper`.
    fn build(&self) -> Result<RReLU> {
        let &Self { lower, upper } = self;
        // So that a NaN fails.
        let ordered = *lower <= *upper;
        if !ordered {
            let problem = format!("must be at most upper = {upper}");
            return Err(Error::argument("RReLU", "lower", lower, problem));
        }
        Ok(RReLU {
            lower,
            upper,
            training: Training::new(),
        })
    }
}

impl RReLU {
    /// Makes the layer with PyTorch's defaults; [`RReLUConfig`] has the arguments.
    pub fn new() -> Self {
        Self {
            lower: (1.0 / 8.0).into(),
            upper: (1.0 / 3.0).into(),
            training: Training::new(),
        }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> RReLUConfig {
        RReLUConfig {
            lower: self.lower,
            upper: self.upper,
        }
    }
}

impl Default for RReLU {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for RReLU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        match self.training.is_training() {
            true => rrelu(&input, *self.lower, *self.upper),
            false => input.leaky_relu((*self.lower + *self.upper) / 2.0),
        }
    }
}
