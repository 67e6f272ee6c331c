//! Numbers that lie side by side in pairs, taken apart and put together again.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::simd::{Loop, run_at_best_level};
use crate::zip::zip_mut2;

/// Writes every second number of `from` to `even`, starting with the first, and the others to `odd`.
///
/// The last of an odd count has no partner.
pub(super) fn split_pairs<T: Copy>(from: &[T], even: &mut [T], odd: &mut [T]) {
    let (pairs, rest) = from.as_chunks();
    if let ([last], Some(slot)) = (rest, even.get_mut(pairs.len())) {
        *slot = *last;
    }
    run_at_best_level(Split { pairs, even, odd });
}

/// Writes the numbers of `even` and `odd` by turns.
pub(super) fn join_pairs<T: Copy>(even: &[T], odd: &[T], to: &mut [T]) {
    let (pairs, rest) = to.as_chunks_mut();
    if let ([slot], Some(last)) = (rest, even.get(pairs.len())) {
        *slot = *last;
    }
    run_at_best_level(Join { even, odd, pairs });
}

struct Split<'a, T> {
    pairs: &'a [[T; 2]],
    even: &'a mut [T],
    odd: &'a mut [T],
}

impl<T: Copy> Loop for Split<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { pairs, even, odd } = self;
        // Two slices are written, so that a loop by index is what the compiler sees through.
        let len = pairs.len().min(even.len()).min(odd.len());
        let (pairs, even, odd) = (&pairs[..len], &mut even[..len], &mut odd[..len]);
        for i in 0..len {
            [even[i], odd[i]] = pairs[i];
        }
    }
}

struct Join<'a, T> {
    even: &'a [T],
    odd: &'a [T],
    pairs: &'a mut [[T; 2]],
}

impl<T: Copy> Loop for Join<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { even, odd, pairs } = self;
        for (pair, &even, &odd) in zip_mut2(pairs, even, odd) {
            *pair = [even, odd];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{join_pairs, split_pairs};

    #[test]
    fn pairs_come_apart_and_together() {
        for len in [0, 1, 2, 5, 64, 133] {
            let numbers: Vec<i64> = (0..len).collect();
            let half = numbers.len().div_ceil(2);
            let (mut even, mut odd) = (vec![-1; half], vec![-1; half]);
            split_pairs(&numbers, &mut even, &mut odd);
            assert!(even.iter().copied().eq((0..len).step_by(2)));
            assert!(
                odd.iter()
                    .copied()
                    .take(numbers.len() / 2)
                    .eq((1..len).step_by(2))
            );
            let mut joined = vec![-1; numbers.len()];
            join_pairs(&even, &odd, &mut joined);
            assert_eq!(joined, numbers);
        }
    }
}
