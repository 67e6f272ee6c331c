//! Batch normalization.

use super::normalize::{Norm, NormOutput};
use crate::backend::{NormGeometry, NormOver};
use crate::tensor::Tensor;
use crate::{Error, Result};

impl Tensor {
    /// Normalizes each channel with a given mean and variance, as in evaluation:
    ///
    /// ```text
    /// y = (x - mean) / √(var + eps) · weight + bias
    /// ```
    ///
    /// # Shapes
    ///
    /// `[batch, channels, …]`; mean, variance, weight and bias are `[channels]`.
    ///
    /// # Errors
    ///
    /// Fewer than two dimensions; a mean, variance, weight or bias of another shape, dtype or device;
    /// a negative `eps`; a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f64, 8.0], [3.0, 4.0]]);
    /// let (mean, var) = (Tensor::from([1.0_f64, 2.0]), Tensor::from([1.0_f64, 4.0]));
    /// let y = x.batch_norm(&mean, &var, None, None, 0.0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [0.0, 3.0, 2.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn batch_norm(
        &self,
        mean: &Self,
        var: &Self,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f64,
    ) -> Result<Self> {
        let out = self.over_batch(Some([mean, var]), [weight, bias], eps)?;
        Ok(out.output)
    }

    /// Normalizes each channel with its own mean and biased variance, as in training, and also returns both `[channels]`,
    /// untracked, for running statistics; in `F32` for half precision, so that they are rounded only when stored.
    ///
    /// For an empty batch both are 0.
    ///
    /// # Shapes
    ///
    /// Those of [`batch_norm`](Self::batch_norm).
    ///
    /// # Errors
    ///
    /// Those of [`batch_norm`](Self::batch_norm), a single value for each channel, which has no variance, and an `eps` of
    /// 0.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f64, 8.0], [3.0, 4.0]]);
    /// let (y, mean, var) = x.batch_norm_train(None, None, 1e-20)?;
    /// assert_eq!(y.to_vec::<f64>()?, [-1.0, 1.0, 1.0, -1.0]);
    /// assert_eq!(mean.to_vec::<f64>()?, [2.0, 6.0]);
    /// assert_eq!(var.to_vec::<f64>()?, [1.0, 4.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn batch_norm_train(
        &self,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f64,
    ) -> Result<(Self, Self, Self)> {
        let out = self.over_batch(None, [weight, bias], eps)?;
        out.with_statistics(&self.shape()[1..2].into())
    }

    fn over_batch(
        &self,
        statistics: Option<[&Self; 2]>,
        [weight, bias]: [Option<&Self>; 2],
        eps: f64,
    ) -> Result<NormOutput> {
        const NAME: &str = "batch_norm";
        let [batch, channels, inner] = self.channels(NAME)?;
        let least = match statistics {
            Some(_) if eps < 0.0 => Some("must be at least 0"),
            None if eps <= 0.0 => Some("must be above 0 in training"),
            _ => None,
        };
        if let Some(problem) = least {
            return Err(Error::argument(NAME, "eps", eps, problem));
        }
        if statistics.is_none() && batch * inner == 1 {
            let expected = "more than one value per channel in training";
            return Err(self.shape().error(NAME, expected));
        }
        let norm = Norm {
            name: NAME,
            x: self,
            weight,
            bias,
            statistics,
            geometry: NormGeometry {
                batch,
                groups: channels,
                channels: 1,
                inner,
                over: match statistics {
                    Some(_) => NormOver::Given,
                    None => NormOver::Batch,
                },
                centered: true,
                eps,
                with_statistics: statistics.is_none(),
                compute: self.compute_dtype(),
            },
        };
        norm.check(&channels.into())?;
        norm.run()
    }
}
