//! The elements of each window of small planes, compared one after the other, if that takes about as many comparisons as passes:
//! nothing on the way is written.

use super::super::max_loops::{Offset, greater};
use super::super::number::Number;
use super::super::pool_windows::Windows;
use super::super::simd::Loop;

/// The number of planes that are processed together.
pub(in super::super) const SIDE_BY_SIDE: usize = 16;

/// An element of each plane.
pub(super) type Of<T> = [T; SIDE_BY_SIDE];

/// The places of the elements of all windows in a plane.
pub(super) struct Members {
    all: Vec<usize>,
    /// For each window one past its last place in `all`.
    ends: Vec<usize>,
}

/// With more elements of a window on average, each comparison waits for the one before for too long.
const MANY: usize = 12;

impl Members {
    /// The members of windows along the depth, the height and the width, unless they are many or more than half as many again
    /// as passes compare.
    pub(super) fn new(windows: [&Windows; 3], compared_by_passes: usize) -> Option<Self> {
        let [depths, heights, widths] = windows.map(Windows::starts_and_counts);
        let count = |windows: &[(usize, usize)]| windows.iter().map(|(_, count)| count).sum();
        let counts: [usize; 3] = [count(&depths), count(&heights), count(&widths)];
        let (members, outputs) = (
            counts.iter().product::<usize>(),
            depths.len() * heights.len() * widths.len(),
        );
        let compared = members.saturating_sub(outputs);
        if compared > compared_by_passes + compared_by_passes / 2 || members > MANY * outputs {
            return None;
        }
        let places = |(start, count): (usize, usize), windows: &Windows| {
            let step = windows.distance();
            (0..count).map(move |k| start + k * step)
        };
        let (mut all, mut ends) = (Vec::with_capacity(members), Vec::with_capacity(outputs));
        for &depth in &depths {
            for &height in &heights {
                for &width in &widths {
                    for z in places(depth, windows[0]) {
                        for y in places(height, windows[1]) {
                            let row = (z * windows[1].size + y) * windows[2].size;
                            all.extend(places(width, windows[2]).map(|x| row + x));
                        }
                    }
                    ends.push(all.len());
                }
            }
        }
        Some(Self { all, ends })
    }
}

/// The maxima of all windows, and their places.
pub(super) struct MeetMembers<'a, T, O> {
    pub(super) members: &'a Members,
    pub(super) values: &'a [Of<T>],
    pub(super) to_values: &'a mut [Of<T>],
    pub(super) to_places: &'a mut [Of<O>],
}

impl<T: Number, O: Offset> Loop for MeetMembers<'_, T, O> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Members { all, ends } = self.members;
        let mut start = 0;
        for (i, &end) in ends.iter().enumerate() {
            let Some((&first, others)) = all[start..end].split_first() else {
                continue;
            };
            let place = |at: usize| O::default().plus(at);
            let mut best = self.values[first];
            let mut there = [place(first); SIDE_BY_SIDE];
            for &at in others {
                let (next, place) = (&self.values[at], place(at));
                for i in 0..SIDE_BY_SIDE {
                    (best[i], there[i]) = greater((best[i], there[i]), (next[i], place));
                }
            }
            self.to_values[i] = best;
            self.to_places[i] = there;
            start = end;
        }
    }
}
