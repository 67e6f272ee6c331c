//! The 256 values of bitsandbytes' signed dynamic map: seven exponents, with more fraction bits for greater exponents.

/// All values in ascending order.
pub(super) fn values() -> Vec<f32> {
    let mut values = vec![0.0, 1.0];
    for exponent in 0..7 {
        let count = 1 << exponent;
        let power = 10.0_f64.powi(exponent - 6) as f32;
        for i in 0..count {
            let mean = f32::midpoint(boundary(i, count), boundary(i + 1, count));
            values.extend([power * mean, -(power * mean)]);
        }
    }
    values.sort_by(f32::total_cmp);
    values
}

/// Boundary `i` of `count` equal parts from 0.1 to 1, counted from the nearer end as in PyTorch's `linspace`, with fused
/// multiply-adds.
fn boundary(i: u16, count: u16) -> f32 {
    let step = (1.0 - 0.1_f32) / f32::from(count);
    match i < count.div_ceil(2) {
        true => step.mul_add(f32::from(i), 0.1),
        false => (-step).mul_add(f32::from(count - i), 1.0),
    }
}

/// The index of the nearest value, the lower one of two.
pub(super) fn nearest(values: &[f32], v: f32) -> u8 {
    let above = values.partition_point(|&value| value <= v);
    let left = above.saturating_sub(1);
    let distance = |i: usize| values.get(i).map(|value| (v - value).abs());
    let nearest = match (distance(left), distance(left + 1)) {
        (Some(left_distance), Some(right)) if right < left_distance => left + 1,
        _ => left,
    };
    nearest.min(255) as u8
}
