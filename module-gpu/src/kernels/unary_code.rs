//! The expressions of functions of one element.

use module_tensor::Scalar;
use module_tensor::backend::UnaryOp;

/// A function of one element: its expression in `x`, and the numbers that it calls `p`, `q` and `r`.
pub(crate) struct UnaryCode {
    pub(crate) value: &'static str,
    pub(crate) numbers: Vec<Scalar>,
}

/// The expression of a function; `None` where the CPU computes it.
pub(crate) fn unary_code(op: UnaryOp, of: &str) -> Option<UnaryCode> {
    let plain = |value| {
        Some(UnaryCode {
            value,
            numbers: Vec::new(),
        })
    };
    if of != "f32" {
        return plain(match op {
            UnaryOp::Neg if of == "f64" => "-x",
            UnaryOp::Neg => "ZERO - x",
            UnaryOp::Abs if of == "f64" => "abs(x)",
            UnaryOp::Abs => "select(x, ZERO - x, x < ZERO)",
            UnaryOp::Sign if of != "f64" => {
                "select(select(ZERO, ZERO - ONE, x < ZERO), ONE, x > ZERO)"
            }
            UnaryOp::Sqrt if of == "f64" => "sqrt(x)",
            UnaryOp::Reciprocal if of == "f64" => "ONE / x",
            _ => return None,
        });
    }
    plain(match op {
        UnaryOp::Neg => "bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u)",
        UnaryOp::Abs => "bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu)",
        UnaryOp::Sign => "sign_(x)",
        UnaryOp::Exp => "exp_(x)",
        UnaryOp::Log => "log_(x)",
        UnaryOp::Sqrt => "sqrt_(x)",
        UnaryOp::Reciprocal => "divided(1.0, x)",
        UnaryOp::Rsqrt => "divided(1.0, sqrt_(x))",
        UnaryOp::Log1p => "log1p_(x)",
        UnaryOp::Expm1 => "expm1_(x)",
        UnaryOp::Erf => "erf_(x)",
        UnaryOp::Sin => "sin_(x)",
        UnaryOp::Cos => "cos_(x)",
        UnaryOp::Tan => "tan_(x)",
        UnaryOp::Asin => "asin_(x)",
        UnaryOp::Acos => "acos_(x)",
        UnaryOp::Atan => "atan_(x)",
        UnaryOp::Sinh => "sinh_(x)",
        UnaryOp::Cosh => "cosh_(x)",
        UnaryOp::Asinh => "asinh_(x)",
        UnaryOp::Acosh => "acosh_(x)",
        UnaryOp::Atanh => "atanh_(x)",
        UnaryOp::Log2 => "log2_(x)",
        UnaryOp::Log10 => "log10_(x)",
        UnaryOp::Exp2 => "exp2_(x)",
        UnaryOp::Floor => "rounded(x, floor(x))",
        UnaryOp::Ceil => "rounded(x, ceil(x))",
        UnaryOp::Round => "rounded(x, round(x))",
        UnaryOp::Trunc => "rounded(x, trunc(x))",
        UnaryOp::Frac => "x - rounded(x, trunc(x))",
        UnaryOp::Tanh => "tanh_(x)",
        UnaryOp::Sigmoid => "sigmoid_(x)",
        UnaryOp::Relu => "relu_(x)",
        UnaryOp::Gelu => "gelu(x)",
        UnaryOp::GeluTanh => "gelu_tanh(x)",
        UnaryOp::Silu => "silu(x)",
        UnaryOp::Mish => "mish(x)",
        UnaryOp::Hardswish => "x * clamp_(x + 3.0, 0.0, 6.0) / 6.0",
        UnaryOp::Hardsigmoid => "clamp_(x + 3.0, 0.0, 6.0) / 6.0",
        UnaryOp::SigmoidGrad => "x * (1.0 - x)",
        UnaryOp::TanhGrad => "1.0 - x * x",
        UnaryOp::GeluGrad => "gelu_grad(x)",
        UnaryOp::GeluTanhGrad => "gelu_tanh_grad(x)",
        UnaryOp::SiluGrad => "silu_grad(x)",
        UnaryOp::MishGrad => "mish_grad(x)",
        UnaryOp::HardswishGrad => "hardswish_grad(x)",
        _ => return with_numbers(op),
    })
}

/// Functions with numbers of their own.
fn with_numbers(op: UnaryOp) -> Option<UnaryCode> {
    let (value, numbers) = match op {
        UnaryOp::Clamp { low, high } => ("clamp_(x, p, q)", vec![low, high]),
        UnaryOp::Softshrink { lambd } => ("x - clamp_(x, -p, p)", vec![lambd]),
        UnaryOp::NanToNum {
            nan,
            posinf,
            neginf,
        } => ("nan_to_num(x, p, q, r)", vec![nan, posinf, neginf]),
        UnaryOp::Softplus { beta, threshold } => ("softplus(x, p, q)", vec![beta, threshold]),
        UnaryOp::SoftplusGrad { beta, threshold } => {
            ("softplus_grad(x, p, q)", vec![beta, threshold])
        }
        UnaryOp::LeakyRelu { negative_slope } => (
            "select(x * p, x, !is_nan(x) && x > 0.0)",
            vec![negative_slope],
        ),
        UnaryOp::LeakyReluGrad { negative_slope } => (
            "select(p, 1.0, !is_nan(x) && x > 0.0)",
            vec![negative_slope],
        ),
        UnaryOp::Huber {
            delta,
            slope,
            curvature,
        } => ("huber(x, p, q, r)", vec![delta, slope, 0.5 * curvature]),
        UnaryOp::Elu {
            alpha,
            scale,
            input_scale,
        } => ("elu(x, p, q, r)", vec![alpha * scale, scale, input_scale]),
        UnaryOp::EluGrad {
            alpha,
            scale,
            input_scale,
        } => {
            let below = alpha * scale * input_scale;
            ("elu_grad(x, p, q, r)", vec![below, scale, input_scale])
        }
        _ => return None,
    };
    let numbers = numbers.into_iter().map(Scalar::Float).collect();
    Some(UnaryCode { value, numbers })
}
