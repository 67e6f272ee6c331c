//! Clipping of gradients, between `backward` and `step`.

use std::collections::HashSet;

use module_core::fused::{Real, UpdateFormula, unshare, update_elements};
use module_core::{DType, Module, ModuleExt, Parameter, Result, Select, Tensor, Walk, no_grad};

use super::OptimizerError;
use super::range::at_least_0;
use crate::config::config;

config! {
    /// How gradients are clipped by their norm: [`clip_grad_norm`] with all options.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::optim::ClipGradNormConfig;
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// model.call(Tensor::from([[3.0_f32, 4.0]]))?.sum(..)?.backward()?;
    /// // The bias alone, whose gradient is 1.
    /// let config = ClipGradNormConfig::new(0.5).norm_type(f64::INFINITY);
    /// assert_eq!(config.clip_selected(&model, "bias")?, 1.0);
    /// assert_eq!(model.weight().grad().unwrap().to_vec::<f32>()?, [3.0, 4.0]);
    ///
    /// // A gradient that is not finite is an error, and the gradients stay as they are.
    /// model.weight().set_grad(Tensor::from([[f32::NAN, 4.0]]))?;
    /// let error = ClipGradNormConfig::new(0.5).error_if_nonfinite(true).clip(&model).unwrap_err();
    /// assert!(error.to_string().contains("`weight`"));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ClipGradNormConfig {
        required {
            /// The maximum norm.
            max_norm: f64,
        }
        optional {
            /// The order `p` of the norm, which may be infinite.
            norm_type: f64 = 2.0,
            /// Whether a norm that is infinite or NaN is an error, which leaves the gradients unchanged.
            error_if_nonfinite: bool = false,
        }
    }
}

/// Scales the gradients of a model so that their norm, over all of them as one vector, is at most `max_norm`, and returns
/// the original norm:
///
/// ```text
/// n = (Σ |g|ᵖ)^(1/p)      g ← g · min(max_norm / (n + 10⁻⁶), 1)
/// ```
///
/// A tied parameter counts once. [`ClipGradNormConfig`] has other norms, can clip a selection of the parameters, and can
/// refuse norms that are not finite.
///
/// Source: `torch.nn.utils.clip_grad_norm_`; Pascanu, Mikolov and Bengio, *On the difficulty of training Recurrent
/// Neural Networks* (2013).
///
/// # Errors
///
/// No gradients ([`OptimizerError::NoGradients`]), a `max_norm` that is negative or NaN.
///
/// # Example
///
/// ```
/// use module_nn::optim::clip_grad_norm;
/// use module_nn::prelude::*;
///
/// let model = LinearConfig::new(2, 1).bias(false).build()?;
/// model.call(Tensor::from([[3.0_f32, 4.0]]))?.sum(..)?.backward()?;
/// assert_eq!(clip_grad_norm(&model, 1.0)?, 5.0);
/// let clipped = model.weight().grad().unwrap().to_vec::<f32>()?;
/// assert!((clipped[0] - 0.6).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
pub fn clip_grad_norm(model: &dyn Module, max_norm: f64) -> Result<f64> {
    ClipGradNormConfig::new(max_norm).clip(model)
}

/// Clamps each element of each gradient of a model to `[-clip_value, clip_value]`.
///
/// Source: `torch.nn.utils.clip_grad_value_`.
///
/// # Errors
///
/// No gradients ([`OptimizerError::NoGradients`]), a `clip_value` that is negative or NaN.
///
/// # Example
///
/// ```
/// use module_nn::optim::clip_grad_value;
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// model.call(Tensor::from([[2.0_f32, -0.5]]))?.sum(..)?.backward()?;
/// clip_grad_value(&model, 1.0)?;
/// assert_eq!(model.weight().grad().unwrap().to_vec::<f32>()?, [1.0, -0.5]);
/// # Ok::<(), Error>(())
/// ```
pub fn clip_grad_value(model: &dyn Module, clip_value: f64) -> Result<()> {
    const NAME: &str = "clip_grad_value";
    at_least_0(NAME, "clip_value", clip_value)?;
    let gradients = gradients(NAME, model, &Select::all())?;
    change_all(gradients, Limit(clip_value))
}

/// The norm of order `norm_type` of all gradients of a model, as one vector; 0 without gradients.
///
/// Source: `torch.nn.utils.get_total_norm`.
///
/// # Errors
///
/// An order that is NaN.
///
/// # Example
///
/// ```
/// use module_nn::optim::get_total_norm;
/// use module_nn::prelude::*;
///
/// let model = LinearConfig::new(2, 1).bias(false).build()?;
/// assert_eq!(get_total_norm(&model, 2.0)?, 0.0);
/// model.call(Tensor::from([[3.0_f32, 4.0]]))?.sum(..)?.backward()?;
/// assert_eq!(get_total_norm(&model, 2.0)?, 5.0);
/// # Ok::<(), Error>(())
/// ```
pub fn get_total_norm(model: &dyn Module, norm_type: f64) -> Result<f64> {
    let gradients: Vec<Gradient<'_>> = model.named_parameters().filter_map(Gradient::of).collect();
    let norms = norms(&gradients, norm_type)?;
    Ok(total(&norms, norm_type))
}

