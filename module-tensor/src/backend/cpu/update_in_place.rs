//! Memory that is written over, an element from its counterparts, in one pass over all of it.

use std::ops::Range;

use smallvec::SmallVec;

use super::float::Float;
use super::simd::{Loop, run_at_best_level};
use super::threads::{SplitAt, parallel_for};
use super::view::copied;
use super::{CpuStorage, Element, Storage, elements_of};
use crate::{DTypeError, Result};

/// Something of each memory, of which a formula has a few.
pub(super) type Few<X> = SmallVec<[X; 4]>;

/// The number of elements of each memory that are in registers together: with AVX2, the four memories of Adam's step just fit.
pub(crate) const LANES: usize = 32;

/// How many times [`LANES`] elements of a half are updated before as many of the other half.
const TURN: usize = 8;

/// A function of elements that lie side by side in `W` memories that are written and `R` that are read.
pub(super) trait Update<T, const W: usize, const R: usize>: Copy + Sync {
    /// To be marked `#[inline(always)]`.
    fn update(self, written: &mut [[T; LANES]; W], read: &[&[T; LANES]; R]);
}

/// An [`Update`] as a value that does not tell how many memories it has, so that all around its loop is compiled
/// once.
pub(crate) trait UpdateLoop<T>: Sync {
    /// Updates whole chunks of memories of one length, as many as the formula has.
    fn run(&self, written: &mut [&mut [[T; LANES]]], read: &[&[[T; LANES]]]);
}

/// Runs `update` over chunks.
#[inline]
pub(super) fn update_chunks<T: Float, const W: usize, const R: usize>(
    written: &mut [&mut [[T; LANES]]],
    read: &[&[[T; LANES]]],
    update: impl Update<T, W, R>,
) {
    let (Ok(written), Ok(read)) = (written.try_into(), read.try_into()) else {
        return;
    };
    run_at_best_level(Chunks {
        written,
        read,
        update,
    });
}

/// Updates all elements, of which each takes about `ns` nanoseconds; the slices have one length.
pub(super) fn update_in_place<T: Float>(
    written: Few<&mut [T]>,
    read: &[&[T]],
    ns: usize,
    update: &dyn UpdateLoop<T>,
) -> Result<()> {
    let len = written.first().map_or(0, |x| x.len());
    parallel_for(len, ns, Slices(written), &|range, Slices(written)| {
        let count = range.len() % LANES;
        let (mut all, mut rests) = (Few::new(), Few::new());
        for slice in written {
            let (chunks, rest) = slice.as_chunks_mut::<LANES>();
            all.push(chunks);
            rests.push(rest);
        }
        let parts = read.iter().map(|x| x[range.clone()].as_chunks::<LANES>());
        let (read, read_rests): (Few<_>, Few<_>) = parts.unzip();
        if range.len() >= LANES {
            update.run(&mut all, &read);
        }
        if count != 0 {
            let mut last: Few<_> = rests.iter().map(|rest| padded(rest)).collect();
            let read: Few<_> = read_rests.iter().map(|rest| padded(rest)).collect();
            let mut all: Few<_> = last.iter_mut().map(std::slice::from_mut).collect();
            let read: Few<_> = read.iter().map(std::slice::from_ref).collect();
            update.run(&mut all, &read);
            drop(all);
            for (rest, last) in rests.into_iter().zip(&last) {
                rest.copy_from_slice(&last[..count]);
            }
        }
        Ok(())
    })
}

/// Fewer than [`LANES`] elements, and zeros behind them.
fn padded<T: Float>(elements: &[T]) -> [T; LANES] {
    let mut chunk = [T::zero(); LANES];
    chunk[..elements.len()].copy_from_slice(elements);
    chunk
}

struct Slices<'a, T>(Few<&'a mut [T]>);

impl<T: Send> SplitAt for Slices<'_, T> {
    fn split_at(self, items: usize) -> (Self, Self) {
        let parts = self.0.into_iter().map(|slice| {
            let at = items.min(slice.len());
            slice.split_at_mut(at)
        });
        let (first, rest) = parts.unzip();
        (Self(first), Self(rest))
    }
}

struct Chunks<'a, 'w, 'r, T, U, const W: usize, const R: usize> {
    written: &'a mut [&'w mut [[T; LANES]]; W],
    read: &'a [&'r [[T; LANES]]; R],
    update: U,
}

