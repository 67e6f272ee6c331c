//! Functions that the standard library lacks, of any numbers in `f64`.

use std::f64::consts::PI;

use super::vector::double;

/// The derivative of `ln Γ(x)`.
pub(super) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        // `x` is a pole, or so large that its fraction is gone.
        if x == x.trunc() {
            return f64::NAN;
        }
        return digamma(1.0 - x) - PI / (PI * x.fract()).tan();
    }
    double::digamma(x)
}

/// The derivative of `order` of [`digamma`], for an order above 0:
///
/// ```text
/// ψₙ(x) = (-1)ⁿ⁺¹ n! ζ(n + 1, x)     ψₙ(x) = (-1)ⁿ ψₙ(1 - x) - π dⁿ/dxⁿ cot(πx)
/// ```
pub(super) fn polygamma(order: u32, x: f64) -> f64 {
    let sign = if order % 2 == 1 { 1.0 } else { -1.0 };
    if x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if x <= 0.0 && x == x.trunc() {
        return sign * f64::INFINITY;
    }
    if x < 0.0 {
        return -sign * polygamma(order, 1.0 - x) - cotangent_derivative(order, x);
    }
    let n = f64::from(order);
    sign * libm::tgamma(n + 1.0) * zeta(n + 1.0, x)
}

/// `π dⁿ/dxⁿ cot(πx)`, a polynomial of the cotangent: `d/dx c = -π (1 + c²)`.
fn cotangent_derivative(order: u32, x: f64) -> f64 {
    // Beyond, factorials are infinite in `f64`.
    let order = order.min(200);
    let mut terms = vec![0.0, 1.0];
    for _ in 0..order {
        let mut next = vec![0.0; terms.len() + 1];
        for (power, term) in terms.iter().enumerate().skip(1) {
            next[power - 1] -= power as f64 * term;
            next[power + 1] -= power as f64 * term;
        }
        terms = next;
    }
    // `x - floor(x)` is exact, whereas `PI * x` would lose digits.
    let cotangent = (PI * (x - x.floor())).tan().recip();
    let value = terms
        .iter()
        .rev()
        .fold(0.0, |sum, term| sum * cotangent + term);
    PI.powi(order as i32 + 1) * value
}

/// The Hurwitz zeta function `Σ (x + k)⁻ˢ` over `k ≥ 0`, of an `s` of at least 2 and a positive `x`: nine
/// terms, then the formula of Euler and Maclaurin.
///
/// Source: Cephes, `zeta`.
fn zeta(s: f64, x: f64) -> f64 {
    /// `(2k)! / B₂ₖ`.
    const FACTORS: [f64; 12] = [
        12.0,
        -720.0,
        30_240.0,
        -1_209_600.0,
        47_900_160.0,
        -1_892_437_580.318_379,
        74_724_249_600.0,
        -2.950_130_727_918_164e12,
        1.164_678_281_435_007e14,
        -4.597_978_722_407_473e15,
        1.815_210_540_194_355e17,
        -7.166_165_256_175_667e18,
    ];
    let (mut sum, mut a) = (x.powf(-s), x);
    let mut term = sum;
    for _ in 0..9 {
        a += 1.0;
        term = a.powf(-s);
        sum += term;
        if term.abs() <= f64::EPSILON / 2.0 * sum.abs() {
            return sum;
        }
    }
    sum += term * a / (s - 1.0) - 0.5 * term;
    let (mut rising, mut k) = (1.0, 0.0);
    for factor in FACTORS {
        rising *= s + k;
        term /= a;
        let next = rising * term / factor;
        sum += next;
        if (next / sum).abs() < f64::EPSILON / 2.0 {
            break;
        }
        k += 1.0;
        rising *= s + k;
        term /= a;
        k += 1.0;
    }
    sum
}
