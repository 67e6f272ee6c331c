use std::fmt;

use module_core::module::Repr;
use module_core::{Bias, Forward, Maybe, Module, Parameter, Result, Tensor};

use crate::config::{Build, check_positive, config};
use crate::functional;
use crate::init::Uniform;

/// `y = x1ᵀ·A·x2 + b`: every output is a weighted sum of the products of two inputs.
///
/// # Shapes
///
/// Called with a pair `[…, in1_features]` and `[…, in2_features]` of the same leading sizes; to
/// `[…, out_features]`.
///
/// # State dict
///
/// `weight` `[out_features, in1_features, in2_features]` and, unless `bias` is false, `bias`
/// `[out_features]`.
///
/// # Initialization
///
/// Both uniform in `±1/√in1_features`, the weight first: PyTorch's, bit for bit.
///
/// # Errors
///
/// Other sizes than these, a dtype or device that differs from the weight's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let layer = Bilinear::new(3, 4, 2)?;
/// let pair = (Tensor::randn([5, 3], DType::F32)?, Tensor::randn([5, 4], DType::F32)?);
/// assert_eq!(layer.call(pair)?.shape().to_string(), "[5, 2]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Bilinear {
    #[module(skip)]
    config: BilinearConfig,
    weight: Parameter,
    bias: Bias,
}

config! {
    /// The arguments of [`Bilinear`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let layer = BilinearConfig::new(3, 4, 2).bias(false).build()?;
    /// assert_eq!(layer.weight().shape().to_string(), "[2, 3, 4]");
    /// assert_eq!(layer.num_parameters(), 24);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct BilinearConfig => Bilinear {
        required {
            /// The size of each first input.
            in1_features: usize,
            /// The size of each second input.
            in2_features: usize,
            /// The size of each output.
            out_features: usize,
        }
        optional {
            /// Whether a bias is learned.
            bias: bool = true,
        }
    }
}

impl Build for BilinearConfig {
    type Output = Bilinear;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, sizes that exceed memory.
    fn build(&self) -> Result<Bilinear> {
        let &Self {
            in1_features,
            in2_features,
            out_features,
            bias,
        } = self;
        check_positive("Bilinear", "in1_features", in1_features)?;
        check_positive("Bilinear", "in2_features", in2_features)?;
        check_positive("Bilinear", "out_features", out_features)?;
        let init = || Uniform::of_fan_in(in1_features);
        let shape = [out_features, in1_features, in2_features];
        Ok(Bilinear {
            config: self.clone(),
            weight: Parameter::with_init(shape, init())?,
            bias: Maybe::when(bias, || Parameter::with_init(out_features, init()))?,
        })
    }
}

impl Bilinear {
    /// The weight, `[out_features, in1_features, in2_features]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// The bias, `[out_features]`.
    pub fn bias(&self) -> &Bias {
        &self.bias
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BilinearConfig {
            in1_features,
            in2_features,
            out_features,
            bias,
        } = &self.config;
        write!(
            f,
            "in1_features={in1_features}, in2_features={in2_features}, \
             out_features={out_features}, bias={}",
            Repr(bias)
        )
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> BilinearConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for Bilinear {
    type Output = Tensor;

    fn forward(&self, (x1, x2): (Tensor, Tensor)) -> Result<Tensor> {
        let bias = self.bias.get().map(Parameter::tensor);
        functional::bilinear(&x1, &x2, &self.weight.tensor(), bias.as_ref())
    }
}
