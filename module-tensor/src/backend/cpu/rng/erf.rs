/// The error function, to about fifteen digits.
///
/// ```text
/// erf x = 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (1·3·5···(2n+1))
/// ```
///
/// All terms have the same sign, so that nothing cancels. The standard library has no `erf` yet, and
/// what needs one here only compares with 0.3.
pub(super) fn erf(x: f64) -> f64 {
    // Beyond this the result rounds to one.
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    // A term falls below a unit in the sum's last place after fewer than 150 steps for |x| <= 6.
    for n in 1..200 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}
