//! Unary functions.

use super::arguments::{Op, truth};
use module_core::Tolerance;
use module_core::{Approximate, Tensor};
use module_nn::functional;

pub(crate) const OPS: &[Op] = &[
    ("abs", |c| c.map(Tensor::abs)),
    ("acos", |c| c.map(Tensor::acos)),
    ("acosh", |c| c.map(Tensor::acosh)),
    ("asin", |c| c.map(Tensor::asin)),
    ("asinh", |c| c.map(Tensor::asinh)),
    ("atan", |c| c.map(Tensor::atan)),
    ("atanh", |c| c.map(Tensor::atanh)),
    ("ceil", |c| c.map(Tensor::ceil)),
    ("cos", |c| c.map(Tensor::cos)),
    ("cosh", |c| c.map(Tensor::cosh)),
    ("deg2rad", |c| c.map(Tensor::deg2rad)),
    ("digamma", |c| c.map(Tensor::digamma)),
    ("erf", |c| c.map(Tensor::erf)),
    ("erfinv", |c| c.map(Tensor::erfinv)),
    ("exp", |c| c.map(Tensor::exp)),
    ("exp2", |c| c.map(Tensor::exp2)),
    ("expm1", |c| c.map(Tensor::expm1)),
    ("floor", |c| c.map(Tensor::floor)),
    ("frac", |c| c.map(Tensor::frac)),
    ("isfinite", |c| c.map(Tensor::isfinite)),
    ("isinf", |c| c.map(Tensor::isinf)),
    ("isnan", |c| c.map(Tensor::isnan)),
    ("isneginf", |c| c.map(Tensor::isneginf)),
    ("isposinf", |c| c.map(Tensor::isposinf)),
    ("lgamma", |c| c.map(Tensor::lgamma)),
    ("log", |c| c.map(Tensor::log)),
    ("log10", |c| c.map(Tensor::log10)),
    ("log1p", |c| c.map(Tensor::log1p)),
    ("log2", |c| c.map(Tensor::log2)),
    ("logical_not", |c| c.map(Tensor::logical_not)),
    ("neg", |c| c.map(Tensor::neg)),
    ("polygamma.polygamma_n_0", |c| polygamma(c)),
    ("polygamma.polygamma_n_1", |c| polygamma(c)),
    ("polygamma.polygamma_n_2", |c| polygamma(c)),
    ("polygamma.polygamma_n_3", |c| polygamma(c)),
    ("polygamma.polygamma_n_4", |c| polygamma(c)),
    ("rad2deg", |c| c.map(Tensor::rad2deg)),
    ("reciprocal", |c| c.map(Tensor::reciprocal)),
    ("round", |c| c.map(Tensor::round)),
    ("rsqrt", |c| c.map(Tensor::rsqrt)),
    ("sgn", |c| c.map(Tensor::sign)),
    ("sigmoid", |c| c.map(Tensor::sigmoid)),
    ("sign", |c| c.map(Tensor::sign)),
    ("signbit", |c| c.map(Tensor::signbit)),
    ("sin", |c| c.map(Tensor::sin)),
    ("sinh", |c| c.map(Tensor::sinh)),
    ("sqrt", |c| c.map(Tensor::sqrt)),
    ("square", |c| c.map(Tensor::square)),
    ("tan", |c| c.map(Tensor::tan)),
    ("tanh", |c| c.map(Tensor::tanh)),
    ("trunc", |c| c.map(Tensor::trunc)),
    ("nn.functional.celu", |c| {
        Ok(vec![c.x()?.celu(c.number(1, "alpha", 1.0)?)?])
    }),
    ("nn.functional.elu", |c| {
        Ok(vec![c.x()?.elu(c.number(1, "alpha", 1.0)?)?])
    }),
    ("nn.functional.gelu", |c| {
        let approximate = c.or(1, "approximate", Approximate::None)?;
        Ok(vec![c.x()?.gelu(approximate)?])
    }),
    ("nn.functional.glu", |c| {
        Ok(vec![c.x()?.glu(c.or(1, "dim", -1)?)?])
    }),
    ("nn.functional.hardshrink", |c| {
        Ok(vec![c.x()?.hardshrink(c.number(1, "lambd", 0.5)?)?])
    }),
    ("nn.functional.hardsigmoid", |c| c.map(Tensor::hardsigmoid)),
    ("nn.functional.hardswish", |c| c.map(Tensor::hardswish)),
    ("nn.functional.hardtanh", |c| {
        let (low, high) = (c.number(1, "min_val", -1.0)?, c.number(2, "max_val", 1.0)?);
        Ok(vec![c.x()?.hardtanh(low, high)?])
    }),
    ("nn.functional.leaky_relu", |c| {
        Ok(vec![c.x()?.leaky_relu(c.number(
            1,
            "negative_slope",
            0.01,
        )?)?])
    }),
    ("nn.functional.logsigmoid", |c| c.map(Tensor::log_sigmoid)),
    ("nn.functional.mish", |c| c.map(Tensor::mish)),
    ("nn.functional.prelu", |c| {
        Ok(vec![c.x()?.prelu(c.tensor(1, "weight")?)?])
    }),
    ("nn.functional.relu", |c| c.map(Tensor::relu)),
    ("nn.functional.relu6", |c| c.map(Tensor::relu6)),
    ("nn.functional.rrelu", |c| {
        let (low, high) = (
            c.number(1, "lower", 1.0 / 8.0)?,
            c.number(2, "upper", 1.0 / 3.0)?,
        );
        let out = match c.or(3, "training", false)? {
            true => functional::rrelu(c.x()?, low, high)?,
            false => {
                // The bounds are checked in both modes.
                functional::rrelu(c.x()?, low, high)?;
                c.x()?.leaky_relu((low + high) / 2.0)?
            }
        };
        Ok(vec![out])
    }),
    ("nn.functional.selu", |c| c.map(Tensor::selu)),
    ("nn.functional.silu", |c| c.map(Tensor::silu)),
    ("nn.functional.softplus", |c| {
        let (beta, threshold) = (c.number(1, "beta", 1.0)?, c.number(2, "threshold", 20.0)?);
        Ok(vec![c.x()?.softplus(beta, threshold)?])
    }),
    ("nn.functional.softshrink", |c| {
        Ok(vec![c.x()?.softshrink(c.number(1, "lambd", 0.5)?)?])
    }),
    ("nn.functional.softsign", |c| c.map(Tensor::softsign)),
    ("nn.functional.tanhshrink", |c| c.map(Tensor::tanhshrink)),
    ("nn.functional.threshold", |c| {
        let (threshold, value) = (c.scalar(1, "threshold")?, c.scalar(2, "value")?);
        Ok(vec![c.x()?.threshold(threshold, value)?])
    }),
    ("add", |c| scaled(c, 1)),
    ("sub", |c| scaled(c, -1)),
    ("__radd__", |c| c.swapped(|y, x| y.add(x))),
    ("__rmul__", |c| c.swapped(|y, x| y.mul(x))),
    ("__rsub__", |c| c.swapped(|y, x| y.sub(x))),
    ("__rdiv__", |c| c.swapped(|y, x| y.div(x))),
    ("__rpow__", |c| c.swapped(|y, x| y.pow(x))),
    ("__rmod__", |c| c.swapped(|y, x| y.remainder(x))),
    ("mul", |c| c.with(|x, y| x.mul(y))),
    ("div.no_rounding_mode true_divide", |c| {
        c.with(|x, y| x.div(y))
    }),
    ("div.floor_rounding", |c| {
        c.ignore("rounding_mode", &["floor".into()])?;
        c.with(|x, y| x.floor_divide(y))
    }),
    ("floor_divide", |c| c.with(|x, y| x.floor_divide(y))),
    ("remainder", |c| c.with(|x, y| x.remainder(y))),
    ("fmod", |c| c.with(|x, y| x.fmod(y))),
    ("pow", |c| c.with(|x, y| x.pow(y))),
    ("copysign", |c| c.with(|x, y| x.copysign(y))),
    ("atan2", |c| c.pair(Tensor::atan2)),
    ("hypot", |c| c.pair(Tensor::hypot)),
    ("maximum max.binary", |c| c.with(|x, y| x.maximum(y))),
    ("minimum min.binary", |c| c.with(|x, y| x.minimum(y))),
    ("eq", |c| c.with(|x, y| x.eq(y))),
    ("ne", |c| c.with(|x, y| x.ne(y))),
    ("lt", |c| c.with(|x, y| x.lt(y))),
    ("le", |c| c.with(|x, y| x.le(y))),
    ("gt", |c| c.with(|x, y| x.gt(y))),
    ("ge", |c| c.with(|x, y| x.ge(y))),
    ("logical_and", |c| c.pair(Tensor::logical_and)),
    ("logical_or", |c| c.pair(Tensor::logical_or)),
    ("logical_xor", |c| c.pair(Tensor::logical_xor)),
    ("clamp", |c| {
        let x = c.x()?;
        let out = match (c.has(1, "min"), c.has(2, "max")) {
            (true, true) => x.clamp(c.operand(1, "min")?, c.operand(2, "max")?)?,
            (true, false) => x.clamp_min(c.operand(1, "min")?)?,
            (false, true) => x.clamp_max(c.operand(2, "max")?)?,
            (false, false) => return super::arguments::not_ours("no bounds"),
        };
        Ok(vec![out])
    }),
    ("clamp_min", |c| c.with(|x, y| x.clamp_min(y))),
    ("clamp_max", |c| c.with(|x, y| x.clamp_max(y))),
    ("where", |c| {
        let other = c.operand(2, "other")?;
        Ok(vec![c.tensor(1, "condition")?.where_(c.x()?, other)?])
    }),
    ("isclose", |c| {
        let (rtol, atol) = (c.number(2, "rtol", 1e-5)?, c.number(3, "atol", 1e-8)?);
        let equal_nan = c.or(4, "equal_nan", false)?;
        c.pair(|x, y| {
            x.isclose(
                y,
                Tolerance::new().rtol(rtol).atol(atol).equal_nan(equal_nan),
            )
        })
    }),
    ("allclose", |c| {
        let (rtol, atol) = (c.number(2, "rtol", 1e-5)?, c.number(3, "atol", 1e-8)?);
        let equal_nan = c.or(4, "equal_nan", false)?;
        Ok(truth(c.x()?.allclose(
            c.y()?,
            Tolerance::new().rtol(rtol).atol(atol).equal_nan(equal_nan),
        )?))
    }),
    ("equal", |c| Ok(truth(c.x()?.equal(c.y()?)?))),
    ("masked_fill", |c| {
        let value = c.scalar(2, "value")?;
        Ok(vec![c.x()?.masked_fill(c.tensor(1, "mask")?, value)?])
    }),
];

fn polygamma(c: &super::arguments::Call<'_>) -> super::arguments::Outputs {
    // The order comes first in PyTorch, and the database swaps them back.
    let order = c.need(1, "n")?;
    Ok(vec![c.x()?.polygamma(order)?])
}

/// `x + sign · alpha · y`.
fn scaled(c: &super::arguments::Call<'_>, sign: i64) -> super::arguments::Outputs {
    use module_core::Scalar;
    let x = c.x()?;
    if !c.has(2, "alpha") {
        return match sign {
            1 => c.with(|x, y| x.add(y)),
            _ => c.with(|x, y| x.sub(y)),
        };
    }
    let alpha = match c.scalar(2, "alpha")? {
        Scalar::Float(alpha) => Scalar::Float(alpha * sign as f64),
        Scalar::Int(alpha) => Scalar::Int(alpha * sign),
        Scalar::Bool(alpha) => Scalar::Int(i64::from(alpha) * sign),
    };
    Ok(vec![x.add_scaled(c.y()?, alpha)?])
}
