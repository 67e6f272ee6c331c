use module_core::{Bias, Forward, Maybe, Module, Parameter, Result, Tensor};

use crate::init::{KaimingUniform, Overwritten, Uniform};
use crate::layers::Linear;

/// A [`Linear`] under the name that PyTorch gives the output projection of
/// [`MultiheadAttention`](super::MultiheadAttention).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let attention = MultiheadAttention::new(4, 2)?;
/// assert_eq!(attention.out_proj().linear().weight().shape().to_string(), "[4, 4]");
/// let out_proj: &NonDynamicallyQuantizableLinear = attention.out_proj();
/// assert_eq!(out_proj.bias().get().unwrap().tensor().to_vec::<f32>()?, [0.0; 4]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct NonDynamicallyQuantizableLinear {
    #[module(flatten)]
    linear: Linear,
}

impl NonDynamicallyQuantizableLinear {
    /// A square layer; its bias is drawn like that of any linear layer and then set to 0.
    pub(super) fn new(size: usize, bias: bool) -> Result<Self> {
        let weight = Parameter::with_init([size, size], KaimingUniform::default())?;
        let bias = Maybe::when(bias, || {
            Parameter::with_init(size, Overwritten(Uniform::of_fan_in(size)))
        })?;
        let linear = Linear::of(weight, bias, [size, size]);
        Ok(Self { linear })
    }

    /// The layer itself.
    pub fn linear(&self) -> &Linear {
        &self.linear
    }

    /// The weight, `[embed_dim, embed_dim]`.
    pub fn weight(&self) -> &Parameter {
        self.linear.weight()
    }

    /// The bias, `[embed_dim]`.
    pub fn bias(&self) -> &Bias {
        self.linear.bias()
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.linear.extra_repr(f)
    }
}

impl Forward for NonDynamicallyQuantizableLinear {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.linear.forward(input)
    }
}
