//! What a division rounded toward 0 leaves.

/// The rest of `a`, exactly, with the sign of `a`.
///
/// The quotient is rounded once, in `f64`. Below 2²⁹ that does not change its whole part: if it is not whole, it is at least
/// 2⁻²⁴ away from the next whole number, which is more than the rounding error. The product with the whole part has at most
/// 53 bits, and the difference no more than `b`, so that both are exact. The library's function, which divides bit by bit,
/// has the rest of the others.
#[inline]
pub(super) fn single(a: f32, b: f32) -> f32 {
    let (x, y) = (f64::from(a), f64::from(b));
    let quotient = x / y;
    if quotient.abs() < 536_870_912.0 && b.is_finite() {
        let rest = x - f64::from(quotient as i32) * y;
        return (rest as f32).copysign(a);
    }
    a % b
}

#[inline]
pub(super) fn double(a: f64, b: f64) -> f64 {
    a % b
}

#[cfg(test)]
mod tests {
    use super::single;

    #[test]
    fn the_rest_is_the_librarys() {
        let step = if cfg!(miri) { 400_000_001 } else { 2_000_003 };
        let numbers: Vec<f32> = (0..u32::MAX).step_by(step).map(f32::from_bits).collect();
        let near = (-2000..2000).map(|i| i as f32 * 0.1);
        let divisors = [
            0.1,
            0.3,
            1.0,
            -0.7,
            3.0,
            1e-3,
            7.25e5,
            1e-40,
            f32::INFINITY,
            0.0,
        ];
        for a in numbers.iter().copied().chain(near) {
            for b in divisors
                .into_iter()
                .chain(numbers.iter().copied().step_by(97))
            {
                let (got, want) = (single(a, b), a % b);
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{a:e} % {b:e} is {want:e}, not {got:e}");
            }
        }
    }
}
