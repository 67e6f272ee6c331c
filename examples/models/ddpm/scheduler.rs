//! diffusers' `DDPMScheduler`.

use std::path::Path;

use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::pretrained::{self, IGNORED};
use super::UNet2DModel;

/// diffusers' `scheduler_config.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are diffusers'")]
pub struct DDPMSchedulerConfig {
    pub num_train_timesteps: usize,
    pub beta_start: f64,
    pub beta_end: f64,
    pub clip_sample: bool,
    pub clip_sample_range: f64,
    pub steps_offset: usize,
    /// Arguments that must have the value of this scheduler.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Default for DDPMSchedulerConfig {
    fn default() -> Self {
        Self {
            num_train_timesteps: 1000,
            beta_start: 1e-4,
            beta_end: 0.02,
            clip_sample: true,
            clip_sample_range: 1.0,
            steps_offset: 0,
            rest: Map::new(),
        }
    }
}

/// The amount of noise in an image at each step, and how to go back one step.
#[derive(Clone, Debug)]
pub struct DDPMScheduler {
    config: DDPMSchedulerConfig,
    /// The squared share of the image that remains after each step.
    alphas_cumprod: Vec<f32>,
    inference_steps: usize,
}

impl DDPMScheduler {
    /// A scheduler with as many steps as in training.
    ///
    /// # Errors
    ///
    /// An argument with a value that this scheduler does not support.
    pub fn new(config: &DDPMSchedulerConfig) -> Result<Self> {
        let only = [
            ("beta_schedule", json!("linear")),
            ("trained_betas", json!(null)),
            ("variance_type", json!("fixed_small")),
            ("prediction_type", json!("epsilon")),
            ("thresholding", json!(false)),
            ("dynamic_thresholding_ratio", json!(IGNORED)),
            ("sample_max_value", json!(IGNORED)),
            ("timestep_spacing", json!("leading")),
            ("rescale_betas_zero_snr", json!(false)),
            ("_class_name", json!(IGNORED)),
            ("_diffusers_version", json!(IGNORED)),
        ];
        pretrained::check_rest("DDPMScheduler", &config.rest, &only)?;
        let inference_steps = config.num_train_timesteps;
        let betas = Tensor::linspace(
            config.beta_start,
            config.beta_end,
            inference_steps,
            DType::F32,
        )?;
        let alphas_cumprod = betas.neg()?.add(1.0)?.cumprod(0)?.to_vec()?;
        Ok(Self {
            config: config.clone(),
            alphas_cumprod,
            inference_steps,
        })
    }

    /// The scheduler of a directory with `scheduler_config.json`, or of `scheduler` in a pipeline's directory.
    ///
    /// # Errors
    ///
    /// Those of [`pretrained::read_json`] and [`new`](Self::new).
    pub fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        Self::new(&pretrained::read_json(
            dir.as_ref().join("scheduler_config.json"),
        )?)
    }

    /// Uses fewer steps than in training.
    ///
    /// # Errors
    ///
    /// No steps, or more than in training.
    pub fn inference_steps(mut self, steps: usize) -> Result<Self> {
        let most = self.alphas_cumprod.len();
        if steps == 0 || steps > most {
            let problem = format!("must be between 1 and {most}, the steps of training");
            let name = "inference_steps";
            return Err(Error::argument("DDPMScheduler", name, steps, problem));
        }
        self.inference_steps = steps;
        Ok(self)
    }

    fn stride(&self) -> usize {
        self.alphas_cumprod.len() / self.inference_steps
    }

    /// The steps, noisiest first.
    pub fn timesteps(&self) -> Vec<usize> {
        let step = |i| i * self.stride() + self.config.steps_offset;
        (0..self.inference_steps).rev().map(step).collect()
    }

    fn alpha(&self, step: usize) -> Result<f32> {
        let problem = || format!("must be less than {}", self.alphas_cumprod.len());
        let alpha = self.alphas_cumprod.get(step).copied();
        alpha.ok_or_else(|| Error::argument("ddpm", "step", step, problem()))
    }

    /// Images with the noise of a step added, for training: `√ᾱ · images + √(1 - ᾱ) · noise`.
    ///
    /// # Errors
    ///
    /// A step out of range, different shapes.
    pub fn add_noise(&self, images: &Tensor, noise: &Tensor, step: usize) -> Result<Tensor> {
        let alpha = self.alpha(step)?;
        let noise = noise.mul((1.0 - alpha).sqrt())?;
        images.mul(alpha.sqrt())?.add(&noise)
    }

    /// The images one step earlier, given the `predicted` noise in them and fresh noise.
    ///
    /// # Errors
    ///
    /// A step out of range, different shapes.
    pub fn step(
        &self,
        predicted: &Tensor,
        step: usize,
        images: &Tensor,
        noise: &Tensor,
    ) -> Result<Tensor> {
        let alpha = self.alpha(step)?;
        let before = step
            .checked_sub(self.stride())
            .map_or(Ok(1.0), |step| self.alpha(step))?;
        let kept = alpha / before;
        let original = images
            .sub(&predicted.mul((1.0 - alpha).sqrt())?)?
            .div(alpha.sqrt())?;
        let original = match self.config.clip_sample_range {
            range if self.config.clip_sample => original.clamp(-range, range)?,
            _ => original,
        };
        let of_original = before.sqrt() * (1.0 - kept) / (1.0 - alpha);
        let of_images = kept.sqrt() * (1.0 - before) / (1.0 - alpha);
        let mean = original.mul(of_original)?.add(&images.mul(of_images)?)?;
        if step == 0 {
            return Ok(mean);
        }
        let variance = ((1.0 - before) / (1.0 - alpha) * (1.0 - kept)).max(1e-20);
        mean.add(&noise.mul(variance.sqrt())?)
    }

    /// Generates images of this shape from noise, from which it removes the model's prediction step by step.
    ///
    /// # Errors
    ///
    /// Those of the model.
    pub fn sample(&self, model: &UNet2DModel, shape: [usize; 4]) -> Result<Tensor> {
        let draw = || Tensor::randn(shape, DType::F32);
        let mut images = draw()?;
        for step in self.timesteps() {
            let steps = Tensor::full([shape[0]], step as i64, DType::I64)?;
            let predicted = no_grad(|| model.call((images.clone(), steps)))?;
            let noise = if step == 0 { images.clone() } else { draw()? };
            images = self.step(&predicted, step, &images, &noise)?;
        }
        Ok(images)
    }
}
