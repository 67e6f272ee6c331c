use module_core::Result;
use module_core::rng::{Generator, default_generator};

use super::random::set_generator;
use super::{Sampler, draw};

/// Given indices in random order, each once: PyTorch's `SubsetRandomSampler`, with its order for a seed.
///
/// # Example
///
/// ```
/// use module_nn::data::{Sampler, SubsetRandomSampler};
/// use module_nn::Generator;
///
/// let sampler = SubsetRandomSampler::new([2, 5, 7]).generator(Generator::new(0));
/// let mut order = sampler.indices()?;
/// order.sort();
/// assert_eq!(order, [2, 5, 7]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SubsetRandomSampler {
    indices: Vec<usize>,
    generator: Option<Generator>,
}

impl SubsetRandomSampler {
    /// These indices in random order.
    #[must_use]
    pub fn new(indices: impl Into<Vec<usize>>) -> Self {
        let (indices, generator) = (indices.into(), None);
        Self { indices, generator }
    }

    /// The generator to draw from, which is shared, not copied; by default the default generator.
    #[must_use]
    pub fn generator(mut self, generator: Generator) -> Self {
        self.generator = Some(generator);
        self
    }
}

impl Sampler for SubsetRandomSampler {
    type Index = usize;

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn indices(&self) -> Result<Vec<usize>> {
        let generator = self.generator.clone().unwrap_or_else(default_generator);
        let order = draw::permutation(&generator, self.indices.len())?;
        let found = order.into_iter().filter_map(|i| self.indices.get(i));
        Ok(found.copied().collect())
    }

    fn get_state(&self) -> Vec<u8> {
        let generator = self.generator.as_ref();
        generator.map(Generator::get_state).unwrap_or_default()
    }

    fn set_state(&self, state: &[u8]) -> Result<()> {
        set_generator(self.generator.as_ref(), state)
    }
}
