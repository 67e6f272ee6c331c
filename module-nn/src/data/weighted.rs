use module_core::rng::{Generator, default_generator};
use module_core::{Error, Result, Tensor, fork_rng};

use super::random::{check_num_samples, set_generator};
use super::{Sampler, draw};

/// Indices drawn in proportion to weights: PyTorch's `WeightedRandomSampler`, with its order for a seed, which is that of
/// [`multinomial`](Tensor::multinomial) for `f64`.
///
/// # Example
///
/// ```
/// use module_nn::data::{Sampler, WeightedRandomSampler};
/// use module_nn::Generator;
///
/// let sampler = WeightedRandomSampler::new([0.0, 0.5, 2.0], 4)?.generator(Generator::new(0));
/// assert!(sampler.indices()?.iter().all(|&i| i == 1 || i == 2));
/// let mut once = WeightedRandomSampler::new([1.0, 0.5, 2.0], 3)?.replacement(false)?.indices()?;
/// once.sort();
/// assert_eq!(once, [0, 1, 2]);
/// assert!(WeightedRandomSampler::new([0.0, -1.0], 4).is_err());
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WeightedRandomSampler {
    weights: Vec<f64>,
    num_samples: usize,
    replacement: bool,
    generator: Option<Generator>,
}

impl WeightedRandomSampler {
    /// Draws `num_samples` indices with replacement; the weights need not add up to 1.
    ///
    /// # Errors
    ///
    /// Zero samples, a weight that is not finite or is below 0, no weight above 0.
    pub fn new(weights: impl Into<Vec<f64>>, num_samples: usize) -> Result<Self> {
        const OP: &str = "weighted_random_sampler";
        let weights = weights.into();
        check_num_samples(OP, num_samples)?;
        for (index, &weight) in weights.iter().enumerate() {
            if !weight.is_finite() || weight < 0.0 {
                let problem = format!("must be finite and at least 0; it is weight {index}");
                return Err(Error::argument(OP, "weight", weight, problem));
            }
        }
        if !weights.iter().any(|&weight| weight > 0.0) {
            let all = format_args!("{} weights", weights.len());
            let problem = "at least one must be above 0";
            return Err(Error::argument(OP, "weights", all, problem));
        }
        Ok(Self {
            weights,
            num_samples,
            replacement: true,
            generator: None,
        })
    }

    /// Whether to draw with replacement; default `true`.
    ///
    /// # Errors
    ///
    /// `false` with more samples than weights.
    pub fn replacement(mut self, replacement: bool) -> Result<Self> {
        let (samples, weights) = (self.num_samples, self.weights.len());
        if !replacement && samples > weights {
            let problem = format!("is more than the {weights} weights, without replacement");
            let op = "weighted_random_sampler";
            return Err(Error::argument(op, "num_samples", samples, problem));
        }
        self.replacement = replacement;
        Ok(self)
    }

    /// The generator to draw from, which is shared, not copied; by default the default generator.
    #[must_use]
    pub fn generator(mut self, generator: Generator) -> Self {
        self.generator = Some(generator);
        self
    }

    /// Draws from the default generator.
    fn draw(&self) -> Result<Vec<usize>> {
        let weights = Tensor::from(self.weights.as_slice());
        let drawn = match self.replacement {
            true => weights.multinomial_with_replacement(self.num_samples)?,
            false => weights.multinomial(self.num_samples)?,
        };
        Ok(draw::as_indices(drawn.to_vec::<i64>()?))
    }
}

impl Sampler for WeightedRandomSampler {
    type Index = usize;

    fn len(&self) -> usize {
        self.num_samples
    }

    fn indices(&self) -> Result<Vec<usize>> {
        let Some(generator) = &self.generator else {
            return self.draw();
        };
        // `multinomial` draws from the default generator, so that one gets this state for the draw.
        fork_rng(generator.initial_seed(), || {
            let default = default_generator();
            default.set_state(&generator.get_state())?;
            let drawn = self.draw()?;
            generator.set_state(&default.get_state())?;
            Ok(drawn)
        })
    }

    fn get_state(&self) -> Vec<u8> {
        let generator = self.generator.as_ref();
        generator.map(Generator::get_state).unwrap_or_default()
    }

    fn set_state(&self, state: &[u8]) -> Result<()> {
        set_generator(self.generator.as_ref(), state)
    }
}
