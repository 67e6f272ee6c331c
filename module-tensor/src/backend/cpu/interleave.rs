//! Channels that lie side by side, number by number, taken apart and put together again.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::array::from_fn;

use super::simd::{Loop, run_at_best_level};

/// The maximum number of channels that [`join_channels`] puts side by side.
pub(super) const MOST_CHANNELS: usize = 4;

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
    let (pairs, rest) = to.as_chunks_mut::<2>();
    if let ([slot], Some(last)) = (rest, even.get(pairs.len())) {
        *slot = *last;
    }
    let channel = |c| if c == 0 { even } else { odd };
    join_channels(2, channel, pairs.as_flattened_mut());
}

/// Writes the numbers of 2 to [`MOST_CHANNELS`] channels by turns, to whole pixels, which have a number of each channel.
#[inline]
pub(super) fn join_channels<'a, T: Copy + 'a>(
    count: usize,
    channel: impl Fn(usize) -> &'a [T],
    pixels: &mut [T],
) {
    run_at_best_level(Join {
        count,
        channel,
        pixels,
    });
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

struct Join<'a, T, F> {
    count: usize,
    channel: F,
    pixels: &'a mut [T],
}

impl<'c, T: Copy + 'c, F: Fn(usize) -> &'c [T]> Loop for Join<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.count {
            2 => self.join::<2>(),
            3 => self.join::<3>(),
            _ => self.join::<MOST_CHANNELS>(),
        }
    }
}

impl<'c, T: Copy + 'c, F: Fn(usize) -> &'c [T]> Join<'_, T, F> {
    #[inline(always)]
    fn join<const N: usize>(self) {
        let (pixels, _) = self.pixels.as_chunks_mut::<N>();
        let channels: [&[T]; N] = from_fn(|c| &(self.channel)(c)[..pixels.len()]);
        for (i, pixel) in pixels.iter_mut().enumerate() {
            *pixel = from_fn(|c| channels[c][i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_CHANNELS, join_channels, join_pairs, split_pairs};

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

    #[test]
    fn channels_come_together() {
        for channels in 2..=MOST_CHANNELS {
            for len in [0, 1, 17, 100] {
                let numbers: Vec<usize> = (0..len * channels).collect();
                let of = |c: usize| numbers.iter().copied().skip(c).step_by(channels).collect();
                let parts: Vec<Vec<usize>> = (0..channels).map(of).collect();
                let parts: Vec<&[usize]> = parts.iter().map(Vec::as_slice).collect();
                let mut joined = vec![usize::MAX; numbers.len()];
                join_channels(channels, |c| parts[c], &mut joined);
                assert_eq!(joined, numbers);
            }
        }
    }
}
