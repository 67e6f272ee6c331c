use module_core::{Forward, Module, Parameter, Result, Tensor};

use crate::config::{Build, check_positive, config};
use crate::init::Constant;

/// `x` where it is positive, else `x` times a learned slope, one for all or one for each channel.
///
/// Source: He, Zhang, Ren and Sun, *Delving Deep into Rectifiers: Surpassing Human-Level Performance on
/// ImageNet Classification* (2015).
///
/// # Shapes
///
/// `[batch, channels, …]`, or any other with one parameter, to the same.
///
/// # State dict
///
/// `weight` `[num_parameters]`.
///
/// # Initialization
///
/// `init`, without a draw.
///
/// # Errors
///
/// Channels that are neither 1 nor `num_parameters`, a dtype or device that differs from the weight's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let prelu = PReLUConfig::new().num_parameters(2).init(0.5).build()?;
/// let y = prelu.call(Tensor::from([[-4.0_f32, 2.0]]))?;
/// assert_eq!(y.to_vec::<f32>()?, [-2.0, 2.0]);
///
/// // PyTorch's default: one slope for all.
/// let prelu: PReLU = PReLU::new()?;
/// assert_eq!(prelu.weight().tensor().to_vec::<f32>()?, [0.25]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct PReLU {
    num_parameters: usize,
    #[module(skip)]
    init: f64,
    weight: Parameter,
}

config! {
    /// The arguments of [`PReLU`].
    pub struct PReLUConfig => PReLU {
        optional {
            /// The number of slopes: 1, or the number of channels.
            num_parameters: usize = 1,
            /// The initial value of every slope.
            init: f64 = 0.25,
        }
    }
}

impl Build for PReLUConfig {
    type Output = PReLU;

    /// A layer with new slopes.
    ///
    /// # Errors
    ///
    /// No parameters, more than fit in memory.
    fn build(&self) -> Result<PReLU> {
        let &Self {
            num_parameters,
            init,
        } = self;
        check_positive("PReLU", "num_parameters", num_parameters)?;
        Ok(PReLU {
            num_parameters,
            init,
            weight: Parameter::with_init(num_parameters, Constant(init))?,
        })
    }
}

impl PReLU {
    /// Makes the layer with one slope of 0.25; [`PReLUConfig`] has the arguments.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub fn new() -> Result<Self> {
        PReLUConfig::new().build()
    }

    /// The slopes, `[num_parameters]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> PReLUConfig {
        PReLUConfig {
            num_parameters: self.num_parameters,
            init: self.init,
        }
    }
}

impl Forward for PReLU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.prelu(&self.weight.tensor())
    }
}
