use module_core::{Result, Tensor};

use super::functional::{check_kernel_size, gaussian_blur};
use super::{Transform, check_range, uniform};
use crate::config::{Build, config};

const OP: &str = "GaussianBlur";

config! {
    /// The arguments of [`GaussianBlur`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::{GaussianBlurConfig, Transform};
    /// use module_nn::prelude::*;
    ///
    /// // So wide a distribution is nearly flat: the mean of 3 by 3 pixels, mirrored at the edge.
    /// let blur = GaussianBlurConfig::new([3, 3]).sigma([1e4, 1e4]).build()?;
    /// let image = Tensor::from([[[0.0_f32, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 0.0]]]);
    /// assert!((blur.apply(&image)?.to_vec::<f32>()?[4] - 1.0).abs() < 1e-5);
    /// assert!(GaussianBlurConfig::new([2, 3]).build().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub struct GaussianBlurConfig => GaussianBlur {
        required {
            /// The width and height of the kernel in pixels, both odd.
            kernel_size: [usize; 2],
        }
        optional {
            /// The smallest and largest standard deviation.
            sigma: [f64; 2] = [0.1, 2.0],
        }
    }
}

/// Blurs the image with [`gaussian_blur`] and a random standard deviation, the same in both directions.
///
/// Source: torchvision's `GaussianBlur`; Chen et al., *A Simple Framework for Contrastive Learning of Visual Representations*
/// (2020).
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::{GaussianBlur, Transform};
/// use module_nn::prelude::*;
///
/// let blur = GaussianBlur::new([3, 3])?;
/// let image = Tensor::full([3, 8, 8], 7, DType::U8)?;
/// assert!(blur.apply(&image)?.equal(&image)?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianBlur {
    config: GaussianBlurConfig,
}

impl Build for GaussianBlurConfig {
    type Output = GaussianBlur;

    /// The transform.
    ///
    /// # Errors
    ///
    /// A kernel of even size, standard deviations that decrease or are not above 0.
    fn build(&self) -> Result<GaussianBlur> {
        check_kernel_size(OP, self.kernel_size)?;
        check_range(OP, "sigma", self.sigma, [f64::MIN_POSITIVE, f64::MAX])?;
        let config = self.clone();
        Ok(GaussianBlur { config })
    }
}

impl Transform for GaussianBlur {
    fn apply(&self, image: &Tensor) -> Result<Tensor> {
        let sigma = uniform(self.config.sigma)?;
        gaussian_blur(image, self.config.kernel_size, [sigma; 2])
    }
}
