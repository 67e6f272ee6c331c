//! Normal draws within an interval.

use super::{Tensor, TensorOptions};
use crate::rng::{Distribution, Generator};
use crate::{Result, Shape};

impl Tensor {
    /// Normal draws, with those outside the interval redrawn, like PyTorch's `nn.init.trunc_normal_`.
    ///
    /// # Errors
    ///
    /// Those of [`rand`](Self::rand); a standard deviation that is not above 0, an empty interval.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Generator, Tensor};
    ///
    /// let generator = Generator::new(0);
    /// let x = Tensor::trunc_normal([2], 0.0, 1.0, [-2.0, 2.0], DType::F32, &generator)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.540_996_1, -0.293_428_9]);
    /// // The first draw is now outside.
    /// generator.manual_seed(0);
    /// let x = Tensor::trunc_normal([2], 0.0, 1.0, [-1.5, 1.5], DType::F32, &generator)?;
    /// assert!(x.abs()?.le(1.5)?.all(..)?.item::<bool>()?);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn trunc_normal(
        shape: impl Into<Shape>,
        mean: f64,
        std: f64,
        interval: [f64; 2],
        options: impl Into<TensorOptions>,
        generator: &Generator,
    ) -> Result<Self> {
        let [low, high] = interval;
        let distribution = Distribution::TruncNormal {
            mean,
            std,
            low,
            high,
        };
        let op = distribution.name();
        Self::draw(op, shape.into(), options.into(), distribution, generator)
    }

    /// Normal draws within an interval, by inverting the distribution function, like timm's `trunc_normal_` and PyTorch's
    /// before 2.15.
    ///
    /// # Errors
    ///
    /// Those of [`trunc_normal`](Self::trunc_normal).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Generator, Tensor};
    ///
    /// // The first uniform, 0.496, is just below the median, and becomes a number just below the mean.
    /// let generator = Generator::new(0);
    /// let x = Tensor::trunc_normal_by_inverse([1], 5.0, 1.0, [3.0, 7.0], DType::F32, &generator)?;
    /// let x = x.item::<f32>()?;
    /// assert!(4.98 < x && x < 5.0, "{x}");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn trunc_normal_by_inverse(
        shape: impl Into<Shape>,
        mean: f64,
        std: f64,
        interval: [f64; 2],
        options: impl Into<TensorOptions>,
        generator: &Generator,
    ) -> Result<Self> {
        let [low, high] = interval;
        let distribution = Distribution::TruncNormalByInverse {
            mean,
            std,
            low,
            high,
        };
        let op = distribution.name();
        Self::draw(op, shape.into(), options.into(), distribution, generator)
    }
}
