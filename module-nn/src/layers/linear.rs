use module_core::module::Repr;
use module_core::{Bias, Forward, Maybe, Module, Parameter, Result, Tensor};

use super::parts::{optional_part, part, sizes, tie};
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
/// An input whose last dimension is not `in_features`, a dtype or device that differs from the weight's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let layer = Linear::new(3, 2)?;
/// assert_eq!(layer.call(Tensor::ones([5, 3], DType::F32)?)?.size(1)?, 2);
/// assert_eq!(layer.tree().to_string(), "Linear(in_features=3, out_features=2, bias=True)");
///
/// // An output layer with the weight of an embedding.
/// let table = Embedding::new(10, 4)?;
/// let mut head = LinearConfig::new(4, 10).bias(false).build()?;
/// head.tie_weight(table.weight())?;
/// assert!(head.weight().tensor().equal(&table.weight().tensor())?);
/// assert!(head.tie_weight(layer.weight()).is_err()); // Its shape differs.
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
        let [out_features, in_features] = self.check()?;
        let weight = Parameter::with_init([out_features, in_features], KaimingUniform::default())?;
        let bias = Maybe::when(self.bias, || {
            Parameter::with_init(out_features, Uniform::of_fan_in(in_features))
        })?;
        Ok(Linear::of(weight, bias, [out_features, in_features]))
    }
}

impl LinearConfig {
    /// A layer made from existing parameters: nothing is drawn.
    ///
    /// # Errors
    ///
    /// A size of 0, a weight or a bias of another shape, a bias that is missing, or given although `bias` is false.
    pub fn from_parts(&self, weight: Parameter, bias: impl Into<Bias>) -> Result<Linear> {
        let [rows, columns] = self.check()?;
        Ok(Linear::of(
            part("Linear", "weight", weight, [rows, columns])?,
            optional_part("Linear", "bias", self.bias, bias.into(), rows)?,
            [rows, columns],
        ))
    }

    /// The sizes of the weight.
    fn check(&self) -> Result<[usize; 2]> {
        check_positive("Linear", "in_features", self.in_features)?;
        check_positive("Linear", "out_features", self.out_features)?;
        Ok([self.out_features, self.in_features])
    }
}

impl Linear {
    /// A layer made from existing parameters, with the sizes of the weight: nothing is drawn.
    ///
    /// # Errors
    ///
    /// A weight that is not two-dimensional, or has a size of 0, a bias of another size.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let weight = Parameter::new(Tensor::from([[1.0_f32, 2.0]]))?;
    /// let layer = Linear::from_parts(weight, Bias::Absent)?;
    /// assert_eq!(layer.call(Tensor::from([3.0_f32, 4.0]))?.to_vec::<f32>()?, [11.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_parts(weight: Parameter, bias: impl Into<Bias>) -> Result<Self> {
        let [out_features, in_features] = sizes("Linear", &weight)?;
        let bias: Bias = bias.into();
        let config = LinearConfig::new(in_features, out_features).bias(bias.is_present());
        config.from_parts(weight, bias)
    }

    /// A layer made from checked parameters.
    pub(super) fn of(
        weight: Parameter,
        bias: Bias,
        [out_features, in_features]: [usize; 2],
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

    /// Ties its weight to another one: `decoder.tie_weight(encoder.weight())?`.
    ///
    /// # Errors
    ///
    /// A weight of another shape.
    pub fn tie_weight(&mut self, weight: &Parameter) -> Result<()> {
        tie(&mut self.weight, weight)
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
