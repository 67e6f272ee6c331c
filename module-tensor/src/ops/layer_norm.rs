//! `layer_norm`, `rms_norm`, `group_norm` and `instance_norm`.

use super::normalize::{Norm, NormOutput};
use crate::backend::{NormGeometry, NormOver};
use crate::tensor::Tensor;
use crate::{Error, Result, Shape};

impl Tensor {
    /// Normalizes over the last dimensions:
    ///
    /// ```text
    /// y = (x - mean) / √(var + eps) · weight + bias
    /// ```
    ///
    /// with the mean and the biased variance over the dimensions of `normalized_shape`.
    ///
    /// # Shapes
    ///
    /// `[…, normalized_shape]`; the weight and the bias have the normalized shape.
    ///
    /// # Errors
    ///
    /// An empty normalized shape, or one that this tensor does not end with; a weight or a bias of
    /// another shape, dtype or device; a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f64, 3.0], [10.0, 30.0]]);
    /// let y = x.layer_norm([2], None, None, 0.0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [-1.0, 1.0, -1.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn layer_norm(
        &self,
        normalized_shape: impl Into<Shape>,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f64,
    ) -> Result<Self> {
        self.over_last(
            "layer_norm",
            &normalized_shape.into(),
            [weight, bias],
            eps,
            true,
        )
    }

    /// Divides by the root mean square over the last dimensions:
    ///
    /// ```text
    /// y = x / √(⟨x²⟩ + eps) · weight
    /// ```
    ///
    /// The default `eps` is the machine epsilon of the dtype, that of `f32` for half precision.
    ///
    /// # Shapes
    ///
    /// Those of [`layer_norm`](Self::layer_norm).
    ///
    /// # Errors
    ///
    /// Those of [`layer_norm`](Self::layer_norm).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let y = Tensor::from([1.0_f64, 7.0]).rms_norm([2], None, Some(0.0))?;
    /// assert!((y.to_vec::<f64>()?[1] - 1.4).abs() < 1e-15);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn rms_norm(
        &self,
        normalized_shape: impl Into<Shape>,
        weight: Option<&Self>,
        eps: Option<f64>,
    ) -> Result<Self> {
        let eps = eps.unwrap_or(match self.dtype() {
            crate::DType::F64 => f64::EPSILON,
            _ => f64::from(f32::EPSILON),
        });
        self.over_last(
            "rms_norm",
            &normalized_shape.into(),
            [weight, None],
            eps,
            false,
        )
    }

    fn over_last(
        &self,
        name: &'static str,
        normalized: &Shape,
        [weight, bias]: [Option<&Self>; 2],
        eps: f64,
        centered: bool,
    ) -> Result<Self> {
        let lead = self.rank().checked_sub(normalized.rank());
        let Some(lead) =
            lead.filter(|&lead| normalized.rank() > 0 && self.shape()[lead..] == **normalized)
        else {
            let problem = format!("must be one or more of the last sizes of {}", self.shape());
            return Err(Error::argument(
                name,
                "normalized_shape",
                normalized,
                problem,
            ));
        };
        let geometry = NormGeometry {
            batch: self.shape()[..lead].iter().product(),
            groups: 1,
            channels: normalized.numel(),
            inner: 1,
            over: NormOver::Row,
            centered,
            eps,
            with_statistics: false,
            compute: self.compute_dtype(),
        };
        let norm = Norm {
            name,
            x: self,
            weight,
            bias,
            statistics: None,
            geometry,
        };
        norm.check(normalized)?;
        Ok(norm.run()?.output)
    }

    /// Normalizes groups of channels, separately for each element of the batch, like [`layer_norm`](Self::layer_norm);
    /// weight and bias belong to the channels.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, …]`; the weight and the bias are `[channels]`.
    ///
    /// # Errors
    ///
    /// Fewer than two dimensions, channels that `num_groups` does not divide, groups without a value, a
    /// single value to normalize; a weight or a bias of another shape, dtype or device; a dtype that is not
    /// floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f64, 3.0, 10.0, 30.0]]);
    /// let y = x.group_norm(2, None, None, 0.0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [-1.0, 1.0, -1.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn group_norm(
        &self,
        num_groups: usize,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f64,
    ) -> Result<Self> {
        const NAME: &str = "group_norm";
        let [batch, channels, inner] = self.channels(NAME)?;
        if channels == 0 || inner == 0 {
            let expected = "at least one channel and one value in each";
            return Err(self.shape().error(NAME, expected));
        }
        if !(1..=channels).contains(&num_groups) || channels % num_groups != 0 {
            let problem = format!("must divide the {channels} channels of {}", self.shape());
            return Err(Error::argument(NAME, "num_groups", num_groups, problem));
        }
        let geometry = NormGeometry {
            batch,
            groups: num_groups,
            channels: channels / num_groups,
            inner,
            over: NormOver::Row,
            centered: true,
            eps,
            with_statistics: false,
            compute: self.compute_dtype(),
        };
        if batch * geometry.channels * inner == 1 {
            let expected = "more than one value for each group";
            return Err(self.shape().error(NAME, expected));
        }
        let norm = Norm {
            name: NAME,
            x: self,
            weight,
            bias,
            statistics: None,
            geometry,
        };
        norm.check(&channels.into())?;
        Ok(norm.run()?.output)
    }

    /// Normalizes each channel of each element of the batch or, if `statistics` (a mean and a variance `[channels]`) are
    /// given, uses these, like [`batch_norm`](Self::batch_norm).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, …]`; the weight and the bias are `[channels]`.
    ///
    /// # Errors
    ///
    /// Those of [`group_norm`](Self::group_norm), and channels of a single value.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f64, 3.0], [10.0, 30.0]]).unsqueeze(0)?;
    /// let y = x.instance_norm(None, None, None, 0.0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [-1.0, 1.0, -1.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn instance_norm(
        &self,
        statistics: Option<(&Self, &Self)>,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f64,
    ) -> Result<Self> {
        let statistics = statistics.map(|(mean, var)| [mean, var]);
        let out = self.over_instance(statistics, [weight, bias], eps, false)?;
        Ok(out.output)
    }

    /// [`instance_norm`](Self::instance_norm) with each element's own statistics, which are returned too, as
    /// `[batch, channels]`: the means and the biased variances, untracked, for running statistics; in `F32` for half
    /// precision, so that they are rounded only when stored.
    ///
    /// # Shapes
    ///
    /// Those of [`instance_norm`](Self::instance_norm).
    ///
    /// # Errors
    ///
    /// Those of [`instance_norm`](Self::instance_norm).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f64, 3.0], [10.0, 30.0]]).unsqueeze(0)?;
    /// let (y, mean, var) = x.instance_norm_train(None, None, 0.0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [-1.0, 1.0, -1.0, 1.0]);
    /// assert_eq!(mean.to_vec::<f64>()?, [2.0, 20.0]);
    /// assert_eq!(var.to_vec::<f64>()?, [1.0, 100.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn instance_norm_train(
        &self,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f64,
    ) -> Result<(Self, Self, Self)> {
        let out = self.over_instance(None, [weight, bias], eps, true)?;
        out.with_statistics(&self.shape()[..2].into())
    }

    fn over_instance(
        &self,
        statistics: Option<[&Self; 2]>,
        [weight, bias]: [Option<&Self>; 2],
        eps: f64,
        with_statistics: bool,
    ) -> Result<NormOutput> {
        const NAME: &str = "instance_norm";
        let [batch, channels, inner] = self.channels(NAME)?;
        if statistics.is_none() && inner == 1 {
            let expected = "more than one value for each channel of each element of the batch";
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
                    None => NormOver::Row,
                },
                centered: true,
                eps,
                with_statistics,
                compute: self.compute_dtype(),
            },
        };
        norm.check(&channels.into())?;
        norm.run()
    }

    /// `[batch, channels, the rest]`
    pub(super) fn channels(&self, op: &'static str) -> Result<[usize; 3]> {
        match &**self.shape() {
            [batch, channels, rest @ ..] => Ok([*batch, *channels, rest.iter().product()]),
            _ => Err(self
                .shape()
                .error(op, "[batch, channels] or more dimensions")),
        }
    }
}
