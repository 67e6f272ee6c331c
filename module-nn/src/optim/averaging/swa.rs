use module_core::{DType, Module, Result, Tensor, default_dtype};

use super::{AveragedModel, AveragingRule};
use crate::config::config;

/// The mean of a model's values at the updates (stochastic weight averaging): with the values `w` of the model after `n`
/// updates,
///
/// ```text
/// a ← w                        at the first update
/// a ← a + (w - a)/(n + 1)      afterwards
/// ```
///
/// [`AveragedModel`] describes how it is updated, used and saved, and what happens to buffers.
/// [`SWALR`](super::super::SWALR) is the matching schedule, and [`update_bn`](super::update_bn) gives batch normalizations
/// the statistics of the averaged values.
///
/// Source: `torch.optim.swa_utils.AveragedModel`; Izmailov, Podoprikhin, Garipov, Vetrov and Wilson, *Averaging
/// Weights Leads to Wider Optima and Better Generalization* (2018).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = [Parameter::new(Tensor::from(1.0_f32))?];
/// let mut swa = SWA::new(&model)?;
/// for value in [1.0_f32, 2.0, 6.0] {
///     model[0].set(Tensor::from(value))?;
///     swa.update(&model)?;
/// }
/// assert_eq!(swa.state_dict().get("0").unwrap().item::<f32>()?, 3.0);
/// # Ok::<(), Error>(())
/// ```
#[doc(alias = "get_swa_avg_fn")]
#[doc(alias = "get_swa_multi_avg_fn")]
pub type SWA = AveragedModel<SWAConfig>;

config! {
    /// The options of [`SWA`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = BatchNorm1d::new(2)?;
    /// let mut swa = SWAConfig::new().use_buffers(true).build(&model)?;
    /// swa.update(&model)?;
    /// assert_eq!(swa.n_averaged(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SWAConfig {
        optional {
            /// Whether buffers are averaged too.
            use_buffers: bool = false,
        }
    }
}

impl SWA {
    /// The average of a model's parameters.
    ///
    /// # Errors
    ///
    /// Those of [`AveragingRule::build`].
    pub fn new(model: &dyn Module) -> Result<Self> {
        SWAConfig::new().build(model)
    }
}

impl AveragingRule for SWAConfig {
    const NAME: &'static str = "SWA";

    fn use_buffers(&self) -> bool {
        self.use_buffers
    }

    fn average(&self, averaged: &Tensor, value: &Tensor, n_averaged: u64) -> Result<Tensor> {
        let count = (n_averaged + 1) as f64;
        let dtype = averaged.dtype();
        if dtype.is_differentiable() {
            return averaged.add(&value.sub(averaged)?.div(count)?);
        }
        let number = |x: &Tensor| x.to_dtype(default_dtype());
        let difference = match dtype {
            // Booleans have no arithmetic of their own.
            DType::Bool => number(value)?.sub(&number(averaged)?)?,
            _ => number(&value.sub(averaged)?)?,
        };
        number(averaged)?.add(&difference.div(count)?)
    }
}
