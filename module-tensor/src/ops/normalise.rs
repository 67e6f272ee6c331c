//! What every normalisation is computed by.

use super::fused::{gradient, or_composed};
use crate::backend::{NormGeometry, NormInputs, NormOver};
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled};
use crate::{DType, Result, Shape};

/// `(x - mean) / √(var + eps) · weight + bias`, by a geometry that has the elements of `x`.
pub(super) struct Norm<'a> {
    pub(super) name: &'static str,
    pub(super) x: &'a Tensor,
    pub(super) weight: Option<&'a Tensor>,
    pub(super) bias: Option<&'a Tensor>,
    /// The mean and the biased variance of each group, if they are given.
    pub(super) statistics: Option<[&'a Tensor; 2]>,
    pub(super) geometry: NormGeometry,
}

/// What is normalised, and by which means and biased variances, in `F64` and untracked.
pub(super) struct Normalised {
    pub(super) output: Tensor,
    pub(super) mean: Tensor,
    pub(super) var: Tensor,
}

impl Normalised {
    /// The output, and the statistics in this shape, in the dtype in which they are computed with.
    pub(super) fn with_statistics(self, shape: &Shape) -> Result<(Tensor, Tensor, Tensor)> {
        let dtype = match self.output.dtype() {
            DType::F64 => DType::F64,
            _ => DType::F32,
        };
        let kept = |x: &Tensor| x.reshape_to(shape)?.to_dtype(dtype);
        let (mean, var) = (kept(&self.mean)?, kept(&self.var)?);
        Ok((self.output, mean, var))
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
            x.check_same(name, tensor)?;
            if tensor.shape() != parameter {
                return Err(tensor.shape().error(name, format!("a {what} {parameter}")));
            }
        }
        Ok(())
    }

    /// Normalises; [`check`](Self::check) was called.
    pub(super) fn run(&self) -> Result<Normalised> {
        let wide = |x: Option<&Tensor>| x.map(Tensor::widened).transpose();
        let x = self.x.widened()?;
        let (weight, bias) = (wide(self.weight)?, wide(self.bias)?);
        let statistics = match self.statistics {
            Some([mean, var]) => Some([mean.widened()?, var.widened()?]),
            None => None,
        };
        let tracked = statistics.iter().flatten().any(Tensor::requires_grad);
        let composed = || {
            let parameters = [weight.as_ref(), bias.as_ref()];
            composed(&x, parameters, statistics.as_ref(), &self.geometry)
        };
        let out = if tracked && is_grad_enabled() {
            // Statistics with a gradient of their own.
            composed()?
        } else {
            let kernel = self.kernel(&x, [&weight, &bias], statistics.as_ref());
            or_composed(kernel, composed)?
        };
        Ok(Normalised {
            output: out.output.to_dtype(self.x.dtype())?,
            ..out
        })
    }

    fn kernel(
        &self,
        x: &Tensor,
        [weight, bias]: [&Option<Tensor>; 2],
        statistics: Option<&[Tensor; 2]>,
    ) -> Result<Option<Normalised>> {
        let Some(kernels) = x.device().backend().normalization() else {
            return Ok(None);
        };
        let geometry = self.geometry;
        let statistics = match statistics {
            Some([mean, var]) => {
                let double = |x: &Tensor| x.detach().to_dtype(DType::F64);
                Some([double(mean)?.operand(), double(var)?.operand()])
            }
            None => None,
        };
        let out = kernels.forward(
            NormInputs {
                x: x.operand(),
                weight: weight.as_ref().map(Tensor::operand),
                bias: bias.as_ref().map(Tensor::operand),
                statistics,
            },
            &geometry,
        )?;
        let count = Shape::from(geometry.statistics());
        let mean = Tensor::fresh(out.mean, count.clone());
        let var = Tensor::fresh(out.var, count);
        let inputs = [Some(x), weight.as_ref(), bias.as_ref()];
        let output = x.like_shape(out.output);
        let output = output.record(inputs.into_iter().flatten(), |_| Normalise {
            name: self.name,
            x: x.clone(),
            weight: weight.clone(),
            bias: bias.as_ref().map(|bias| bias.shape().clone()),
            statistics: [mean.clone(), var.clone()],
            geometry,
        });
        Ok(Some(Normalised { output, mean, var }))
    }
}

