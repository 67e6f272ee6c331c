//! Integers in ascending order, with their indices.

/// The bits of a key by which it is put into a group at a time.
const BITS: u32 = 11;

/// Fewer keys are compared with each other.
const FEW: usize = 1 << 10;

/// The least and the greatest key; 0 if there is none.
pub(super) fn ends(keys: &[i64]) -> (i64, i64) {
    let low = keys.iter().copied().min().unwrap_or_default();
    let high = keys.iter().copied().max().unwrap_or_default();
    (low, high)
}

/// The keys in ascending order, each with its index; equal ones in the order of their indices.
///
/// They are put into groups by their lowest bits, group after group, then by the next ones, up to the highest bits in
/// which keys differ.
pub(super) fn sorted_keys(keys: &[i64]) -> Vec<(i64, usize)> {
    let indexed = || keys.iter().copied().zip(0..);
    if keys.len() < FEW {
        let mut pairs: Vec<(i64, usize)> = indexed().collect();
        pairs.sort_unstable();
        return pairs;
    }
    let (low, high) = ends(keys);
    let above = |key: i64| key.wrapping_sub(low) as u64;
    let bits = 64 - above(high).leading_zeros();
    // The first pass needs no copy of the keys.
    let (mut pairs, mut others) = (vec![(0, 0); keys.len()], Vec::new());
    scatter(keys, indexed(), above, &mut pairs);
    for shift in (BITS..bits).step_by(BITS as usize) {
        others.resize(keys.len(), (0, 0));
        scatter(
            keys,
            pairs.iter().copied(),
            |key| above(key) >> shift,
            &mut others,
        );
        std::mem::swap(&mut pairs, &mut others);
    }
    pairs
}

/// Puts pairs into groups by the lowest bits of what `group` makes of their keys, in ascending order.
fn scatter(
    keys: &[i64],
    from: impl Iterator<Item = (i64, usize)>,
    group: impl Fn(i64) -> u64,
    to: &mut [(i64, usize)],
) {
    let group = |key: i64| group(key) as usize % (1 << BITS);
    let mut positions = [0_usize; 1 << BITS];
    for &key in keys {
        positions[group(key)] += 1;
    }
    let mut end = 0;
    for position in &mut positions {
        end += std::mem::replace(position, end);
    }
    for pair in from {
        let position = &mut positions[group(pair.0)];
        to[*position] = pair;
        *position += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, sorted_keys};

    #[test]
    fn keys_are_sorted_whatever_their_number_and_range() {
        let mut state = 1_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state ^ state >> 29) as i64
        };
        for len in [0, 1, FEW - 1, FEW, 5 * FEW + 3] {
            for shift in [0, 20, 33, 52, 53, 63] {
                let mut keys: Vec<i64> = (0..len).map(|_| draw() >> shift).collect();
                if len > 10 && shift == 0 {
                    (keys[3], keys[7]) = (i64::MAX, i64::MIN);
                }
                let mut want: Vec<(i64, usize)> = keys.iter().copied().zip(0..).collect();
                want.sort();
                assert_eq!(sorted_keys(&keys), want, "{len} {shift}");
            }
        }
        let same = vec![-5; 2 * FEW];
        assert!(
            sorted_keys(&same)
                .into_iter()
                .eq((0..2 * FEW).map(|i| (-5, i)))
        );
    }
}
