//! The computation that all normalizations share, and its gradient.

use super::fused::{gradient, or_composed};
use crate::backend::{NormGeometry, NormInputs, NormOver, Saved, Storage};
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled};
use crate::{Result, Shape};

/// `(x - mean) / √(var + eps) · weight + bias`, for a geometry with the elements of `x`.
pub(super) struct Norm<'a> {
    pub(super) name: &'static str,
    pub(super) x: &'a Tensor,
    pub(super) weight: Option<&'a Tensor>,
    pub(super) bias: Option<&'a Tensor>,
    /// The mean and the biased variance of each group, if they are given.
    pub(super) statistics: Option<[&'a Tensor; 2]>,
    pub(super) geometry: NormGeometry,
}

/// The normalized tensor and, if requested, the means and biased variances, untracked and in the dtype of the computation.
pub(super) struct NormOutput {
    pub(super) output: Tensor,
    pub(super) statistics: Option<[Tensor; 2]>,
}

impl NormOutput {
    /// The output, and the statistics in this shape.
    pub(super) fn with_statistics(self, shape: &Shape) -> Result<(Tensor, Tensor, Tensor)> {
        let device = self.output.device();
        let missing = || device.unavailable("statistics of a normalization");
        let [mean, var] = self.statistics.ok_or_else(missing)?;
        Ok((self.output, mean.reshape_to(shape)?, var.reshape_to(shape)?))
    }
}

impl Norm<'_> {
    /// Checks the dtypes and that weight, bias and statistics have their shapes.
    pub(super) fn check(&self, parameter: &Shape) -> Result<()> {
        let Self { name, x, .. } = self;
        x.check_floating(name)?;
        let statistics = self.statistics.map(|[mean, var]| [Some(mean), Some(var)]);
        let [mean, var] = statistics.unwrap_or_default();
        let named = [
            ("weight", self.weight),
            ("bias", self.bias),
            ("mean", mean),
            ("variance", var),
        ];
        for (what, tensor) in named {
            let Some(tensor) = tensor else { continue };
            // With half precision, parameters and statistics may be in the dtype of the computation.
            if tensor.dtype() == self.geometry.compute {
                tensor.storage.check_plain(name)?;
                x.storage.check_plain(name)?;
                x.check_device(name, tensor)?;
            } else {
                x.check_same(name, tensor)?;
            }
            if tensor.shape() != parameter {
                return Err(tensor.shape().error(name, format!("a {what} {parameter}")));
            }
        }
        Ok(())
    }

    /// Normalizes; [`check`](Self::check) was called.
    pub(super) fn run(&self) -> Result<NormOutput> {
        let tracked = self.statistics.iter().flatten().any(|x| x.requires_grad());
        if tracked && is_grad_enabled() {
            // Statistics with a gradient of their own.
            return self.compose();
        }
        or_composed(self.kernel(), || self.compose())
    }

    pub(super) fn compose(&self) -> Result<NormOutput> {
        let wide = |x: Option<&Tensor>| x.map(Tensor::widened).transpose();
        let x = self.x.widened()?;
        let [weight, bias] = [wide(self.weight)?, wide(self.bias)?];
        let given = self.statistics.map(widen_statistics).transpose()?;
        let Standardized {
            mut normal,
            mean,
            var,
            ..
        } = standardize(&x, given.as_ref(), &self.geometry)?;
        if let Some(weight) = weight {
            normal = normal.mul(&weight.reshape_to(&column(&self.geometry))?)?;
        }
        if let Some(bias) = bias {
            normal = normal.add(&bias.reshape_to(&column(&self.geometry))?)?;
        }
        let count = Shape::from(self.geometry.statistics_count());
        let kept = |x: &Tensor| x.detach().reshape_to(&count);
        Ok(NormOutput {
            output: normal.reshape_to(x.shape())?.to_dtype(self.x.dtype())?,
            statistics: match self.geometry.with_statistics {
                true => Some([kept(&mean)?, kept(&var)?]),
                false => None,
            },
        })
    }

    fn kernel(&self) -> Result<Option<NormOutput>> {
        let Self { x, geometry, .. } = self;
        let Some(kernels) = x.device().backend().normalization() else {
            return Ok(None);
        };
        let inputs = NormInputs {
            x: x.operand(),
            weight: self.weight.map(Tensor::operand),
            bias: self.bias.map(Tensor::operand),
            statistics: self.statistics.map(|all| all.map(Tensor::operand)),
        };
        let out = kernels.forward(inputs, geometry)?;
        let inputs = [Some(*x), self.weight, self.bias];
        let output = x.like_shape(out.output);
        let output = output.record(inputs.into_iter().flatten(), |_| NormBackward {
            name: self.name,
            x: (*x).clone(),
            weight: self.weight.cloned(),
            bias: self.bias.cloned(),
            given: self.statistics.map(|all| all.map(Tensor::detach)),
            saved: out.saved,
            geometry: *geometry,
        });
        let fresh = |x: Storage| Tensor::fresh(x, geometry.statistics_count().into());
        let statistics = out.statistics.map(|all| all.map(fresh));
        Ok(Some(NormOutput { output, statistics }))
    }
}

/// Casts given statistics to the dtype of the computation.
fn widen_statistics(statistics: [&Tensor; 2]) -> Result<[Tensor; 2]> {
    let [mean, var] = statistics;
    Ok([mean.widened()?, var.widened()?])
}