/// `x̂` as `[batch, groups, channels, inner]`, and the means, variances and `1 / √(var + eps)` that
/// broadcast to it.
struct Normal {
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

fn normal(x: &Tensor, given: Option<&[Tensor; 2]>, geometry: &NormGeometry) -> Result<Normal> {
    let x = x.reshape_to(&geometry.shape())?;
    let column = Shape::from([1, geometry.groups, 1, 1]);
    let (centred, mean, var) = match given {
        Some([mean, var]) => {
            let (mean, var) = (mean.reshape_to(&column)?, var.reshape_to(&column)?);
            (x.sub(&mean)?, mean, var)
        }
        None => {
            let mean = x.mean(dims(geometry), true)?;
            let (centred, mean) = if geometry.centred {
                let centred = x.sub(&mean)?;
                // What rounding left of the mean, which is much beside a variance far from zero.
                let rest = centred.mean(dims(geometry), true)?;
                (centred.sub(&rest)?, mean.add(&rest)?)
            } else {
                (x.clone(), mean.zeros_like()?)
            };
            let var = centred.mul(&centred)?.mean(dims(geometry), true)?;
            (centred, mean, var)
        }
    };
    let scale = var.add(geometry.eps)?.rsqrt()?;
    Ok(Normal {
        normal: centred.mul(&scale)?,
        mean,
        var,
        scale,
    })
}

/// The shape in which a parameter of each channel broadcasts.
fn column(geometry: &NormGeometry) -> Shape {
    [1, geometry.groups, geometry.channels, 1].into()
}

pub(super) fn composed(
    x: &Tensor,
    [weight, bias]: [Option<&Tensor>; 2],
    statistics: Option<&[Tensor; 2]>,
    geometry: &NormGeometry,
) -> Result<Normalised> {
    let Normal {
        mut normal,
        mean,
        var,
        ..
    } = normal(x, statistics, geometry)?;
    if let Some(weight) = weight {
        normal = normal.mul(&weight.reshape_to(&column(geometry))?)?;
    }
    if let Some(bias) = bias {
        normal = normal.add(&bias.reshape_to(&column(geometry))?)?;
    }
    let count = Shape::from(geometry.statistics());
    let kept = |x: Tensor| x.detach().reshape_to(&count)?.to_dtype(DType::F64);
    Ok(Normalised {
        output: normal.reshape_to(x.shape())?,
        mean: kept(mean)?,
        var: kept(var)?,
    })
}

struct Normalise {
    name: &'static str,
    x: Tensor,
    weight: Option<Tensor>,
    bias: Option<Shape>,
    statistics: [Tensor; 2],
    geometry: NormGeometry,
}

impl Normalise {
    fn kernel(&self, grad: &Tensor) -> Result<Option<[Tensor; 3]>> {
        let Self { x, weight, .. } = self;
        let Some(kernels) = x.device().backend().normalization() else {
            return Ok(None);
        };
        let [dx, dweight, dbias] = kernels.backward(
            grad.operand(),
            NormInputs {
                x: x.operand(),
                weight: weight.as_ref().map(Tensor::operand),
                bias: None,
                statistics: Some(self.statistics.each_ref().map(Tensor::operand)),
            },
            &self.geometry,
        )?;
        let flat = Shape::from(self.geometry.groups * self.geometry.channels);
        Ok(Some([
            x.like_shape(dx),
            Tensor::fresh(dweight, flat.clone()),
            Tensor::fresh(dbias, flat),
        ]))
    }

    /// As the kernel, written with operations that have gradients.
    fn formula(&self, grad: &Tensor) -> Result<[Tensor; 3]> {
        let Self { x, geometry, .. } = self;
        let given = match geometry.over {
            NormOver::Given => {
                let [mean, var] = self.statistics.each_ref().map(|s| s.to_dtype(x.dtype()));
                Some([mean?, var?])
            }
            _ => None,
        };
        let Normal { normal, scale, .. } = normal(x, given.as_ref(), geometry)?;
        let grad = grad.reshape_to(&geometry.shape())?;
        let weighted = match &self.weight {
            Some(weight) => grad.mul(&weight.reshape_to(&column(geometry))?)?,
            None => grad.clone(),
        };
        let slope = match geometry.over {
            NormOver::Given => weighted,
            _ => {
                let dims = dims(geometry);
                let along = weighted.mul(&normal)?.mean(dims, true)?;
                let pulled = weighted.sub(&normal.mul(&along)?)?;
                if geometry.centred {
                    pulled.sub(&weighted.mean(dims, true)?)?
                } else {
                    pulled
                }
            }
        };
        Ok([
            slope.mul(&scale)?.reshape_to(x.shape())?,
            grad.mul(&normal)?.sum([0_isize, 3], false)?,
            grad.sum([0_isize, 3], false)?,
        ])
    }
}

impl Function for Normalise {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        let [dx, dweight, dbias] = gradient(|| self.kernel(grad), || self.formula(grad))?;
        let mut out = Gradients::new();
        out.push(Some(dx));
        if let Some(weight) = &self.weight {
            out.push(Some(dweight.reshape_to(weight.shape())?));
        }
        if let Some(bias) = &self.bias {
            out.push(Some(dbias.reshape_to(bias)?));
        }
        Ok(out)
    }
}
