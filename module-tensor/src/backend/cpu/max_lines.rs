//! The windows of max pooling along a row, and how they are made of smaller ones.

use super::pool_windows::Windows;
use super::regular_windows::RegularWindows;

/// Windows along a row whose elements may be maxima of some neighbors already.
pub(super) struct Line {
    /// The first element and the number of elements of each window.
    pub(super) windows: Vec<(usize, usize)>,
    /// The distance between the elements of a window.
    pub(super) step: usize,
    /// The distance in the plane between neighbors.
    pub(super) distance: usize,
    /// The number of elements of a window whose maximum each of them is; at most those of the smallest window.
    width: usize,
}

/// The most elements of a window that are met one after the other.
const MOST: usize = 4;

impl Line {
    /// The windows of an input.
    pub(super) fn new(windows: &Windows) -> Self {
        Self {
            windows: windows.starts_and_counts(),
            step: windows.distance(),
            distance: 1,
            width: 1,
        }
    }

    /// The elements whose maximum is that of a window with `count` elements: their distances from its start, in
    /// steps.
    pub(super) fn taps(&self, count: usize) -> impl Iterator<Item = usize> {
        let last = count - self.width;
        (0..last).step_by(self.width).chain([last])
    }

    /// The windows that follow each other at a distance of one or two, if they are most of them.
    pub(super) fn regular(&self) -> Option<RegularWindows> {
        let span = |&(start, count): &(usize, usize)| start..start + (count - 1) * self.step + 1;
        let ranges: Vec<_> = self.windows.iter().map(span).collect();
        let most = |found: &RegularWindows| 2 * found.outputs.len() >= ranges.len();
        RegularWindows::find(&ranges).filter(|found| found.stride <= 2 && most(found))
    }

    /// Windows of two elements, over a row of `size`, and the windows over their maxima; `None` where that does not
    /// save work.
    pub(super) fn divided(&self, size: usize) -> Option<(Self, Self)> {
        if let Some(found) = self.regular() {
            let count = self.windows.get(found.outputs.start)?.1;
            if self.taps(count).count() <= MOST {
                return None;
            }
        }
        self.halved(size).or_else(|| self.doubled(size))
    }

    /// Pairs side by side, if all windows are made of these.
    fn halved(&self, size: usize) -> Option<(Self, Self)> {
        let is_even = |&(start, count): &(usize, usize)| start % 2 == 0 && count % 2 == 0;
        if self.step > 1 || self.width > 1 || !self.windows.iter().all(is_even) {
            return None;
        }
        let pairs = Self {
            windows: (0..size / 2).map(|i| (2 * i, 2)).collect(),
            ..*self
        };
        let half = |&(start, count): &(usize, usize)| (start / 2, count / 2);
        let rest = Self {
            windows: self.windows.iter().map(half).collect(),
            distance: 2 * self.distance,
            ..*self
        };
        Some((pairs, rest))
    }

    /// Pairs that begin at each element, if no window is smaller than what they join.
    fn doubled(&self, size: usize) -> Option<(Self, Self)> {
        let smallest = self.windows.iter().map(|&(_, count)| count).min()?;
        let step = self.step * self.width;
        if smallest < 2 * self.width {
            return None;
        }
        let pairs = Self {
            windows: (0..size - step).map(|i| (i, 2)).collect(),
            step,
            distance: self.distance,
            width: 1,
        };
        let rest = Self {
            windows: self.windows.clone(),
            width: 2 * self.width,
            ..*self
        };
        Some((pairs, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::Line;
    use crate::backend::cpu::pool_windows::Windows;

    fn line(size: usize, step: usize, ranges: Vec<std::ops::Range<usize>>) -> Line {
        Line::new(&Windows { size, step, ranges })
    }

    #[test]
    fn windows_of_eight_side_by_side_are_halved() {
        let eights = line(24, 1, (0..3).map(|i| 8 * i..8 * i + 8).collect());
        let (pairs, fours) = eights.divided(24).unwrap();
        assert_eq!(
            pairs.windows,
            (0..12).map(|i| (2 * i, 2)).collect::<Vec<_>>()
        );
        assert_eq!(fours.windows, [(0, 4), (4, 4), (8, 4)]);
        let (_, twos) = fours.divided(12).unwrap();
        assert_eq!(
            (twos.windows.as_slice(), twos.distance),
            (&[(0, 2), (2, 2), (4, 2)][..], 4)
        );
        assert!(twos.divided(6).is_none());
    }

    #[test]
    fn windows_of_many_sizes_meet_their_ends() {
        let uneven = line(11, 1, vec![0..4, 2..7, 5..11]);
        let (pairs, twos) = uneven.divided(11).unwrap();
        assert_eq!((pairs.windows.len(), pairs.step), (10, 1));
        let (pairs, fours) = twos.divided(11).unwrap();
        assert_eq!((pairs.windows.len(), pairs.step), (9, 2));
        assert!(fours.divided(11).is_none());
        let taps = |count| fours.taps(count).collect::<Vec<_>>();
        assert_eq!(
            [taps(4), taps(5), taps(6)],
            [vec![0], vec![0, 1], vec![0, 2]]
        );
    }

    #[test]
    fn short_windows_at_one_distance_stay() {
        assert!(
            line(9, 1, (0..7).map(|i| i..i + 3).collect())
                .divided(9)
                .is_none()
        );
        assert!(
            line(9, 2, (0..5).map(|i| i..i + 5).collect())
                .divided(9)
                .is_none()
        );
        // A window of one element cannot be made of pairs.
        assert!(line(9, 1, vec![0..1, 3..9, 5..9]).divided(9).is_none());
    }
}
