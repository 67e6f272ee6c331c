// Functions of `f32` that are as exact on every driver: WGSL promises little of its own ones, and may take it that there is no
// NaN and no infinity, which is why these look at bits.

var<private> bits_of_inf: u32 = 0x7f800000u;
var<private> bits_of_nan: u32 = 0x7fc00000u;

fn inf() -> f32 { return bitcast<f32>(bits_of_inf); }
fn nan() -> f32 { return bitcast<f32>(bits_of_nan); }
fn is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn is_inf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
fn is_negative(x: f32) -> bool { return (bitcast<u32>(x) >> 31u) == 1u; }
fn with_sign(x: f32, sign: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}
fn is_odd(x: f32) -> bool { return abs(x) < 16777216.0 && (i32(x) & 1) != 0; }

fn greater(a: f32, b: f32) -> f32 {
    if is_nan(b) { return b; }
    if is_nan(a) { return a; }
    return select(b, a, a > b);
}

fn smaller(a: f32, b: f32) -> f32 {
    if is_nan(b) { return b; }
    if is_nan(a) { return a; }
    return select(b, a, a < b);
}

// The sign of a number; 0 for zeros and NaN. Bits, because a compiler may make a negative zero of a difference.
fn sign_(x: f32) -> f32 {
    if is_nan(x) || x == 0.0 { return 0.0; }
    return bitcast<f32>(0x3f800000u | (bitcast<u32>(x) & 0x80000000u));
}

fn is_zero(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0u; }

fn clamp_(x: f32, low: f32, high: f32) -> f32 {
    if is_nan(x) { return x; }
    return min(max(x, low), high);
}

// 2 to a power of -126 to 127.
fn power_of_2(k: i32) -> f32 { return bitcast<f32>(u32(k + 127) << 23u); }

// e to a small power, minus 1.
fn expm1_small(r: f32) -> f32 {
    let rest = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0 + r * (1.0 / 40320.0))));
    return r + r * r * (0.5 + r * (1.0 / 6.0 + r * rest));
}

fn scaled(x: f32, k: i32) -> f32 {
    let first = k / 2;
    return x * power_of_2(first) * power_of_2(k - first);
}

fn exp_(x: f32) -> f32 {
    if is_nan(x) { return x; }
    let y = clamp(x, -104.0, 89.0);
    let k = floor(y * 1.4426950408889634 + 0.5);
    let r = (y - k * 0.693359375) + k * 2.1219444005469058e-4;
    return scaled(1.0 + expm1_small(r), i32(k));
}

fn exp2_(x: f32) -> f32 {
    if is_nan(x) { return x; }
    let y = clamp(x, -150.0, 129.0);
    let k = floor(y + 0.5);
    return scaled(1.0 + expm1_small((y - k) * 0.6931471805599453), i32(k));
}

fn expm1_(x: f32) -> f32 {
    if is_zero(x) { return x; }
    if abs(x) < 0.5 { return expm1_small(x); }
    return exp_(x) - 1.0;
}

// ln(1 + f) for f from -0.3 to 0.42, plus k times ln 2.
fn log_near_1(f: f32, k: f32) -> f32 {
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * (2.0 / 3.0 + z * (0.4 + z * (2.0 / 7.0 + z * (2.0 / 9.0 + z * (2.0 / 11.0 + z * (2.0 / 13.0))))));
    let h = 0.5 * f * f;
    return k * 0.693359375 - ((h - (s * (h + r) - k * 2.1219444005469058e-4)) - f);
}

fn log_(x: f32) -> f32 {
    var bits = bitcast<u32>(x);
    if is_nan(x) { return x; }
    if (bits & 0x7fffffffu) == 0u { return -inf(); }
    if (bits >> 31u) == 1u { return nan(); }
    if bits == 0x7f800000u { return x; }
    var k = 0;
    if bits < 0x800000u {
        bits = bitcast<u32>(f32(bits));
        k = -149;
    }
    // The mantissa from √½ to √2.
    let shifted = bits - 0x3f3504f3u;
    k = k + (bitcast<i32>(shifted) >> 23u);
    let m = bitcast<f32>((shifted & 0x7fffffu) + 0x3f3504f3u);
    return log_near_1(m - 1.0, f32(k));
}

