use std::fmt;

use module_core::module::{Number, Repr};
use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_positive, config};
use crate::functional;

/// Divides each element by a power of its neighborhood across channels:
///
/// ```text
/// y[n, c, …] = x[n, c, …] / (k + alpha/size · Σ x[n, i, …]²)^beta
/// ```
///
/// where `i` runs over the `size` channels around `c`, with zeros outside.
///
/// Source: Krizhevsky, Sutskever and Hinton, *ImageNet Classification with Deep Convolutional
/// Neural Networks* (2012).
///
/// # Shapes
///
/// `[batch, channels, …]` of at least three dimensions to the same.
///
/// # Errors
///
/// Fewer than three dimensions, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = LocalResponseNormConfig::new(1).alpha(1.0).beta(1.0).build()?;
/// let y = norm.call(Tensor::from([3.0_f32]).reshape([1, 1, 1])?)?;
/// assert!((y.item::<f32>()? - 0.3).abs() < 1e-6);
///
/// // 3 / (2 + 9)
/// let norm: LocalResponseNorm = LocalResponseNormConfig::new(1).alpha(1.0).beta(1.0).k(2.0).build()?;
/// let y = norm.call(Tensor::from([3.0_f32]).reshape([1, 1, 1])?)?;
/// assert!((y.item::<f32>()? - 3.0 / 11.0).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct LocalResponseNorm {
    #[module(skip)]
    config: LocalResponseNormConfig,
}

config! {
    /// The arguments of [`LocalResponseNorm`].
    pub struct LocalResponseNormConfig => LocalResponseNorm {
        required {
            /// The number of neighboring channels.
            size: usize,
        }
        optional {
            /// The factor of the sum.
            alpha: Number = 1e-4,
            /// The exponent.
            beta: Number = 0.75,
            /// The constant term.
            k: Number = 1.0,
        }
    }
}

impl Build for LocalResponseNormConfig {
    type Output = LocalResponseNorm;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A size of 0.
    fn build(&self) -> Result<LocalResponseNorm> {
        check_positive("LocalResponseNorm", "size", self.size)?;
        Ok(LocalResponseNorm {
            config: self.clone(),
        })
    }
}

impl LocalResponseNorm {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LocalResponseNormConfig {
            size,
            alpha,
            beta,
            k,
        } = &self.config;
        let [alpha, beta, k] = [alpha, beta, k].map(|number| Repr(number));
        write!(f, "{size}, alpha={alpha}, beta={beta}, k={k}")
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LocalResponseNormConfig {
        self.config.clone()
    }
}

impl Forward for LocalResponseNorm {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let config = &self.config;
        functional::local_response_norm(&input, config.size, *config.alpha, *config.beta, *config.k)
    }
}
