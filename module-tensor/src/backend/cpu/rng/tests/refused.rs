//! States and arguments that are refused.

use super::*;

#[test]
fn broken_states_are_refused() {
    let refused = |change: fn(&mut Vec<u8>)| {
        let mut bytes = STATE.to_vec();
        change(&mut bytes);
        CpuGenerator::from_bytes(&bytes).unwrap_err()
    };
    let length = refused(|bytes| bytes.truncate(100));
    assert_eq!(
        length.to_string(),
        "expected a generator state of 5056 bytes, but found 100"
    );
    assert!(matches!(
        refused(|bytes| bytes[8..12].copy_from_slice(&0_i32.to_le_bytes())),
        RngError::StatePosition { left: 0, .. }
    ));
    assert!(matches!(
        refused(|bytes| bytes[8..12].copy_from_slice(&i32::MIN.to_le_bytes())),
        RngError::StatePosition { .. }
    ));
    assert!(matches!(
        refused(|bytes| bytes[16..24].copy_from_slice(&620_u64.to_le_bytes())),
        RngError::StatePosition { next: 620, .. }
    ));
    assert!(matches!(
        refused(|bytes| bytes[12..16].fill(0)),
        RngError::StatePosition { .. }
    ));
}

/// A refused draw leaves the generator and the values alone.
#[test]
fn bad_arguments_draw_nothing() {
    let mut generator = CpuGenerator::new(4);
    let untouched = generator.clone();
    let mut out = [7.0_f32; 20];
    for (low, high) in [
        (1.0, 0.0),
        (f64::NAN, 1.0),
        (0.0, f64::INFINITY),
        (0.0, 1e39),
        (-3e38, 3e38),
    ] {
        assert!(generator.fill_uniform(&mut out, low, high).is_err());
        assert!(
            generator
                .fill_trunc_normal(&mut out, -1e40, 1.0, low, high)
                .is_err()
        );
    }
    assert!(generator.fill_uniform(&mut [f16::ZERO], 0.0, 7e4).is_err());
    for std in [-1.0, f64::NAN] {
        assert!(generator.fill_normal(&mut out, 0.0, std).is_err());
    }
    assert!(
        generator
            .fill_trunc_normal(&mut out, 0.0, 0.0, -1.0, 1.0)
            .is_err()
    );
    for p in [-0.1, 1.1, f64::NAN] {
        assert!(generator.fill_bernoulli(&mut out, p).is_err());
        assert!(generator.fill_mask(&mut [false], p).is_err());
        assert!(generator.fill_dropout(&mut out, p).is_err());
        assert!(generator.replace_by_bernoulli(&mut [0.5, p]).is_err());
    }
    for lambda in [0.0, -1.0, f64::NAN] {
        assert!(generator.fill_exponential(&mut out, lambda).is_err());
    }
    assert!(generator.fill_randint(&mut [0_i64], 3, 3).is_err());
    assert!(generator.fill_randint(&mut [0_u8], 0, 257).is_err());
    assert!(generator.fill_randint(&mut [0_u8], -1, 3).is_err());
    assert!(generator.randperm(usize::MAX).is_err());
    assert_eq!(generator, untouched);
    assert_eq!(out, [7.0; 20]);
}
