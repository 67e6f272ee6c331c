use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{KLDivReduction, kl_div, kl_div_log_target};
use crate::loss::defaults;

/// The Kullback–Leibler divergence of probabilities `y` from log-probabilities `x`: `y (ln y - x)`, or with `log_target`,
/// for log-probabilities `y`: `eʸ (y - x)`.
///
/// The mean over all elements, PyTorch's default, is not the divergence:
/// [`KLDivReduction::BatchMean`](crate::KLDivReduction::BatchMean) is.
///
/// # Shapes
///
/// A pair of an input and a target of the same shape. The output has no dimensions, or that shape with
/// [`KLDivReduction::None`](crate::KLDivReduction::None).
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
/// let criterion = KLDivLossConfig::new().reduction(KLDivReduction::BatchMean).build()?;
/// let x = Tensor::from([[0.5_f32.ln(), 0.5_f32.ln()]]);
/// assert_eq!(criterion.call((x, Tensor::from([[1.0_f32, 0.0]])))?.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct KLDivLoss {
    #[module(skip)]
    config: KLDivLossConfig,
}

config! {
    /// The arguments of [`KLDivLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = KLDivLossConfig::new().log_target(true).build()?;
    /// let criterion: KLDivLoss = criterion;
    /// // Equal distributions, both as logarithms.
    /// let x = Tensor::from([0.5_f32.ln(), 0.5_f32.ln()]);
    /// assert_eq!(criterion.call((x.clone(), x))?.item::<f32>()?, 0.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct KLDivLossConfig => KLDivLoss {
        optional {
            /// Whether the target holds log-probabilities.
            log_target: bool = false,
            /// How the per-element divergences are reduced.
            reduction: KLDivReduction = KLDivReduction::Mean,
        }
    }
}

impl Build for KLDivLossConfig {
    type Output = KLDivLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<KLDivLoss> {
        Ok(KLDivLoss::of(self))
    }
}

defaults!(KLDivLoss, KLDivLossConfig);

impl KLDivLoss {
    fn of(config: &KLDivLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> KLDivLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for KLDivLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        let divergence = match self.config.log_target {
            true => kl_div_log_target,
            false => kl_div,
        };
        divergence(&input, &target, self.config.reduction)
    }
}
