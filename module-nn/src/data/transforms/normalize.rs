use module_core::{Result, Tensor};

use super::Transform;
use super::functional::{check_std, normalize};

/// `(x - mean) / std` in each channel: [`normalize`].
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{Normalize, Transform};
/// use module_nn::prelude::*;
///
/// let normalize = Normalize::new([0.5], [0.25])?;
/// assert_eq!(normalize.apply(&Tensor::from([[[1.0_f32]]]))?.to_vec::<f32>()?, [2.0]);
/// assert!(Normalize::new([0.5], [0.0]).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Normalize {
    mean: Vec<f64>,
    std: Vec<f64>,
}

impl Normalize {
    /// Means and standard deviations, one for all channels or one for each.
    ///
    /// # Errors
    ///
    /// A deviation of 0.
    pub fn new(mean: impl Into<Vec<f64>>, std: impl Into<Vec<f64>>) -> Result<Self> {
        let (mean, std) = (mean.into(), std.into());
        check_std("Normalize", &std)?;
        Ok(Self { mean, std })
    }
}

impl Transform for Normalize {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        normalize(image, &self.mean, &self.std)
    }
}