fn log1p_(x: f32) -> f32 {
    if is_nan(x) || is_zero(x) { return x; }
    if x > -0.29 && x < 0.41 { return log_near_1(x, 0.0); }
    return log_(1.0 + x);
}

fn log2_(x: f32) -> f32 { return log_(x) * 1.4426950408889634; }
fn log10_(x: f32) -> f32 { return log_(x) * 0.4342944819032518; }

fn tanh_(x: f32) -> f32 {
    if is_nan(x) { return x; }
    let e = expm1_(2.0 * min(abs(x), 10.0));
    // The second loses less to the rounding of the quotient.
    let y = select(e / (e + 2.0), 1.0 - 2.0 / (e + 2.0), e > 2.0);
    return with_sign(y, x);
}

fn sigmoid_(x: f32) -> f32 { return 1.0 / (1.0 + exp_(-x)); }

// 1 - erf(x) from 0.8 on, times e^(x²).
fn erfc_scaled(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.5 * x);
    let high = 0.369923926 + t * (-0.57192047 + t * (0.327517307 + t * -0.0681701225));
    let middle = 0.236759148 + t * (0.227438369 + t * (-0.0868889817 + t * high));
    return 2.79028299e-6 + t * (0.282005101 + t * (0.28335069 + t * middle));
}

// e^(-x²), without the rounding of the square.
fn exp_of_square(x: f32) -> f32 {
    let high = upper(x);
    return exp_(-high * high) * exp_((high - x) * (high + x));
}

// erf(x) up to 1.
fn erf_small(x: f32) -> f32 {
    let z = x * x;
    let high = 0.00522377483 + z * (-0.000854245572 + z * (0.000119544306 + z * (-1.38963358e-5 + z * 1.05571179e-6)));
    return x * (1.12837917 + z * (-0.376126389 + z * (0.112837913 + z * (-0.026866131 + z * high))));
}

fn erf_(x: f32) -> f32 {
    if is_nan(x) { return x; }
    let y = min(abs(x), 5.0);
    if y < 0.9 { return erf_small(x); }
    return with_sign(1.0 - exp_of_square(y) * erfc_scaled(y), x);
}

fn erfc_(x: f32) -> f32 {
    if is_nan(x) { return x; }
    if abs(x) < 0.9 { return 1.0 - erf_small(x); }
    let y = min(abs(x), 11.0);
    let tail = exp_of_square(y) * erfc_scaled(y);
    return select(tail, 2.0 - tail, x < 0.0);
}

fn sinh_(x: f32) -> f32 {
    if is_nan(x) || is_inf(x) { return x; }
    let v = abs(x);
    if v < 1.0 {
        let e = expm1_(v);
        return with_sign(0.5 * (e + e / (e + 1.0)), x);
    }
    let half = exp_(0.5 * v);
    return with_sign(0.5 * half * half - 0.5 / half / half, x);
}

fn cosh_(x: f32) -> f32 {
    if is_nan(x) { return x; }
    let half = exp_(0.5 * abs(x));
    return 0.5 * half * half + 0.5 / half / half;
}

fn asinh_(x: f32) -> f32 {
    if is_nan(x) || is_inf(x) { return x; }
    let v = abs(x);
    if v > 10000.0 { return with_sign(log_(v) + 0.6931471805599453, x); }
    return with_sign(log1p_(v + v * v / (1.0 + sqrt(v * v + 1.0))), x);
}

fn acosh_(x: f32) -> f32 {
    if is_nan(x) || x < 1.0 { return nan(); }
    if x > 10000.0 { return log_(x) + 0.6931471805599453; }
    let t = x - 1.0;
    return log1p_(t + sqrt(2.0 * t + t * t));
}