/// `x̂` as `[batch, groups, channels, inner]`, and the means, variances and `1 / √(var + eps)` that
/// broadcast to it.
struct Standardized {
    normal: Tensor,
    mean: Tensor,
    var: Tensor,
    scale: Tensor,
}

/// The dimensions that share statistics.
fn dims(geometry: &NormGeometry) -> &'static [isize] {
    match geometry.over {
        NormOver::Row => &[2, 3],
        NormOver::Batch | NormOver::Given => &[0, 2, 3],
    }
}

fn standardize(
    x: &Tensor,
    given: Option<&[Tensor; 2]>,
    geometry: &NormGeometry,
) -> Result<Standardized> {
    let x = x.reshape_to(&geometry.shape())?;
    let column = Shape::from([1, geometry.groups, 1, 1]);
    let (centered, mean, var) = match given {
        Some([mean, var]) => {
            let (mean, var) = (mean.reshape_to(&column)?, var.reshape_to(&column)?);
            (x.sub(&mean)?, mean, var)
        }
        None => {
            let mean = x.mean_keepdim(dims(geometry))?;
            let (centered, mean) = if geometry.centered {
                let centered = x.sub(&mean)?;
                // The rounding error of the mean, which matters if the mean is large and the variance small.
                let rest = centered.mean_keepdim(dims(geometry))?;
                (centered.sub(&rest)?, mean.add(&rest)?)
            } else {
                (x.clone(), mean.zeros_like()?)
            };
            let var = centered.mul(&centered)?.mean_keepdim(dims(geometry))?;
            (centered, mean, var)
        }
    };
    let scale = var.add(geometry.eps)?.rsqrt()?;
    Ok(Standardized {
        normal: centered.mul(&scale)?,
        mean,
        var,
        scale,
    })
}

/// The shape in which a parameter of each channel broadcasts.
fn column(geometry: &NormGeometry) -> Shape {
    [1, geometry.groups, geometry.channels, 1].into()
}

struct NormBackward {
    name: &'static str,
    x: Tensor,
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    given: Option<[Tensor; 2]>,
    saved: Saved,
    geometry: NormGeometry,
}

/// The gradients of the input, and of the weight and the bias if there are any.
type NormGrads = [Option<Tensor>; 3];

impl NormBackward {
    fn kernel(&self, grad: &Tensor) -> Result<Option<NormGrads>> {
        let Self { x, .. } = self;
        let Some(kernels) = x.device().backend().normalization() else {
            return Ok(None);
        };
        let inputs = NormInputs {
            x: x.operand(),
            weight: self.weight.as_ref().map(Tensor::operand),
            bias: self.bias.as_ref().map(Tensor::operand),
            statistics: (self.given.as_ref()).map(|all| all.each_ref().map(Tensor::operand)),
        };
        let slopes = kernels.backward(grad.operand(), inputs, &self.saved, &self.geometry)?;
        let like = |of: &Option<Tensor>, slope: Option<Storage>| {
            let pair = of.as_ref().zip(slope);
            pair.map(|(of, slope)| of.like_shape(slope))
        };
        Ok(Some([
            Some(x.like_shape(slopes.x)),
            like(&self.weight, slopes.weight),
            like(&self.bias, slopes.bias),
        ]))
    }

    /// The same gradients as [`kernel`](Self::kernel), composed of differentiable operations.
    fn formula(&self, grad: &Tensor) -> Result<NormGrads> {
        let Self { x, geometry, .. } = self;
        let given = self
            .given
            .as_ref()
            .map(|all| widen_statistics(all.each_ref()));
        let x = x.widened()?;
        let Standardized { normal, scale, .. } =
            standardize(&x, given.transpose()?.as_ref(), geometry)?;
        let grad = grad.widened()?.reshape_to(&geometry.shape())?;
        let weighted = match &self.weight {
            Some(weight) => grad.mul(&weight.widened()?.reshape_to(&column(geometry))?)?,
            None => grad.clone(),
        };
        let slope = match geometry.over {
            NormOver::Given => weighted,
            _ => {
                let dims = dims(geometry);
                let along = weighted.mul(&normal)?.mean_keepdim(dims)?;
                let projected = weighted.sub(&normal.mul(&along)?)?;
                if geometry.centered {
                    projected.sub(&weighted.mean_keepdim(dims)?)?
                } else {
                    projected
                }
            }
        };
        let like = |slope: Tensor, of: &Tensor| slope.reshape_to(of.shape())?.to_dtype(of.dtype());
        let summed = |slope: Tensor, of: &Option<Tensor>| {
            let of = of.as_ref();
            of.map(|of| like(slope.sum([0_isize, 3])?, of)).transpose()
        };
        Ok([
            Some(like(slope.mul(&scale)?, &self.x)?),
            summed(grad.mul(&normal)?, &self.weight)?,
            summed(grad, &self.bias)?,
        ])
    }
}

impl Function for NormBackward {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        let [dx, dweight, dbias] = gradient(|| self.kernel(grad), || self.formula(grad))?;
        let mut out = Gradients::new();
        out.push(dx);
        if self.weight.is_some() {
            out.push(dweight);
        }
        if self.bias.is_some() {
            out.push(dbias);
        }
        Ok(out)
    }
}