impl<T: Float, U: Update<T, W, R>, const W: usize, const R: usize> Loop
    for Chunks<'_, '_, '_, T, U, W, R>
{
    // Memory limits updates of wider numbers with half the registers, too, and there are many formulas.
    const HAS_AVX512: bool = size_of::<T>() == 4;

    type Output = ();

    // Both halves in turns: a processor fetches more at once from two positions than from one.

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self {
            written,
            read,
            update,
        } = self;
        let count = written.first().map_or(0, |x| x.len());
        let half = count / 2;
        for turn in 0..(count - half).div_ceil(TURN) {
            for (start, end) in [(0, half), (half, count)] {
                let start = start + turn * TURN;
                update_range(written, read, start..end.min(start + TURN), update);
            }
        }
    }
}

/// Updates some chunks, whose slices are known before the loop: a loop that looks each of them up is half as fast.
#[inline(always)]
#[allow(clippy::inline_always, clippy::needless_range_loop)]
fn update_range<T: Float, U: Update<T, W, R>, const W: usize, const R: usize>(
    written: &mut [&mut [[T; LANES]]; W],
    read: &[&[[T; LANES]]; R],
    range: Range<usize>,
    update: U,
) {
    let written = parts_mut(written, &range);
    let read = parts(read, &range);
    // A copy, which no write to one of the memories can change.
    let mut own = [[T::zero(); LANES]; W];
    let zeros = [T::zero(); LANES];
    let mut others = [&zeros; R];
    for i in 0..range.len() {
        for k in 0..W {
            own[k] = written[k][i];
        }
        for k in 0..R {
            others[k] = &read[k][i];
        }
        update.update(&mut own, &others);
        for k in 0..W {
            written[k][i] = own[k];
        }
    }
}

/// The same part of each slice. A function of its own, which is compiled once for all formulas.
#[inline]
fn parts_mut<'a, T, const W: usize>(
    slices: &'a mut [&mut [T]; W],
    range: &Range<usize>,
) -> [&'a mut [T]; W] {
    slices.each_mut().map(|x| &mut x[range.clone()])
}

/// [`parts_mut`] of slices that are read.
#[inline]
fn parts<'a, T, const R: usize>(slices: &[&'a [T]; R], range: &Range<usize>) -> [&'a [T]; R] {
    slices.map(|x| &x[range.clone()])
}

/// The first elements of memory that nobody else shares, which is a copy if somebody does.
pub(super) fn to_write<'a, T: Element>(
    op: &'static str,
    storage: &'a mut Storage,
    numel: usize,
) -> Result<&'a mut [T]> {
    let own = |memory: &mut CpuStorage| memory.values_mut::<T>().is_some();
    if !storage.downcast_mut().is_some_and(own) {
        let shared = elements_of::<T>(storage)?;
        *storage = CpuStorage::wrap(copied(shared.get(..numel).unwrap_or_default())?);
    }
    let (lhs, rhs) = (storage.dtype(), T::DTYPE);
    let memory = storage.downcast_mut::<CpuStorage>();
    let values = memory.and_then(|memory| memory.values_mut()?.get_mut(..numel));
    values.ok_or_else(|| DTypeError::Mismatch { op, lhs, rhs }.into())
}

#[cfg(test)]
mod tests {
    use super::{Few, LANES, TURN, Update, UpdateLoop, update_chunks, update_in_place};

    #[derive(Clone, Copy)]
    struct AddAndCount;

    impl Update<f64, 2, 1> for AddAndCount {
        #[inline(always)]
        #[allow(clippy::inline_always)]
        fn update(self, written: &mut [[f64; LANES]; 2], [read]: &[&[f64; LANES]; 1]) {
            let [sums, counts] = written;
            for i in 0..LANES {
                sums[i] += read[i];
                counts[i] += 1.0;
            }
        }
    }

    impl UpdateLoop<f64> for AddAndCount {
        fn run(&self, written: &mut [&mut [[f64; LANES]]], read: &[&[[f64; LANES]]]) {
            update_chunks(written, read, *self);
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
            let read: Vec<f64> = (0..len).map(|i| i as f64).collect();
            let (mut sums, mut counts) = (read.clone(), vec![0.0; len]);
            update_in_place(
                Few::from_vec(vec![&mut sums[..], &mut counts]),
                &[&read],
                1,
                &AddAndCount,
            )
            .unwrap();
            assert!(sums.iter().zip(&read).all(|(sum, v)| *sum == 2.0 * v));
            assert!(counts.iter().all(|&count| count == 1.0), "{len}");
        }
    }
}
