use std::fmt;

use module_core::{DType, Result, Tensor};

use super::Transform;
use super::functional::{check_normalize, check_std, normalize_by, per_channel};

/// `(x - mean) / std` in each channel: [`normalize`](super::functional::normalize).
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
#[derive(Clone)]
pub struct Normalize {
    mean: Vec<f64>,
    std: Vec<f64>,
    /// Both as tensors, for the most common kind of image.
    in_f32: [Tensor; 2],
    /// The same numbers, for all others.
    in_f64: [Tensor; 2],
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
        let in_f64 = [per_channel(&mean)?, per_channel(&std)?];
        let [of_mean, of_std] = &in_f64;
        let in_f32 = [of_mean.to_dtype(DType::F32)?, of_std.to_dtype(DType::F32)?];
        Ok(Self {
            mean,
            std,
            in_f32,
            in_f64,
        })
    }
}

impl fmt::Debug for Normalize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Normalize");
        fields.field("mean", &self.mean).field("std", &self.std);
        fields.finish()
    }
}

impl PartialEq for Normalize {
    fn eq(&self, other: &Self) -> bool {
        (&self.mean, &self.std) == (&other.mean, &other.std)
    }
}

impl Transform for Normalize {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        check_normalize(image, &self.mean, &self.std)?;
        let [mean, std] = match image.dtype() {
            DType::F32 => &self.in_f32,
            _ => &self.in_f64,
        };
        normalize_by(image, mean, std)
    }
}