fn atanh_(x: f32) -> f32 {
    if is_nan(x) || abs(x) > 1.0 { return nan(); }
    let v = abs(x);
    if v == 1.0 { return with_sign(inf(), x); }
    return with_sign(0.5 * log1p_(2.0 * v / (1.0 - v)), x);
}

fn hypot_(x: f32, y: f32) -> f32 {
    if is_inf(x) || is_inf(y) { return inf(); }
    if is_nan(x) || is_nan(y) { return nan(); }
    let a = max(abs(x), abs(y));
    let b = min(abs(x), abs(y));
    if a == 0.0 { return 0.0; }
    let q = b / a;
    return a * sqrt(1.0 + q * q);
}

// What a division rounded toward 0 leaves, with the sign of x, by long division of the mantissas.
fn fmod_(x: f32, y: f32) -> f32 {
    let ux = bitcast<u32>(x) & 0x7fffffffu;
    let uy = bitcast<u32>(y) & 0x7fffffffu;
    let sign = bitcast<u32>(x) & 0x80000000u;
    if uy == 0u || ux >= 0x7f800000u || uy > 0x7f800000u { return nan(); }
    if ux < uy { return x; }
    var ex = max(i32(ux >> 23u), 1);
    var ey = max(i32(uy >> 23u), 1);
    var mx = select(ux & 0x7fffffu, (ux & 0x7fffffu) | 0x800000u, ux >= 0x800000u);
    var my = select(uy & 0x7fffffu, (uy & 0x7fffffu) | 0x800000u, uy >= 0x800000u);
    while my < 0x800000u {
        my = my << 1u;
        ey = ey - 1;
    }
    while mx < 0x800000u {
        mx = mx << 1u;
        ex = ex - 1;
    }
    while ex > ey {
        if mx >= my { mx = mx - my; }
        mx = mx << 1u;
        ex = ex - 1;
    }
    if mx >= my { mx = mx - my; }
    if mx == 0u { return bitcast<f32>(sign); }
    while mx < 0x800000u && ex > 1 {
        mx = mx << 1u;
        ex = ex - 1;
    }
    if ex < 1 { return bitcast<f32>(sign | (mx >> u32(1 - ex))); }
    if mx < 0x800000u { return bitcast<f32>(sign | mx); }
    return bitcast<f32>(sign | (mx - 0x800000u) | (u32(ex) << 23u));
}

fn remainder_(x: f32, y: f32) -> f32 {
    let rest = fmod_(x, y);
    if rest != 0.0 && !is_nan(rest) && (is_negative(rest) != is_negative(y)) { return rest + y; }
    return rest;
}

fn floor_divided(x: f32, y: f32) -> f32 {
    if y == 0.0 { return divided(x, y); }
    let rest = fmod_(x, y);
    if is_nan(rest) { return rest; }
    var quotient = divided(x - rest, y);
    if rest != 0.0 && (is_negative(rest) != is_negative(y)) { quotient = quotient - 1.0; }
    if quotient == 0.0 { return with_sign(0.0, x / y); }
    let whole = floor(quotient);
    return select(whole, whole + 1.0, quotient - whole > 0.5);
}

// A quotient that does not depend on the driver: WGSL lets one be off by 2.5 units in the last place.
fn divided(x: f32, y: f32) -> f32 {
    if is_nan(x) { return x; }
    if is_nan(y) { return y; }
    let sign = (bitcast<u32>(x) ^ bitcast<u32>(y)) & 0x80000000u;
    if is_zero(y) || is_inf(x) {
        if is_zero(x) || is_inf(y) { return nan(); }
        return bitcast<f32>(bits_of_inf | sign);
    }
    if is_zero(x) || is_inf(y) { return bitcast<f32>(sign); }
    let quotient = x / y;
    if abs(x) < 1e-20 || abs(y) < 1e-30 || abs(quotient) < 1e-30 || abs(quotient) > 1e38 { return quotient; }
    let near = quotient + rest_of(x, quotient, y) / y;
    // That may still be the neighbor, where a quotient is almost halfway between two numbers. A step is 2^-23 of the exponent.
    let rest = rest_of(x, near, y);
    let half_step = bitcast<f32>((bitcast<u32>(near) & 0x7f800000u) - (24u << 23u));
    if abs(rest) <= abs(y) * half_step { return near; }
    let is_larger = is_negative(rest) == is_negative(x);
    return bitcast<f32>(bitcast<u32>(near) + select(0xffffffffu, 1u, is_larger));
}

