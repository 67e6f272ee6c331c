//! Windows along one dimension that follow each other at one distance.

use std::ops::Range;

/// A run of outputs whose windows are of one length and start at one distance from each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RegularWindows {
    /// The outputs; at least one.
    pub(super) outputs: Range<usize>,
    /// The distance between the windows of neighbors.
    pub(super) stride: usize,
    /// The first input of the first of these windows.
    pub(super) start: usize,
    /// The number of inputs of a window.
    pub(super) len: usize,
}

impl RegularWindows {
    /// The run around the output in the middle, where windows are not cut off at an end; `None` if there are
    /// no outputs.
    pub(super) fn find(ranges: &[Range<usize>]) -> Option<Self> {
        let middle = ranges.len() / 2;
        let (before, after) = ranges.split_at(middle);
        let first = after.first()?;
        let next = after.get(1).unwrap_or(first);
        // Without a neighbor any distance is right.
        let stride = next.start.checked_sub(first.start)?.max(1);
        let is_regular = |range: &Range<usize>, distance: usize, forward: bool| {
            let moved = distance.checked_mul(stride);
            let start = match forward {
                true => moved.and_then(|moved| first.start.checked_add(moved)),
                false => moved.and_then(|moved| first.start.checked_sub(moved)),
            };
            start == Some(range.start) && range.len() == first.len()
        };
        let mut down = before.iter().rev().zip(1..);
        let down = down.position(|(range, distance)| !is_regular(range, distance, false));
        let mut up = after.iter().zip(0..);
        let up = up.position(|(range, distance)| !is_regular(range, distance, true));
        let down = down.unwrap_or(before.len());
        Some(Self {
            outputs: middle - down..middle + up.unwrap_or(after.len()),
            stride,
            start: first.start - down * stride,
            len: first.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::RegularWindows;

    #[test]
    fn windows_that_are_cut_off_stand_outside() {
        let ranges = [0..2, 1..4, 3..6, 5..8, 7..9];
        let found = RegularWindows::find(&ranges).unwrap();
        let whole = RegularWindows {
            outputs: 1..4,
            stride: 2,
            start: 1,
            len: 3,
        };
        assert_eq!(found, whole);
    }

    #[test]
    fn a_window_alone_is_regular() {
        let found = RegularWindows::find(std::slice::from_ref(&(3..9))).unwrap();
        assert_eq!((found.outputs, found.start, found.len), (0..1, 3, 6));
        assert_eq!(RegularWindows::find(&[]), None);
    }

    #[test]
    fn only_neighbors_of_the_middle_count() {
        let ranges = [0..2, 1..3, 3..5, 4..6, 6..8];
        let found = RegularWindows::find(&ranges).unwrap();
        assert_eq!((found.outputs, found.stride, found.start), (2..4, 1, 3));
    }
}
