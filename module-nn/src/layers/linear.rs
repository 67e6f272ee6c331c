use module_core::module::Repr;
use module_core::{Bias, Forward, Maybe, Module, Parameter, Result, Tensor};

use crate::config::{Build, check_positive, config};
use crate::functional;
use crate::init::{KaimingUniform, Uniform};
use crate::lora::{Adaptable, Adapters};
use crate::parametrize::WithWeight;

/// `y = x·Wᵀ + b`: every output is a weighted sum of all inputs.
///
/// # Shapes
///
/// Input `[…, in_features]`, output `[…, out_features]`.
///
/// # State dict
///
/// `weight` `[out_features, in_features]` and, unless `bias` is false, `bias` `[out_features]`.
///
/// # Initialization
///
/// Both uniform in `±1/√in_features`, the weight first: PyTorch's, bit for bit.
///
/// # Errors
///
/// An input whose last dimension is not `in_features`, another dtype or device than the weight's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let layer = Linear::new(3, 2)?;
/// assert_eq!(layer.call(Tensor::ones([5, 3], DType::F32)?)?.size(1)?, 2);
/// assert_eq!(layer.tree().to_string(), "Linear(in_features=3, out_features=2, bias=True)");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Linear {
    in_features: usize,
    out_features: usize,
    weight: Parameter,
    bias: Bias,
    #[module(flatten)]
    adapters: Adapters,
}

config! {
    /// The arguments of [`Linear`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let layer = LinearConfig::new(3, 2).bias(false).build()?;
    /// assert_eq!(layer.state_dict()?.keys().collect::<Vec<_>>(), ["weight"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LinearConfig => Linear {
        required {
            /// The size of each input.
            in_features: usize,
            /// The size of each output.
            out_features: usize,
        }
        optional {
            /// Whether a bias is learned.
            bias: bool = true,
        }
    }
}

impl Build for LinearConfig {
    type Output = Linear;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, sizes that exceed memory.
    fn build(&self) -> Result<Linear> {
        let &Self {
            in_features,
            out_features,
            bias,
        } = self;
        check_positive("Linear", "in_features", in_features)?;
        check_positive("Linear", "out_features", out_features)?;
        Ok(Linear {
            in_features,
            out_features,
            weight: Parameter::with_init([out_features, in_features], KaimingUniform::default())?,
            bias: Maybe::when(bias, || {
                Parameter::with_init(out_features, Uniform::of_fan_in(in_features))
            })?,
            adapters: Adapters::new(Adaptable::Linear),
        })
    }
}

impl Linear {
    /// A layer of parameters that another layer has made.
    pub(super) fn from_parts(
        in_features: usize,
        out_features: usize,
        weight: Parameter,
        bias: Bias,
    ) -> Self {
        Self {
            in_features,
            out_features,
            weight,
            bias,
            adapters: Adapters::new(Adaptable::Linear),
        }
    }

    /// The weight, `[out_features, in_features]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// The bias, `[out_features]`.
    pub fn bias(&self) -> &Bias {
        &self.bias
    }

    /// Uses another handle as the weight: `decoder.tie_weight(encoder.weight().share())?`.
    ///
    /// # Errors
    ///
    /// A weight of another shape.
    pub fn tie_weight(&mut self, weight: Parameter) -> Result<()> {
        functional::check_shape("tie_weight", &weight.detach(), &self.weight.shape())?;
        self.weight = weight;
        Ok(())
    }

    pub(super) fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            in_features,
            out_features,
            ..
        } = self;
        let present = self.bias.is_present();
        let bias = Repr(&present);
        write!(
            f,
            "in_features={in_features}, out_features={out_features}, bias={bias}"
        )
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LinearConfig {
        LinearConfig {
            in_features: self.in_features,
            out_features: self.out_features,
            bias: self.bias.is_present(),
        }
    }
}

impl Forward for Linear {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.forward_with(input, &self.weight.tensor())
    }
}

impl WithWeight for Linear {
    const PARAMETRIZED: &'static str = "ParametrizedLinear";

    fn own_weight(&self) -> &Parameter {
        &self.weight
    }

    fn forward_with(&self, input: Tensor, weight: &Tensor) -> Result<Tensor> {
        let bias = self.bias.get().map(Parameter::tensor);
        if self.adapters.is_empty() {
            return functional::linear(&input, weight, bias.as_ref());
        }
        let project = |x: &Tensor, weight: &Tensor| functional::linear(x, weight, None);
        let adapters = &self.adapters;
        adapters.forward(&input, weight, bias.as_ref(), &functional::linear, &project)
    }
}