// What x is more than a product of about the same value. The products of halves are exact, so it makes no difference whether a
// compiler joins them with the differences.
fn rest_of(x: f32, a: f32, b: f32) -> f32 {
    let a_high = upper(a);
    let b_high = upper(b);
    let a_low = a - a_high;
    let b_low = b - b_high;
    return (((x - a_high * b_high) - a_high * b_low) - a_low * b_high) - a_low * b_low;
}

// A number without the lower half of its mantissa, so that products of two such numbers are exact.
fn upper(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u); }

// A positive number to a power. The logarithm is kept in parts, because a large power magnifies its rounding.
fn power(x: f32, y: f32) -> f32 {
    var bits = bitcast<u32>(x);
    var k = 0;
    if bits < 0x800000u {
        bits = bitcast<u32>(f32(bits));
        k = -149;
    }
    let shifted = bits - 0x3f3504f3u;
    k = k + (bitcast<i32>(shifted) >> 23u);
    let f = bitcast<f32>((shifted & 0x7fffffu) + 0x3f3504f3u) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * (2.0 / 3.0 + z * (0.4 + z * (2.0 / 7.0 + z * (2.0 / 9.0 + z * (2.0 / 11.0 + z * (2.0 / 13.0))))));
    let h = 0.5 * f * f;
    // The logarithm is whole + f + rest.
    let whole = f32(k) * 0.6875;
    let rest = f32(k) * 0.0056471805599453094 - (h - s * (h + r));
    if abs(y * (whole + f + rest)) > 110.0 { return exp_(y * (whole + f + rest)); }
    let high = upper(y);
    let low = y - high;
    let first = high * whole;
    let second = high * upper(f);
    let others = low * whole + low * upper(f) + y * (f - upper(f)) + y * rest;
    let n = floor((first + second + others) * 1.4426950408889634 + 0.5);
    let left = ((first - n * 0.693359375) + second) + (others + n * 2.1219444005469058e-4);
    return scaled(1.0 + expm1_small(left), i32(n));
}

fn pow_(x: f32, y: f32) -> f32 {
    if y == 1.0 { return x; }
    if y == 2.0 { return x * x; }
    if y == 3.0 { return x * x * x; }
    if y == 0.5 { return sqrt_(x); }
    if y == -0.5 { return divided(1.0, sqrt_(x)); }
    if y == -1.0 { return divided(1.0, x); }
    if y == 0.0 || x == 1.0 { return 1.0; }
    if is_nan(x) || is_nan(y) { return nan(); }
    let v = abs(x);
    if is_inf(y) {
        if v == 1.0 { return 1.0; }
        return select(0.0, inf(), (v > 1.0) == (y > 0.0));
    }
    let whole = floor(y) == y;
    let negative = is_negative(x) && whole && is_odd(y);
    var value = 0.0;
    if v == 0.0 || is_inf(x) {
        value = select(0.0, inf(), (v == 0.0) == (y < 0.0));
    } else if x < 0.0 && !whole {
        return nan();
    } else if whole && abs(y) <= 16.0 {
        value = 1.0;
        for (var i = 0; i < i32(abs(y)); i++) { value = value * v; }
        if y < 0.0 { value = divided(1.0, value); }
    } else {
        value = power(v, y);
    }
    return select(value, -value, negative);
}

fn sqrt_(x: f32) -> f32 {
    if is_nan(x) || x == 0.0 { return x; }
    if x < 0.0 { return nan(); }
    if is_inf(x) { return x; }
    return sqrt(x);
}
