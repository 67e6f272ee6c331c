use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, poisson_nll_loss};
use crate::loss::defaults;

/// The negative log-probability of counts `y` under a Poisson distribution whose mean has the logarithm `x`: `eˣ - y·x`;
/// without `log_input`, with the mean `x`: `x - y · ln(x + eps)`.
///
/// # Shapes
///
/// A pair of an input and a target of the same shape. The output has no dimensions, or that shape with [`Reduction::None`].
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = PoissonNLLLoss::new();
/// let loss = criterion.call((Tensor::from([0.0_f32]), Tensor::from([2.0_f32])))?;
/// assert_eq!(loss.item::<f32>()?, 1.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct PoissonNLLLoss {
    #[module(skip)]
    config: PoissonNLLLossConfig,
}

config! {
    /// The arguments of [`PoissonNLLLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = PoissonNLLLossConfig::new().full(true).build()?;
    /// assert!(criterion.config().full);
    /// // The input is the mean itself: 2 - 3·ln 2.
    /// let criterion = PoissonNLLLossConfig::new().log_input(false).eps(0.0).build()?;
    /// let loss = criterion.call((Tensor::from([2.0_f64]), Tensor::from([3.0_f64])))?;
    /// assert!((loss.item::<f64>()? - (2.0 - 3.0 * 2.0_f64.ln())).abs() < 1e-12);
    ///
    /// let sums = PoissonNLLLossConfig::new().reduction(Reduction::Sum).build()?;
    /// assert_eq!(sums.call((Tensor::from([0.0_f32, 0.0]), Tensor::from([2.0_f32, 3.0])))?.item::<f32>()?, 2.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct PoissonNLLLossConfig => PoissonNLLLoss {
        optional {
            /// Whether the input is the logarithm of the mean.
            log_input: bool = true,
            /// Whether the factorial of the counts is approximated by Stirling's formula rather than omitted.
            full: bool = false,
            /// Added to the mean, to avoid the logarithm of 0.
            eps: f64 = 1e-8,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for PoissonNLLLossConfig {
    type Output = PoissonNLLLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<PoissonNLLLoss> {
        Ok(PoissonNLLLoss::of(self))
    }
}

defaults!(PoissonNLLLoss, PoissonNLLLossConfig);

impl PoissonNLLLoss {
    fn of(config: &PoissonNLLLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> PoissonNLLLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for PoissonNLLLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        poisson_nll_loss(&input, &target, &self.config)
    }
}
