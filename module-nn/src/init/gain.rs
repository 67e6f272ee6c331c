//! The effect of nonlinearities on the variance.

/// A nonlinearity, by its effect on the variance.
///
/// # Example
///
/// ```
/// use module_nn::init::Nonlinearity;
///
/// assert_eq!(Nonlinearity::Relu.gain(), 2.0_f64.sqrt());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nonlinearity {
    /// None, for example after the last layer; also linear layers and convolutions themselves.
    Linear,
    /// The logistic function.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// ReLU and similar functions: GELU, SiLU.
    Relu,
    /// A leaky ReLU with this slope below 0; PyTorch's default is 0.01.
    LeakyRelu(f64),
    /// The self-normalizing ELU.
    Selu,
}

impl Nonlinearity {
    /// The factor by which weights are scaled to keep the variance: [`calculate_gain`].
    pub fn gain(self) -> f64 {
        match self {
            Self::Linear | Self::Sigmoid => 1.0,
            Self::Tanh => 5.0 / 3.0,
            Self::Relu => 2.0_f64.sqrt(),
            Self::LeakyRelu(slope) => (2.0 / (1.0 + slope * slope)).sqrt(),
            Self::Selu => 3.0 / 4.0,
        }
    }
}

/// PyTorch's `calculate_gain`:
///
/// | nonlinearity | gain |
/// |---|---|
/// | linear, convolutions, sigmoid | 1 |
/// | tanh | 5/3 |
/// | ReLU | √2 |
/// | leaky ReLU of slope `s` | √(2/(1 + s²)) |
/// | SELU | 3/4 |
///
/// # Example
///
/// ```
/// use module_nn::init::{Nonlinearity, calculate_gain};
///
/// assert_eq!(calculate_gain(Nonlinearity::Tanh), 5.0 / 3.0);
/// ```
pub fn calculate_gain(nonlinearity: Nonlinearity) -> f64 {
    nonlinearity.gain()
}
