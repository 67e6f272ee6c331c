use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_above_zero, config};
use crate::functional::{Reduction, gaussian_nll_loss};
use crate::loss::defaults;

/// The negative log-density of the target `y` under normal distributions with the mean `x` and the variance `v`, which is
/// at least `eps`: `(ln v + (x - y)² / v) / 2`, with `full` also the constant `ln(2π) / 2`.
///
/// Source: Nix and Weigend, *Estimating the mean and variance of the target probability distribution* (1994).
///
/// # Shapes
///
/// Three tensors: an input and a target of the same shape, and a variance of that shape, possibly with 1 in one dimension,
/// or without the last one. The output has no dimensions, or the shape of the input with [`Reduction::None`].
///
/// # Errors
///
/// Other shapes, even if they would broadcast; a negative variance; different dtypes, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = GaussianNLLLoss::new();
/// let one = || Tensor::from([1.0_f32]);
/// assert_eq!(criterion.call((one(), Tensor::from([3.0_f32]), one()))?.item::<f32>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct GaussianNLLLoss {
    #[module(skip)]
    config: GaussianNLLLossConfig,
}

config! {
    /// The arguments of [`GaussianNLLLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = GaussianNLLLossConfig::new().full(true).build()?;
    /// assert!(criterion.config().full);
    /// // A variance of 0.1 counts as 0.25: ½·(ln 0.25 + 2²/0.25)
    /// let criterion = GaussianNLLLossConfig::new().eps(0.25).reduction(Reduction::Sum).build()?;
    /// let one = |x: f64| Tensor::from([x]);
    /// let loss = criterion.call((one(2.0), one(4.0), one(0.1)))?.item::<f64>()?;
    /// assert!((loss - 0.5 * (0.25_f64.ln() + 16.0)).abs() < 1e-12);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct GaussianNLLLossConfig => GaussianNLLLoss {
        optional {
            /// Whether the constant is included.
            full: bool = false,
            /// The lower bound of the variance.
            eps: f64 = 1e-6,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for GaussianNLLLossConfig {
    type Output = GaussianNLLLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// An `eps` that is not above 0.
    fn build(&self) -> Result<GaussianNLLLoss> {
        const NAME: &str = "GaussianNLLLoss";
        self.check(NAME)?;
        Ok(GaussianNLLLoss::of(self))
    }
}

impl GaussianNLLLossConfig {
    /// Refuses an `eps` that is not above 0.
    pub(crate) fn check(&self, op: &'static str) -> Result<()> {
        check_above_zero(op, "eps", self.eps)
    }
}

defaults!(GaussianNLLLoss, GaussianNLLLossConfig);

impl GaussianNLLLoss {
    fn of(config: &GaussianNLLLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> GaussianNLLLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor, Tensor)> for GaussianNLLLoss {
    type Output = Tensor;

    fn forward(&self, (input, target, var): (Tensor, Tensor, Tensor)) -> Result<Tensor> {
        gaussian_nll_loss(&input, &target, &var, &self.config)
    }
}