impl ClipGradNormConfig {
    /// Scales the gradients of all parameters, and returns the original norm.
    ///
    /// # Errors
    ///
    /// Those of [`clip_grad_norm`]; with `error_if_nonfinite`, a norm that is not finite ([`OptimizerError::NonFinite`]).
    pub fn clip(&self, model: &dyn Module) -> Result<f64> {
        self.clip_selected(model, Select::all())
    }

    /// Scales the gradients of the parameters that `select` covers, and returns the original norm. Gradients of other
    /// parameters are neither counted nor changed. Use it to clip each group separately.
    ///
    /// # Errors
    ///
    /// Those of [`clip`](Self::clip), and a selection that selects no parameter.
    pub fn clip_selected(&self, model: &dyn Module, select: impl Into<Select>) -> Result<f64> {
        self.clip_gradients(model, &select.into())
    }

    fn clip_gradients(&self, model: &dyn Module, select: &Select) -> Result<f64> {
        const NAME: &str = "clip_grad_norm";
        at_least_0(NAME, "max_norm", self.max_norm)?;
        let gradients = gradients(NAME, model, select)?;
        let norms = norms(&gradients, self.norm_type)?;
        let total = total(&norms, self.norm_type);
        if self.error_if_nonfinite && !total.is_finite() {
            let pairs = gradients.iter().zip(&norms);
            let first = pairs.into_iter().find(|(_, norm)| !norm.is_finite());
            let path = first.map(|(gradient, _)| gradient.path.clone());
            return Err(OptimizerError::NonFinite { total, path }.into());
        }
        let factor = self.max_norm / (total + 1e-6);
        // A NaN factor reaches the gradients, as in PyTorch.
        if factor >= 1.0 {
            return Ok(total);
        }
        change_all(gradients, Scale(factor))?;
        Ok(total)
    }
}

/// A gradient and its parameter.
struct Gradient<'a> {
    path: String,
    parameter: &'a Parameter,
    grad: Tensor,
}

impl<'a> Gradient<'a> {
    fn of((path, parameter): (String, &'a Parameter)) -> Option<Self> {
        let grad = parameter.grad()?.detach();
        Some(Self {
            path,
            parameter,
            grad,
        })
    }
}

/// The gradients of the parameters that `select` covers under any of their names; there must be at least one.
fn gradients<'a>(
    op: &'static str,
    model: &'a dyn Module,
    select: &Select,
) -> Result<Vec<Gradient<'a>>> {
    let every_name = Walk::new().remove_duplicate(false);
    let named: Vec<(String, &Parameter)> = model.named_parameters_with(every_name).collect();
    select.resolve(named.iter().map(|(path, _)| path.as_str()))?;
    let covered = named.into_iter().filter(|(path, _)| select.covers(path));
    let mut seen = HashSet::new();
    let untied = covered.filter(|(_, parameter)| seen.insert(parameter.id()));
    let found: Vec<Gradient<'a>> = untied.filter_map(Gradient::of).collect();
    match found.is_empty() {
        true => Err(OptimizerError::NoGradients { op }.into()),
        false => Ok(found),
    }
}

/// The norm of each gradient.
fn norms(gradients: &[Gradient<'_>], norm_type: f64) -> Result<Vec<f64>> {
    let norms = gradients.iter().map(|gradient| {
        let norm = no_grad(|| gradient.grad.norm(norm_type, ..))?;
        norm.to_dtype(DType::F64)?.item()
    });
    norms.collect()
}

/// The norm of the norms.
fn total(norms: &[f64], norm_type: f64) -> f64 {
    let norms = norms.iter().copied();
    // A comparison would skip NaN.
    let greater = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    match norm_type {
        f64::INFINITY => norms.fold(0.0, greater),
        f64::NEG_INFINITY => norms.reduce(|a, b| -greater(-a, -b)).unwrap_or(0.0),
        0.0 => norms.filter(|norm| *norm != 0.0).count() as f64,
        2.0 => norms.map(|norm| norm * norm).sum::<f64>().sqrt(),
        p => norms.map(|norm| norm.powf(p)).sum::<f64>().powf(1.0 / p),
    }
}

#[derive(Clone, Copy)]
struct Scale(f64);

impl UpdateFormula<1, 0> for Scale {
    #[inline]
    fn apply<T: Real>(self, [grad]: [T; 1], []: [T; 0]) -> [T; 1] {
        [grad * self.0]
    }
}

#[derive(Clone, Copy)]
struct Limit(f64);

impl UpdateFormula<1, 0> for Limit {
    #[inline]
    fn apply<T: Real>(self, [grad]: [T; 1], []: [T; 0]) -> [T; 1] {
        [grad.clamp(-self.0, self.0)]
    }
}

/// Changes every gradient, in place if no other handle shares it.
fn change_all(gradients: Vec<Gradient<'_>>, formula: impl UpdateFormula<1, 0>) -> Result<()> {
    // All memory is allocated before the first number changes.
    let mut own = Vec::with_capacity(gradients.len());
    for Gradient {
        parameter, grad, ..
    } in gradients
    {
        parameter.zero_grad();
        own.push(Taken { parameter, grad });
    }
    own.iter_mut().try_for_each(|own| unshare(&mut own.grad))?;
    own.iter_mut()
        .try_for_each(|own| update_elements([&mut own.grad], [], formula))
}

/// A gradient that is temporarily taken from its parameter.
struct Taken<'a> {
    parameter: &'a Parameter,
    grad: Tensor,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        // It fits, as before.
        let _ = self.parameter.set_grad(self.grad.clone());
    }
}
