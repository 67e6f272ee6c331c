//! Loss scaling, so that half-precision gradients do not vanish.

mod config;

use std::collections::HashMap;

use module_core::{
    DType, Error, Module, ModuleExt, Parameter, Result, Snapshot, Stateful, Tensor, TensorId,
    no_grad,
};

pub use config::GradScalerConfig;

use self::config::check_scale;
use super::{Optimizer, OptimizerError};

const NAME: &str = "GradScaler";

/// Scales the loss up before `backward` and the gradients down before the step, so that the `F16` gradients of
/// [`autocast`](module_core::autocast) do not underflow.
///
/// A step with infinite or NaN gradients is skipped, and the scale is reduced; after some steps without any, it grows:
///
/// ```text
/// scale ← scale · backoff_factor   after a step that was left out
/// scale ← scale · growth_factor    after growth_interval steps that were not
/// ```
///
/// Each training step calls [`scale`](Self::scale), [`step`](Self::step) and then [`update`](Self::update); call
/// [`unscale`](Self::unscale) in between to clip gradients. Several optimizers, each with its own model, can share a
/// scaler: then call `update` once, after all of them. `BF16` has the exponent range of `F32` and needs no scaler.
///
/// # State dict
///
/// `scale`, `growth_factor`, `backoff_factor`, `growth_interval`, `_growth_tracker`, as PyTorch's; take it after `update`.
///
/// Source: `torch.amp.GradScaler`; Micikevicius et al., *Mixed Precision Training* (2018).
///
/// # Example
///
/// ```
/// use module_nn::functional::{Reduction, mse_loss};
/// use module_nn::optim::clip_grad_norm;
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = SGD::new(&model, 0.1)?;
/// let mut scaler = GradScaler::new();
/// let (x, y) = (Tensor::from([[1.0_f32, 2.0]]), Tensor::from([[0.5_f32]]));
/// for _ in 0..3 {
///     let loss = autocast(DType::F16, || mse_loss(&model.call(x.clone())?, &y, Reduction::Mean))?;
///     scaler.scale(&loss)?.backward()?;
///     scaler.unscale(&model)?;
///     clip_grad_norm(&model, 1.0)?;
///     scaler.step(&mut optimizer, &model)?;
///     scaler.update()?;
///     model.zero_grad();
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct GradScaler {
    config: GradScalerConfig,
    scale: f32,
    /// The number of consecutive steps that were not skipped.
    growth_tracker: u64,
    /// The state of each model since the last update, by the identities of its parameters.
    unscaled: HashMap<Vec<TensorId>, Unscaled>,
}

/// A model whose gradients have been unscaled.
#[derive(Clone, Copy)]
struct Unscaled {
    found_inf: bool,
    stepped: bool,
}

impl GradScalerConfig {
    /// A scaler.
    ///
    /// # Errors
    ///
    /// An `init_scale` that is not above 0 or not finite in `f32`, a `growth_factor` that is not above 1, a `backoff_factor` that is not
    /// between 0 and 1, a `growth_interval` of 0.
    pub fn build(&self) -> Result<GradScaler> {
        self.check(NAME)?;
        Ok(GradScaler::of(self.clone()))
    }
}

