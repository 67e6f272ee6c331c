use module_core::{DType, Module, Result, Tensor, default_dtype};

use super::{AveragedModel, AveragingRule};
use crate::config::{check_between, config};
use crate::optim::arithmetic::lerp;
use crate::optim::range::{at_least_0, from_0_to_1};

/// The exponential moving average of a model's parameters: with the decay `d` and the values `w` of the model,
///
/// ```text
/// a ← w                        at the first update
/// a ← a + (1 - d)·(w - a)      afterwards
/// ```
///
/// [`AveragedModel`] describes how it is updated, used and saved, and what happens to buffers.
///
/// Source: `torch.optim.swa_utils.get_ema_multi_avg_fn`; Polyak and Juditsky, *Acceleration of Stochastic
/// Approximation by Averaging* (1992).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = SGD::new(&model, 0.1)?;
/// let mut ema = EMA::new(&model, 0.99)?;
/// for _ in 0..3 {
///     model.zero_grad();
///     model.call(Tensor::from([[1.0_f32, 2.0]]))?.square()?.sum(..)?.backward()?;
///     optimizer.step(&model)?;
///     ema.update(&model)?;
/// }
/// let trained = model.weight().detach();
/// {
///     let _averaged = ema.swap_in(&model)?;
///     assert!(!model.weight().detach().equal(&trained)?);
/// }
/// assert!(model.weight().detach().equal(&trained)?);
/// # Ok::<(), Error>(())
/// ```
#[doc(alias = "get_ema_avg_fn")]
#[doc(alias = "get_ema_multi_avg_fn")]
pub type EMA = AveragedModel<EMAConfig>;

config! {
    /// The options of [`EMA`].
    ///
    /// With `use_warmup` the decay of update `n`, counted from 0, is, with `γ` and `p`,
    ///
    /// ```text
    /// max(min(1 - (1 + n/γ)^(-p), d), min_decay)
    /// ```
    ///
    /// so that the earliest values are soon forgotten, as in timm's `ModelEmaV3`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let ema = EMAConfig::new(0.9999).use_warmup(true).use_buffers(true).build(&model)?;
    /// assert_eq!(ema.n_averaged(), 0);
    /// assert!(EMAConfig::new(1.5).build(&model).is_err());
    ///
    /// // A warm-up: the decay of the second update is 1 - 1/(1 + 1/2)², but no less than 0.6.
    /// let model = [Parameter::new(Tensor::from([0.0_f64]))?];
    /// let config = EMAConfig::new(0.99).use_warmup(true).warmup_gamma(2.0).warmup_power(2.0);
    /// let mut ema = config.min_decay(0.6).build(&model)?;
    /// ema.update(&model)?;
    /// model[0].set(Tensor::from([1.0_f64]))?;
    /// ema.update(&model)?;
    /// assert!((ema.state_dict().get("0").unwrap().item::<f64>()? - 0.4).abs() < 1e-12);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct EMAConfig {
        required {
            /// The fraction of the average that remains at an update, from 0 to 1.
            decay: f64,
        }
        optional {
            /// Whether buffers are averaged too.
            use_buffers: bool = false,
            /// Whether the decay grows from 0.
            use_warmup: bool = false,
            /// `γ`: the time scale of the warm-up, in updates.
            warmup_gamma: f64 = 1.0,
            /// `p`: the exponent of the warm-up.
            warmup_power: f64 = 2.0 / 3.0,
            /// The minimum decay in the warm-up.
            min_decay: f64 = 0.0,
        }
    }
}

impl EMA {
    /// The average of a model with this decay, and without a warm-up.
    ///
    /// # Errors
    ///
    /// Those of [`AveragingRule::build`].
    pub fn new(model: &dyn Module, decay: f64) -> Result<Self> {
        EMAConfig::new(decay).build(model)
    }
}

impl EMAConfig {
    /// The decay of update `n`, counted from 0.
    fn decay_after(&self, n: u64) -> f64 {
        if !self.use_warmup {
            return self.decay;
        }
        let grown = 1.0 - (1.0 + n as f64 / self.warmup_gamma).powf(-self.warmup_power);
        grown.min(self.decay).max(self.min_decay)
    }
}

impl AveragingRule for EMAConfig {
    const NAME: &'static str = "EMA";

    fn check(&self) -> Result<()> {
        from_0_to_1(Self::NAME, "decay", self.decay)?;
        from_0_to_1(Self::NAME, "min_decay", self.min_decay)?;
        at_least_0(Self::NAME, "warmup_power", self.warmup_power)?;
        let range = [f64::MIN_POSITIVE, f64::MAX];
        check_between(Self::NAME, "warmup_gamma", self.warmup_gamma, range)
    }

    fn use_buffers(&self) -> bool {
        self.use_buffers
    }

    fn average(&self, averaged: &Tensor, value: &Tensor, n_averaged: u64) -> Result<Tensor> {
        let decay = self.decay_after(n_averaged);
        let dtype = averaged.dtype();
        if matches!(dtype, DType::F16 | DType::BF16) {
            // Rounded once, like PyTorch's `lerp`.
            let [averaged, value] = [averaged, value].map(|x| x.to_dtype(DType::F32));
            return lerp(&averaged?, &value?, 1.0 - decay);
        }
        if dtype.is_differentiable() {
            return lerp(averaged, value, 1.0 - decay);
        }
        let kept = averaged.to_dtype(default_dtype())?.mul(decay)?;
        kept.add(&value.to_dtype(default_dtype())?.mul(1.0 - decay)?)
    }
}
