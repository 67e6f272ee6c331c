//! Normalizations, random draws and new tensors.

use super::arguments::{Call, Op, Outputs, not_ours};
use module_core::{Scalar, Tensor};
use module_nn::functional;

pub(crate) const OPS: &[Op] = &[
    ("nn.functional.layer_norm", |c| {
        let shape: Vec<usize> = c.need(1, "normalized_shape")?;
        let (weight, bias) = (c.maybe(2, "weight")?, c.maybe(3, "bias")?);
        Ok(vec![c.x()?.layer_norm(
            shape,
            weight,
            bias,
            c.number(4, "eps", 1e-5)?,
        )?])
    }),
    ("nn.functional.rms_norm", |c| {
        let shape: Vec<usize> = c.need(1, "normalized_shape")?;
        Ok(vec![c.x()?.rms_norm(
            shape,
            c.maybe(2, "weight")?,
            c.get(3, "eps")?,
        )?])
    }),
    ("nn.functional.group_norm", |c| {
        let (weight, bias) = (c.maybe(2, "weight")?, c.maybe(3, "bias")?);
        let eps = c.number(4, "eps", 1e-5)?;
        Ok(vec![c.x()?.group_norm(
            c.need(1, "num_groups")?,
            weight,
            bias,
            eps,
        )?])
    }),
    ("nn.functional.local_response_norm", |c| {
        let (alpha, beta) = (c.number(2, "alpha", 1e-4)?, c.number(3, "beta", 0.75)?);
        let (size, k) = (c.need(1, "size")?, c.number(4, "k", 1.0)?);
        Ok(vec![functional::local_response_norm(
            c.x()?,
            size,
            alpha,
            beta,
            k,
        )?])
    }),
    (
        "nn.functional.batch_norm nn.functional.batch_norm.without_cudnn",
        |c| {
            let (weight, bias) = (c.maybe(3, "weight")?, c.maybe(4, "bias")?);
            let eps = c.number(7, "eps", 1e-5)?;
            let _ = c.number(6, "momentum", 0.1)?;
            let (mean, var) = (c.maybe(1, "running_mean")?, c.maybe(2, "running_var")?);
            let x = c.x()?;
            match (c.or(5, "training", false)?, mean, var) {
                (true, ..) => Ok(vec![x.batch_norm_train(weight, bias, eps)?.0]),
                (false, Some(mean), Some(var)) => {
                    Ok(vec![x.batch_norm(mean, var, weight, bias, eps)?])
                }
                _ => not_ours("no running statistics"),
            }
        },
    ),
    ("nn.functional.instance_norm", |c| {
        let (weight, bias) = (c.maybe(3, "weight")?, c.maybe(4, "bias")?);
        let eps = c.number(7, "eps", 1e-5)?;
        let _ = c.number(6, "momentum", 0.1)?;
        let (mean, var) = (c.maybe(1, "running_mean")?, c.maybe(2, "running_var")?);
        let x = c.x()?;
        match (c.or(5, "use_input_stats", true)?, mean, var) {
            (true, ..) => Ok(vec![x.instance_norm(None, weight, bias, eps)?]),
            (false, Some(mean), Some(var)) => Ok(vec![x.instance_norm(
                Some((mean, var)),
                weight,
                bias,
                eps,
            )?]),
            _ => not_ours("no running statistics"),
        }
    }),
    ("nn.functional.dropout", |c| {
        dropped(c, true, Tensor::dropout)
    }),
    ("nn.functional.dropout2d", |c| {
        dropped(c, true, Tensor::feature_dropout)
    }),
    ("nn.functional.dropout3d", |c| {
        // Without a batch, the first dimension is the channels.
        dropped(c, true, |x, p| match x.rank() {
            4 => x.unsqueeze(0)?.feature_dropout(p)?.squeeze(0),
            _ => x.feature_dropout(p),
        })
    }),
    ("nn.functional.alpha_dropout", |c| {
        dropped(c, false, Tensor::alpha_dropout)
    }),
    (
        "nn.functional.feature_alpha_dropout.with_train nn.functional.feature_alpha_dropout.without_train",
        |c| dropped(c, false, Tensor::feature_alpha_dropout),
    ),
    ("bernoulli", |c| {
        c.ignore("p", &[])?;
        c.map(Tensor::bernoulli)
    }),
    ("exponential", |c| {
        let (x, lambd) = (c.x()?, c.number(1, "lambd", 1.0)?);
        Ok(vec![Tensor::exponential(
            x.shape().clone(),
            lambd,
            x.dtype(),
        )?])
    }),
    ("randn", |c| {
        Ok(vec![Tensor::randn(
            c.shape::<usize>(0, "size")?,
            c.dtype(),
        )?])
    }),
    ("randint", |c| {
        // The shape is the last positional argument.
        let dtype = c.dtype_named("dtype").unwrap_or(module_core::DType::I64);
        let (low, high, size) = match c.positional.len() {
            2 => (0, c.need(0, "high")?, c.need::<Vec<usize>>(1, "size")?),
            _ => (c.need(0, "low")?, c.need(1, "high")?, c.need(2, "size")?),
        };
        Ok(vec![Tensor::randint(low, high, size, dtype)?])
    }),
    ("rand_like", |c| like(c, Tensor::rand_like)),
    ("randn_like", |c| like(c, Tensor::randn_like)),
    ("zeros_like", |c| like(c, Tensor::zeros_like)),
    ("ones_like", |c| like(c, Tensor::ones_like)),
    ("full_like", |c| {
        let value = c.scalar(1, "fill_value")?;
        like(c, |x| x.full_like(value))
    }),
    ("zeros", |c| {
        Ok(vec![Tensor::zeros(
            c.shape::<usize>(0, "size")?,
            c.dtype(),
        )?])
    }),
    ("ones", |c| {
        Ok(vec![Tensor::ones(c.shape::<usize>(0, "size")?, c.dtype())?])
    }),
    ("full", |c| {
        let (shape, value) = (c.shape::<usize>(0, "size")?, c.scalar(1, "fill_value")?);
        Ok(vec![Tensor::full(shape, value, c.dtype())?])
    }),
    ("eye", |c| {
        let n = c.need(0, "n")?;
        Ok(vec![Tensor::eye(n, c.or(1, "m", n)?, c.dtype())?])
    }),
    ("arange", |c| {
        let zero = Scalar::Int(0);
        let given = |place: usize, name: &str| c.has(place, name);
        let (start, end) = match given(1, "end") {
            true => (c.scalar(0, "start")?, c.scalar(1, "end")?),
            false => (zero, c.scalar(0, "end")?),
        };
        let numbers = [start, end, c.scalar_or(2, "step", 1)?].map(whole);
        let dtype = match (c.dtype_named("dtype"), numbers) {
            (Some(dtype), _) => dtype,
            (None, [Scalar::Int(_), Scalar::Int(_), Scalar::Int(_)]) => module_core::DType::I64,
            (None, _) => module_core::DType::F32,
        };
        let [start, end, step] = numbers;
        Ok(vec![Tensor::arange_step(start, end, step, dtype)?])
    }),
    ("linspace", |c| {
        let (start, end) = (c.scalar(0, "start")?, c.scalar(1, "end")?);
        let (start, end) = (start.to_f64(), end.to_f64());
        let dtype = c.dtype_named("dtype").unwrap_or(module_core::DType::F32);
        Ok(vec![Tensor::linspace(
            start,
            end,
            c.need(2, "steps")?,
            dtype,
        )?])
    }),
];

/// Bools count as numbers.
fn whole(number: Scalar) -> Scalar {
    match number {
        Scalar::Bool(value) => Scalar::Int(value.into()),
        other => other,
    }
}

fn dropped(
    c: &Call<'_>,
    training: bool,
    f: impl FnOnce(&Tensor, f64) -> module_core::Result<Tensor>,
) -> Outputs {
    let p = c.number(1, "p", 0.5)?;
    c.ignore("inplace", &[false.into()])?;
    let x = c.x()?;
    match c.or(2, "training", training)? {
        true => Ok(vec![f(x, p)?]),
        false => Ok(vec![x.clone()]),
    }
}

/// As the first argument is, or of another dtype.
fn like(c: &Call<'_>, f: impl FnOnce(&Tensor) -> module_core::Result<Tensor>) -> Outputs {
    let x = c.x()?;
    match c.dtype_named("dtype") {
        None => Ok(vec![f(x)?]),
        Some(dtype) => Ok(vec![f(&x.to_dtype(dtype)?)?]),
    }
}