impl GradScaler {
    /// A scaler with PyTorch's defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::of(GradScalerConfig::new())
    }

    fn of(config: GradScalerConfig) -> Self {
        Self {
            // PyTorch keeps it in this precision.
            scale: config.init_scale as f32,
            config,
            growth_tracker: 0,
            unscaled: HashMap::new(),
        }
    }

    /// A loss times the scale. A zero-dimensional half-precision loss becomes `F32`, which can hold the product.
    ///
    /// # Errors
    ///
    /// A tensor that is not floating-point.
    pub fn scale(&self, loss: &Tensor) -> Result<Tensor> {
        if !self.config.enabled {
            return Ok(loss.clone());
        }
        let loss = match (loss.rank(), loss.dtype()) {
            (0, DType::F16 | DType::BF16) => loss.to_dtype(DType::F32)?,
            _ => loss.clone(),
        };
        loss.mul(self.scale)
    }

    /// Divides the gradients of a model by the scale, so that they can be clipped before the [`step`](Self::step), which
    /// otherwise does this itself.
    ///
    /// # Errors
    ///
    /// No gradients, a gradient in `F16`, a model whose gradients have been unscaled since the last
    /// [`update`](Self::update), a scale so small that its reciprocal is infinite in `f32`
    /// ([`OptimizerError::ScaleTooSmall`]; PyTorch would make the parameters NaN); then nothing is changed.
    pub fn unscale(&mut self, model: &dyn Module) -> Result<()> {
        if !self.config.enabled {
            return Ok(());
        }
        let key = key(model);
        if let Some(state) = self.unscaled.get(&key) {
            let stepped = state.stepped;
            return Err(OptimizerError::AlreadyUnscaled {
                op: "unscale",
                stepped,
            }
            .into());
        }
        let found_inf = self.divide("unscale", model)?;
        let stepped = false;
        self.unscaled.insert(key, Unscaled { found_inf, stepped });
        Ok(())
    }

    /// Moves the parameters by their gradients, unscaled first unless [`unscale`](Self::unscale) has done so; skips the
    /// step and returns false if a gradient is infinite or NaN.
    ///
    /// # Errors
    ///
    /// Those of [`unscale`](Self::unscale) and of the optimizer, and a second step before [`update`](Self::update).
    pub fn step(&mut self, optimizer: &mut dyn Optimizer, model: &dyn Module) -> Result<bool> {
        if !self.config.enabled {
            optimizer.step(model)?;
            return Ok(true);
        }
        let key = key(model);
        let found_inf = match self.unscaled.get(&key) {
            Some(Unscaled { stepped: true, .. }) => {
                let (op, stepped) = ("step", true);
                return Err(OptimizerError::AlreadyUnscaled { op, stepped }.into());
            }
            Some(state) => state.found_inf,
            None => self.divide("step", model)?,
        };
        // The gradients are now unscaled, whatever happens to the step.
        let stepped = false;
        self.unscaled
            .insert(key.clone(), Unscaled { found_inf, stepped });
        if !found_inf {
            optimizer.step(model)?;
        }
        let stepped = true;
        self.unscaled.insert(key, Unscaled { found_inf, stepped });
        Ok(!found_inf)
    }

    /// Changes the scale, at the end of a training step.
    ///
    /// # Errors
    ///
    /// No step since the last update.
    pub fn update(&mut self) -> Result<()> {
        if !self.config.enabled {
            return Ok(());
        }
        if self.unscaled.is_empty() {
            return Err(OptimizerError::NothingUnscaled.into());
        }
        let found_inf = self.unscaled.values().any(|state| state.found_inf);
        self.unscaled.clear();
        let times = |factor: f64| (f64::from(self.scale) * factor) as f32;
        if found_inf {
            self.scale = times(self.config.backoff_factor);
            self.growth_tracker = 0;
            return Ok(());
        }
        self.growth_tracker += 1;
        if self.growth_tracker == self.config.growth_interval {
            let grown = times(self.config.growth_factor);
            if grown.is_finite() {
                self.scale = grown;
            }
            self.growth_tracker = 0;
        }
        Ok(())
    }

    /// [`update`](Self::update) with a given scale: PyTorch's `update(new_scale)`.
    ///
    /// # Errors
    ///
    /// A scale that is not above 0 or not finite in `f32`.
    pub fn update_to(&mut self, new_scale: f64) -> Result<()> {
        if !self.config.enabled {
            return Ok(());
        }
        check_scale("update_to", "new_scale", new_scale)?;
        self.scale = new_scale as f32;
        self.unscaled.clear();
        Ok(())
    }

    /// The scale; 1 if the scaler is disabled.
    #[must_use]
    pub fn get_scale(&self) -> f64 {
        match self.config.enabled {
            true => f64::from(self.scale),
            false => 1.0,
        }
    }

    /// The options, with the factors and the interval of a loaded state.
    #[must_use]
    pub fn config(&self) -> &GradScalerConfig {
        &self.config
    }

    /// Divides all gradients by the scale, and returns whether one of them is infinite or NaN.
    fn divide(&self, op: &'static str, model: &dyn Module) -> Result<bool> {
        // Rounded as in PyTorch.
        let inverse = (1.0 / f64::from(self.scale)) as f32;
        if !inverse.is_finite() {
            // It would turn a gradient of 0 into NaN, which nothing checks afterwards.
            let scale = self.get_scale();
            return Err(OptimizerError::ScaleTooSmall { op, scale }.into());
        }
        let mut divided: Vec<(&Parameter, Tensor)> = Vec::new();
        let mut found_inf = false;
        for (path, parameter) in model.named_parameters() {
            let Some(grad) = parameter.grad() else {
                continue;
            };
            if grad.dtype() == DType::F16 {
                return Err(OptimizerError::HalfGradient { path }.into());
            }
            let grad = grad.detach();
            no_grad(|| {
                found_inf |= !grad.isfinite()?.all(..)?.item::<bool>()?;
                divided.push((parameter, grad.mul(inverse)?));
                Ok::<_, Error>(())
            })?;
        }
        if divided.is_empty() {
            return Err(OptimizerError::NoGradients { op }.into());
        }
        let mut divided = divided.into_iter();
        divided.try_for_each(|(parameter, grad)| parameter.set_grad(grad))?;
        Ok(found_inf)
    }
}

impl Default for GradScaler {
    fn default() -> Self {
        Self::new()
    }
}

impl Stateful for GradScaler {
    fn state(&self) -> Result<Snapshot> {
        match self.config.enabled {
            true => self
                .hyperparameters()?
                .with("scale", &self.scale)?
                .with("_growth_tracker", &self.growth_tracker),
            false => Ok(Snapshot::default()),
        }
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        if !self.config.enabled {
            return Ok(());
        }
        let scale: f32 = state.get("scale")?;
        let config = GradScalerConfig {
            init_scale: f64::from(scale),
            growth_factor: state.get("growth_factor")?,
            backoff_factor: state.get("backoff_factor")?,
            growth_interval: state.get("growth_interval")?,
            enabled: true,
        };
        config.check("load_state")?;
        self.growth_tracker = state.get("_growth_tracker")?;
        (self.config, self.scale) = (config, scale);
        self.unscaled.clear();
        Ok(())
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        if !self.config.enabled {
            return Ok(Snapshot::default());
        }
        Snapshot::default()
            .with("growth_factor", &self.config.growth_factor)?
            .with("backoff_factor", &self.config.backoff_factor)?
            .with("growth_interval", &self.config.growth_interval)
    }
}

/// A model, identified by the parameters that its optimizer moves.
fn key(model: &dyn Module) -> Vec<TensorId> {
    model
        .named_parameters()
        .map(|(_, parameter)| parameter.id())
        .collect()
}
