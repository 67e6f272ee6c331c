//! `multinomial`: draws from discrete distributions, equal to PyTorch's bit for bit.

use std::ops;

use crate::rng::Distribution;
use crate::tensor::Tensor;
use crate::{DType, Error, Result, Shape};

const NAME: &str = "multinomial";

const EXPONENTIAL: Distribution = Distribution::Exponential { lambda: 1.0 };

impl Tensor {
    /// `num_samples` indices into each row of weights, drawn from the default generator with probabilities proportional to
    /// the weights, as `I64`: PyTorch's `torch.multinomial`.
    ///
    /// The weights are a vector or a matrix of rows, which need not sum to 1. No index is drawn twice.
    ///
    /// # Errors
    ///
    /// Weights that are not floating-point, negative, not finite or all 0 in a row; no samples, or more
    /// than weights.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Tensor, fork_rng};
    ///
    /// let weights = Tensor::from([0.1_f32, 0.0, 0.2, 0.7]);
    /// let x = fork_rng(0, || weights.multinomial(2))?;
    /// assert_eq!(x.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn multinomial(&self, num_samples: usize) -> Result<Self> {
        self.sample_indices(num_samples, false)
    }

    /// [`multinomial`](Self::multinomial) with replacement: `torch.multinomial(…, replacement=True)`.
    ///
    /// # Errors
    ///
    /// Those of [`multinomial`](Self::multinomial), except for the number of samples.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 1.0]).multinomial_with_replacement(3)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 1, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn multinomial_with_replacement(&self, num_samples: usize) -> Result<Self> {
        self.sample_indices(num_samples, true)
    }

    fn sample_indices(&self, num_samples: usize, replacement: bool) -> Result<Self> {
        let weights = self.detach();
        let (rows, width) = weights.check_weights(num_samples, replacement)?;
        if replacement && num_samples > 1 {
            return weights.with_replacement(rows, width, num_samples);
        }
        // Each weight is divided by its own exponential draw: the largest ratios are the samples.
        let race = weights.div(&weights.draw_like(NAME, EXPONENTIAL)?)?;
        match num_samples {
            1 => race.argmax_keepdim(-1),
            _ => Ok(race.topk(num_samples, -1)?.1),
        }
    }

    /// Checks weights; returns the number of rows and their length.
    fn check_weights(&self, samples: usize, replacement: bool) -> Result<(usize, usize)> {
        let dtype = self.dtype();
        if !dtype.is_differentiable() {
            return Err(dtype.error(NAME, "floating-point weights"));
        }
        let (rows, width) = match **self.shape() {
            [width] => (1, width),
            [rows, width] => (rows, width),
            _ => return Err(self.shape().error(NAME, "one or two dimensions")),
        };
        if width == 0 {
            return Err(self.shape().error(NAME, "at least one weight"));
        }
        let fail = |problem: &str| Error::argument(NAME, "num_samples", samples, problem);
        if samples == 0 {
            return Err(fail("must be at least 1"));
        }
        if samples > width && !replacement {
            let problem = format!("is more than the {width} weights, without replacement");
            return Err(fail(&problem));
        }
        let valid = self.ge(0)?.logical_and(&self.isfinite()?)?;
        if !valid.all(..)?.item::<bool>()? {
            let invalid = valid.to_vec::<bool>()?.iter().position(|valid| !valid);
            let invalid = invalid.unwrap_or_default();
            let weight = self
                .to_dtype(DType::F64)?
                .to_vec::<f64>()?
                .get(invalid)
                .copied();
            let weight = weight.unwrap_or_default();
            let problem = format!("must be finite and at least 0; it is weight {invalid}");
            return Err(Error::argument(NAME, "weight", weight, problem));
        }
        if self.sum(-1)?.eq(0)?.any(..)?.item::<bool>()? {
            let problem = "at least one weight above 0 in each row, whose sum is 0";
            return Err(self.shape().error(NAME, problem));
        }
        Ok((rows, width))
    }

    /// For each draw the first of the sums of weights that reaches it.
    fn with_replacement(&self, rows: usize, width: usize, samples: usize) -> Result<Self> {
        let shape: Shape = match self.rank() {
            1 => samples.into(),
            _ => [rows, samples].into(),
        };
        let numel = shape.checked_numel(NAME, size_of::<f64>())?;
        crate::backend::check_host_allocatable::<f64>(numel)?;
        let draws = || Self::rand(numel, (DType::F64, self.device()))?.to_vec::<f64>();
        let out = match self.dtype() {
            DType::F64 => draw_from(self.to_vec::<f64>()?, width, &draws()?, samples),
            _ => {
                let weights = self.to_dtype(DType::F32)?.to_vec::<f32>()?;
                draw_from(weights, width, &draws()?, samples)
            }
        };
        Self::from_vec(out, shape)?.to_device(&self.device())
    }
}

/// For each draw of each row of `width` weights the first of their running sums, of which the last is 1, that reaches it.
fn draw_from<T: Copy + From<f32> + ops::Add<Output = T> + ops::Div<Output = T> + Into<f64>>(
    mut weights: Vec<T>,
    width: usize,
    draws: &[f64],
    samples: usize,
) -> Vec<i64> {
    let rows = weights.chunks_exact_mut(width);
    let mut out = Vec::with_capacity(draws.len());
    for (row, draws) in rows.zip(draws.chunks_exact(samples)) {
        let mut sum = T::from(0.0);
        for weight in &mut *row {
            sum = sum + *weight;
            *weight = sum;
        }
        row.iter_mut().for_each(|part| *part = *part / sum);
        if let Some(last) = row.last_mut() {
            *last = T::from(1.0);
        }
        let first = |&draw: &f64| row.partition_point(|&part| part.into() < draw) as i64;
        out.extend(draws.iter().map(first));
    }
    out
}
