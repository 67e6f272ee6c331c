//! Memory that is written over, an element from its counterparts, in one pass over all of it.

use super::memory::vec_with_capacity;
use super::number::Number;
use super::simd::{Loop, run_at_best_level};
use super::threads::{SplitAt, parallel_for};
use super::{CpuStorage, Element, Storage, check_allocatable, elements_of};
use crate::{DTypeError, Result};

/// The number of elements of each memory that are in registers together.
pub(super) const LANES: usize = 64;

/// How many times [`LANES`] elements of a half are updated before as many of the other half.
const TURN: usize = 4;

/// What becomes of elements that lie side by side.
pub(super) trait Update<T, const N: usize, const R: usize>: Copy + Sync {
    /// To be marked `#[inline(always)]`.
    fn update(self, written: &mut [[T; LANES]; N], read: &[&[T; LANES]; R]);
}

/// Updates all elements, of which each takes about `ns` nanoseconds; the slices have one length.
pub(super) fn update_in_place<T: Number, const N: usize, const R: usize>(
    written: [&mut [T]; N],
    read: [&[T]; R],
    ns: usize,
    update: impl Update<T, N, R>,
) -> Result<()> {
    let len = written.first().map_or(0, |x| x.len());
    parallel_for(len, ns, Slices(written), &|range, Slices(written)| {
        let mut last = [[T::zero(); LANES]; N];
        let mut rests = [(); N].map(|()| <&mut [T]>::default());
        let mut all = [(); N].map(|()| <&mut [[T; LANES]]>::default());
        for (i, slice) in written.into_iter().enumerate() {
            let (chunks, rest) = slice.as_chunks_mut::<LANES>();
            last[i][..rest.len()].copy_from_slice(rest);
            (all[i], rests[i]) = (chunks, rest);
        }
        let split = read.map(|x| x[range.clone()].as_chunks::<LANES>());
        run_at_best_level(Chunks {
            written: all,
            read: split.map(|(chunks, _)| chunks),
            update,
        });
        if range.len() % LANES != 0 {
            let read = split.map(|(_, rest)| {
                let mut chunk = [T::zero(); LANES];
                chunk[..rest.len()].copy_from_slice(rest);
                chunk
            });
            run_at_best_level(Chunks {
                written: last.each_mut().map(std::slice::from_mut),
                read: read.each_ref().map(std::slice::from_ref),
                update,
            });
            for (slice, last) in rests.into_iter().zip(&last) {
                slice.copy_from_slice(&last[..slice.len()]);
            }
        }
        Ok(())
    })
}

struct Slices<'a, T, const N: usize>([&'a mut [T]; N]);

impl<T: Send, const N: usize> SplitAt for Slices<'_, T, N> {
    fn split_at(self, items: usize) -> (Self, Self) {
        let mut first = self.0;
        let mut rest = [(); N].map(|()| Default::default());
        for (first, rest) in first.iter_mut().zip(&mut rest) {
            let slice = std::mem::take(first);
            (*first, *rest) = slice.split_at_mut(items.min(slice.len()));
        }
        (Self(first), Self(rest))
    }
}

struct Chunks<'a, T, U, const N: usize, const R: usize> {
    written: [&'a mut [[T; LANES]]; N],
    read: [&'a [[T; LANES]]; R],
    update: U,
}

impl<T: Number, U: Update<T, N, R>, const N: usize, const R: usize> Loop
    for Chunks<'_, T, U, N, R>
{
    type Output = ();

    // Both halves in turns: a processor fetches more at once from two places than from one.

    #[inline(always)]
    #[allow(clippy::inline_always, clippy::needless_range_loop)]
    fn run(self) {
        let written = self.written;
        let count = written.first().map_or(0, |x| x.len());
        let half = count / 2;
        // Copies, which no write to one of the memories can change.
        let mut own = [[T::zero(); LANES]; N];
        for turn in (0..count - half).step_by(TURN) {
            for (start, end) in [(0, half), (half, count)] {
                for i in start + turn..end.min(start + turn + TURN) {
                    for k in 0..N {
                        own[k] = written[k][i];
                    }
                    self.update.update(&mut own, &self.read.map(|x| &x[i]));
                    for k in 0..N {
                        written[k][i] = own[k];
                    }
                }
            }
        }
    }
}

/// The first elements of memory that nobody else shares, which is a copy if somebody does.
pub(super) fn to_write<'a, T: Element>(
    op: &'static str,
    storage: &'a mut Storage,
    numel: usize,
) -> Result<&'a mut [T]> {
    let own = |memory: &mut CpuStorage| memory.values_mut::<T>().is_some();
    if !storage.downcast_mut().is_some_and(own) {
        check_allocatable::<T>(numel)?;
        let shared = elements_of::<T>(storage)?;
        let mut copy = vec_with_capacity(numel)?;
        copy.extend_from_slice(shared.get(..numel).unwrap_or_default());
        *storage = CpuStorage::wrap(copy);
    }
    let (lhs, rhs) = (storage.dtype(), T::DTYPE);
    let memory = storage.downcast_mut::<CpuStorage>();
    let values = memory.and_then(|memory| memory.values_mut()?.get_mut(..numel));
    values.ok_or_else(|| DTypeError::Mismatch { op, lhs, rhs }.into())
}

#[cfg(test)]
mod tests {
    use super::{LANES, TURN, Update, update_in_place};

    #[derive(Clone, Copy)]
    struct AddAndCount;

    impl Update<i64, 2, 1> for AddAndCount {
        #[inline(always)]
        #[allow(clippy::inline_always)]
        fn update(self, written: &mut [[i64; LANES]; 2], [read]: &[&[i64; LANES]; 1]) {
            let [sums, counts] = written;
            for i in 0..LANES {
                sums[i] += read[i];
                counts[i] += 1;
            }
        }
    }

    #[test]
    fn every_element_is_updated_once_whatever_their_number() {
        let turn = LANES * TURN;
        for len in [
            0,
            1,
            LANES - 1,
            LANES,
            3 * LANES,
            2 * turn,
            7 * turn + 3 * LANES + 5,
        ] {
            let read: Vec<i64> = (0..len as i64).collect();
            let (mut sums, mut counts) = (read.clone(), vec![0; len]);
            update_in_place([&mut sums, &mut counts], [&read], 1, AddAndCount).unwrap();
            assert!(sums.iter().zip(&read).all(|(sum, v)| *sum == 2 * v));
            assert!(counts.iter().all(|&count| count == 1), "{len}");
        }
    }
}
