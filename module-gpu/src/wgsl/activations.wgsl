// Activation functions and their derivatives.

// A rounded number: infinities, NaN and the sign of zero stay.
fn rounded(x: f32, to: f32) -> f32 {
    if is_nan(x) || is_inf(x) { return x; }
    return with_sign(to, x);
}

// Only values below zero are replaced: -0.0 and NaN stay.
fn relu_(x: f32) -> f32 {
    if is_nan(x) { return x; }
    // Bits, because a compiler may make a maximum of a comparison, which loses the sign of zero.
    return select(x, 0.0, is_negative(x) && !is_zero(x));
}

const SQRT_HALF = 0.7071067811865476;

fn gelu(x: f32) -> f32 { return 0.5 * x * erfc_(-x * SQRT_HALF); }

fn gelu_grad(x: f32) -> f32 {
    return 0.5 * erfc_(-x * SQRT_HALF) + x * exp_(-0.5 * x * x) * 0.3989422804014327;
}

// √(8/π) and the factor of the cube within.
const LINEAR = 1.5957691216057308;
const CUBIC = 0.07135481282892377;

fn gelu_tanh(x: f32) -> f32 {
    return x / (1.0 + exp_(-x * (x * x * CUBIC + LINEAR)));
}

fn gelu_tanh_grad(x: f32) -> f32 {
    let square = x * x;
    let share = 1.0 / (1.0 + exp_(-x * (square * CUBIC + LINEAR)));
    return share * (1.0 + x * (1.0 - share) * (square * (3.0 * CUBIC) + LINEAR));
}

fn silu(x: f32) -> f32 { return x / (1.0 + exp_(-x)); }

fn silu_grad(x: f32) -> f32 {
    let share = 1.0 / (1.0 + exp_(-x));
    return share * (1.0 + x * (1.0 - share));
}

// With e = eˣ, tanh(ln(1 + e)) = (e² + 2e) / (e² + 2e + 2).
fn mish(x: f32) -> f32 {
    if is_nan(x) { return x; }
    let e = exp_(min(x, 20.0));
    let w = e * (e + 2.0);
    return select(x * (w / (w + 2.0)), x, x > 20.0);
}

fn mish_grad(x: f32) -> f32 {
    if is_nan(x) { return x; }
    let e = exp_(min(x, 20.0));
    let w = e * (e + 2.0);
    let t = w / (w + 2.0);
    let rest = (1.0 + t) * (2.0 / (w + 2.0));
    return select(t + x * (e / (1.0 + e)) * rest, 1.0, x > 20.0);
}

fn hardswish_grad(x: f32) -> f32 {
    if is_nan(x) { return 1.0; }
    if x <= -3.0 { return 0.0; }
    return select(1.0, x / 3.0 + 0.5, x < 3.0);
}

fn softplus(x: f32, beta: f32, threshold: f32) -> f32 {
    if is_nan(x) { return x; }
    let z = x * beta;
    if z > threshold { return x; }
    return (max(z, 0.0) + log1p_(exp_(-abs(z)))) / beta;
}

fn softplus_grad(x: f32, beta: f32, threshold: f32) -> f32 {
    if is_nan(x) { return x; }
    let z = x * beta;
    if z > threshold { return 1.0; }
    return sigmoid_(z);
}

fn huber(x: f32, delta: f32, slope: f32, near: f32) -> f32 {
    if is_nan(x) { return x; }
    if abs(x) <= delta { return x * x * near; }
    return (abs(x) - 0.5 * delta) * slope;
}

fn elu(x: f32, below: f32, above: f32, inner: f32) -> f32 {
    if is_nan(x) { return x; }
    if x < 0.0 { return expm1_(x * inner) * below; }
    return x * above;
}

fn elu_grad(x: f32, below: f32, above: f32, inner: f32) -> f32 {
    if is_nan(x) || x > 0.0 { return above; }
    return exp_(x * inner) * below;
}

fn nan_to_num(x: f32, nan: f32, above: f32, below: f32) -> f32 {
    if is_nan(x) { return nan; }
    if is_inf(x) { return select(above, below, is_negative(x)); }
    return x;
}
