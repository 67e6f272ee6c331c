use module_core::{Forward, Module, Parameter, Result, Tensor};

use super::parts::{part, sizes, tie};
use crate::config::{Build, check_positive, config};
use crate::functional;
use crate::init::{Normal, zeros};
use crate::lora::{Adaptable, Adapters};
use crate::parametrize::WithWeight;

/// `y = x·W + b`: a [`Linear`](super::Linear) layer that stores its weight transposed, like GPT-2's checkpoints. It is the
/// `Conv1D` of Hugging Face's transformers, and prints under that name.
///
/// Adapters of [`lora`](crate::lora) are those of a linear layer (PEFT's `fan_in_fan_out`), so that their files are
/// compatible. Its weight is not quantized: [`quantize`](crate::quantize::quantize()) skips it and reports that.
///
/// Source: Radford et al., *Language Models are Unsupervised Multitask Learners* (2019).
///
/// # Shapes
///
/// Input `[…, in_features]`, output `[…, out_features]`.
///
/// # State dict
///
/// `weight` `[in_features, out_features]` and `bias` `[out_features]`.
///
/// # Initialization
///
/// The weight normal of mean 0 and standard deviation 0.02, the bias 0: transformers', bit for bit.
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
/// let layer = TransposedLinear::new(3, 2)?;
/// assert_eq!(layer.weight().shape().to_string(), "[3, 2]");
/// assert_eq!(layer.call(Tensor::ones([5, 3], DType::F32)?)?.shape().to_string(), "[5, 2]");
/// assert_eq!(layer.tree().to_string(), "Conv1D(nf=2, nx=3)");
///
/// // From a checkpoint: `x·W + b`.
/// let weight = Parameter::new(Tensor::from([[1.0_f32], [10.0]]))?;
/// let layer = TransposedLinear::from_parts(weight, Parameter::new(Tensor::from([0.5_f32]))?)?;
/// assert_eq!(layer.call(Tensor::from([3.0_f32, 4.0]))?.to_vec::<f32>()?, [43.5]);
/// assert_eq!(layer.bias().tensor().to_vec::<f32>()?, [0.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::KIND, extra_repr = Self::extra_repr)]
pub struct TransposedLinear {
    in_features: usize,
    out_features: usize,
    weight: Parameter,
    bias: Parameter,
    #[module(flatten)]
    adapters: Adapters,
}

config! {
    /// The arguments of [`TransposedLinear`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let layer = TransposedLinearConfig::new(3, 2).build()?;
    /// assert_eq!(layer.state_dict()?.get("weight").unwrap().shape().to_string(), "[3, 2]");
    ///
    /// // Two layers with one weight.
    /// let mut twin = TransposedLinear::new(3, 2)?;
    /// twin.tie_weight(layer.weight())?;
    /// let x = Tensor::randn([5, 3], DType::F32)?;
    /// assert!(twin.call(x.clone())?.equal(&layer.call(x)?)?); // Both biases are 0.
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TransposedLinearConfig => TransposedLinear {
        required {
            /// The size of each input.
            in_features: usize,
            /// The size of each output.
            out_features: usize,
        }
    }
}

const NAME: &str = "TransposedLinear";

impl Build for TransposedLinearConfig {
    type Output = TransposedLinear;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, sizes that exceed memory.
    fn build(&self) -> Result<TransposedLinear> {
        let shape = self.check()?;
        let (mean, std) = (0.0, 0.02);
        let weight = Parameter::with_init(shape, Normal { mean, std })?;
        let bias = Parameter::with_init(self.out_features, zeros())?;
        Ok(self.with_parameters(weight, bias))
    }
}

impl TransposedLinearConfig {
    fn check(&self) -> Result<[usize; 2]> {
        check_positive(NAME, "in_features", self.in_features)?;
        check_positive(NAME, "out_features", self.out_features)?;
        Ok([self.in_features, self.out_features])
    }

    fn with_parameters(&self, weight: Parameter, bias: Parameter) -> TransposedLinear {
        TransposedLinear {
            in_features: self.in_features,
            out_features: self.out_features,
            weight,
            bias,
            adapters: Adapters::new(Adaptable::TransposedLinear),
        }
    }
}

impl TransposedLinear {
    const KIND: &'static str = "Conv1D";

    /// A layer made from existing parameters, with the sizes of the weight: nothing is drawn.
    ///
    /// # Errors
    ///
    /// A weight that is not two-dimensional, or has a size of 0, a bias of another size.
    pub fn from_parts(weight: Parameter, bias: Parameter) -> Result<Self> {
        let [in_features, out_features] = sizes(NAME, &weight)?;
        let config = TransposedLinearConfig::new(in_features, out_features);
        config.check()?;
        let bias = part(NAME, "bias", bias, out_features)?;
        Ok(config.with_parameters(weight, bias))
    }

    /// The weight, `[in_features, out_features]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// The bias, `[out_features]`.
    pub fn bias(&self) -> &Parameter {
        &self.bias
    }

    /// Ties its weight to another one.
    ///
    /// # Errors
    ///
    /// A weight of another shape.
    pub fn tie_weight(&mut self, weight: &Parameter) -> Result<()> {
        tie(&mut self.weight, weight)
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "nf={}, nx={}", self.out_features, self.in_features)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> TransposedLinearConfig {
        TransposedLinearConfig::new(self.in_features, self.out_features)
    }
}

/// The layer with any weight: a view of it is the weight of a linear layer.
fn compute(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    functional::linear(input, &weight.t()?, bias)
}

impl Forward for TransposedLinear {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.forward_with(input, &self.weight.tensor())
    }
}

impl WithWeight for TransposedLinear {
    const PARAMETRIZED: &'static str = "ParametrizedConv1D";

    fn own_weight(&self) -> &Parameter {
        &self.weight
    }

    fn forward_with(&self, input: Tensor, weight: &Tensor) -> Result<Tensor> {
        let bias = self.bias.tensor();
        if self.adapters.is_empty() {
            return compute(&input, weight, Some(&bias));
        }
        let project = |x: &Tensor, weight: &Tensor| functional::linear(x, weight, None);
        let adapters = &self.adapters;
        adapters.forward(&input, weight, Some(&bias), &compute, &project)
    }
}
