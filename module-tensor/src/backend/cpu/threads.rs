//! Work divided among threads.
//!
//! The result of an item does not depend on how the work is divided, so that every number of threads
//! gives the same bits.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::lock::lock;
#[cfg(feature = "threads")]
pub(super) use super::thread_pool::run_parts;
use crate::Result;

/// One thread does all the parts.
#[cfg(not(feature = "threads"))]
pub(super) fn run_parts(parts: usize, _threads: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..parts).for_each(work);
}

/// A part of the work that takes fewer nanoseconds is not handed to another thread: waking one takes some
/// microseconds.
const MIN_PARALLEL_NS: usize = 1 << 14;

/// The same for threads that are awake and only meet.
const MIN_AWAKE_NS: usize = 1 << 11;

/// The maximum number of threads; 0 until it is set.
static MAX_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Sets the maximum number of threads of one operation. The default is one thread per processor; 0 counts
/// as 1.
///
/// The number changes how long an operation takes and never its result. Programs that run models
/// on threads of their own do best with 1. Without the feature `threads`, an operation uses the thread
/// that calls it and no other, whatever is set.
///
/// # Example
///
/// ```
/// module_tensor::set_num_threads(1);
/// assert_eq!(module_tensor::num_threads(), 1);
/// ```
pub fn set_num_threads(threads: usize) {
    MAX_THREADS.store(threads.max(1), Ordering::Relaxed);
}

/// The maximum number of threads of one operation.
///
/// # Example
///
/// ```
/// assert!(module_tensor::num_threads() >= 1);
/// ```
#[doc(alias = "get_num_threads")]
pub fn num_threads() -> usize {
    if cfg!(not(feature = "threads")) {
        return 1;
    }
    match MAX_THREADS.load(Ordering::Relaxed) {
        0 => num_processors(),
        most => most,
    }
}

/// The processors that the program may use. The system is asked once: it reads files for the answer.
fn num_processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Output of a parallel loop, which can be split between items.
pub(super) trait SplitAt: Sized + Send {
    /// The first items and the rest.
    fn split_at(self, items: usize) -> (Self, Self);
}

/// A slice with `.1` elements per item; [`at`](Self::at) requires all of them.
pub(super) struct Items<'a, T>(pub(super) &'a mut [T], pub(super) usize);

impl<T> Items<'_, T> {
    /// The elements of an item.
    pub(super) fn at(&mut self, item: usize) -> &mut [T] {
        &mut self.0[item * self.1..][..self.1]
    }
}

impl<T: Send> SplitAt for Items<'_, T> {
    fn split_at(self, items: usize) -> (Self, Self) {
        let at = (items * self.1).min(self.0.len());
        let (first, rest) = self.0.split_at_mut(at);
        (Items(first, self.1), Items(rest, self.1))
    }
}

/// The rows of a result, which are split between rows or in each row.
pub(super) struct SplitRows<'a, T> {
    pub(super) rows: Vec<&'a mut [T]>,
    /// The number of rows, or of elements of each, of one item.
    pub(super) items: usize,
    pub(super) between_rows: bool,
}

impl<T: Send> SplitAt for SplitRows<'_, T> {
    fn split_at(mut self, items: usize) -> (Self, Self) {
        let at = items * self.items;
        let (items, between_rows) = (self.items, self.between_rows);
        let rest = match between_rows {
            true => self.rows.split_off(at.min(self.rows.len())),
            false => {
                let mut rest = Vec::with_capacity(self.rows.len());
                for row in &mut self.rows {
                    let at = at.min(row.len());
                    let (first, others) = std::mem::take(row).split_at_mut(at);
                    *row = first;
                    rest.push(others);
                }
                rest
            }
        };
        let rest = SplitRows {
            rows: rest,
            items,
            between_rows,
        };
        (self, rest)
    }
}

impl<A: SplitAt, B: SplitAt> SplitAt for (A, B) {
    fn split_at(self, items: usize) -> (Self, Self) {
        let ((a, a_rest), (b, b_rest)) = (self.0.split_at(items), self.1.split_at(items));
        ((a, b), (a_rest, b_rest))
    }
}

impl<A: SplitAt> SplitAt for Option<A> {
    fn split_at(self, items: usize) -> (Self, Self) {
        self.map(|a| a.split_at(items)).unzip()
    }
}

/// Does the work for `count` items, each of about `item_ns` nanoseconds, in parts: `work` is given the range of
/// the items and their part of `out`.
///
/// # Errors
///
/// The error of the first part that failed; all parts have ended.
pub(super) fn parallel_for<C: SplitAt>(
    count: usize,
    item_ns: usize,
    out: C,
    work: &(dyn Fn(Range<usize>, C) -> Result<()> + Sync),
) -> Result<()> {
    let Some((parts, threads)) = parts_of(count, item_ns) else {
        return work(0..count, out);
    };
    let start = |part: usize| count * part / parts;
    let mut pieces = Vec::with_capacity(parts);
    let mut rest = out;
    for part in 0..parts {
        let items = start(part)..start(part + 1);
        let (piece, others) = rest.split_at(items.len());
        pieces.push(Mutex::new(Some((items, piece))));
        rest = others;
    }
    all_of(parts, threads, &|part| {
        let piece = lock(&pieces[part]).take();
        piece.map_or(Ok(()), |(items, piece)| work(items, piece))
    })
}

/// Fills `out` in parts: `fill` is given the index of the first element of a part, and the part. Each element takes about
/// `item_ns` nanoseconds.
pub(crate) fn fill_in_parts<T: Send>(
    out: &mut [T],
    item_ns: usize,
    fill: &(dyn Fn(usize, &mut [T]) + Sync),
) -> Result<()> {
    parallel_for(out.len(), item_ns, Items(out, 1), &|range, out| {
        fill(range.start, out.0);
        Ok(())
    })
}

/// The number of threads that share each of many steps of about `step_ns` nanoseconds: between steps the threads stay awake, so
/// that smaller parts are handed to them.
pub(super) fn threads_of_steps(step_ns: usize) -> usize {
    match step_ns / MIN_AWAKE_NS {
        0 | 1 => 1,
        threads => threads.min(num_threads()),
    }
}

/// The number of parts of the work, each of which is worth waking a thread, and the number of threads, if it is more than
/// one part.
fn parts_of(count: usize, item_ns: usize) -> Option<(usize, usize)> {
    // Most operations of small networks end here, and a division takes as long as all of their checks.
    if count.saturating_mul(item_ns) < MIN_PARALLEL_NS {
        return None;
    }
    let least = MIN_PARALLEL_NS.div_ceil(item_ns.max(1));
    if count < 2 * least {
        return None;
    }
    let threads = num_threads();
    (threads > 1).then(|| (balanced(count / least, threads), threads))
}

/// The number of parts, at most `most`. More than threads, so that a thread that is delayed gets fewer of them, but as many for
/// each: of three parts of the same size two threads would wait for one.
fn balanced(most: usize, threads: usize) -> usize {
    match most {
        most if most >= 2 * threads => 2 * threads,
        most => most.min(threads),
    }
}

/// Does all parts, and returns the error of the first that failed.
fn all_of(parts: usize, threads: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    let failure = Mutex::new(None);
    run_parts(parts, threads, &|part| {
        if let Err(error) = work(part) {
            let mut failure = lock(&failure);
            if failure.as_ref().is_none_or(|&(first, _)| part < first) {
                *failure = Some((part, error));
            }
        }
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use super::{Items, MIN_PARALLEL_NS, balanced, parallel_for};
    use crate::Error;

    #[test]
    fn every_item_is_written_once_wherever_the_work_is_cut() {
        for count in [0, 1, 2 * MIN_PARALLEL_NS - 1, 2 * MIN_PARALLEL_NS + 3] {
            let mut pairs = vec![0; 2 * count];
            parallel_for(count, 1, Items(&mut pairs, 2), &|range, mut out| {
                for (i, item) in range.enumerate() {
                    out.at(i)[0] += item;
                    out.at(i)[1] += 1;
                }
                Ok(())
            })
            .unwrap();
            for (item, pair) in pairs.chunks_exact(2).enumerate() {
                assert_eq!(pair, [item, 1]);
            }
        }
    }

    #[test]
    fn all_threads_have_as_many_parts_where_there_are_enough() {
        let parts = |most| balanced(most, 4);
        assert_eq!([2, 3, 4, 5, 7, 8, 9].map(parts), [2, 3, 4, 4, 4, 8, 8]);
    }

    #[test]
    fn the_first_part_that_fails_is_the_error() {
        let items = Items(&mut [0_u8; 0], 0);
        let error = parallel_for(5 * MIN_PARALLEL_NS, 1, items, &|range, _| {
            Err(Error::custom(format!("the part from {}", range.start)))
        });
        assert_eq!(error.unwrap_err().to_string(), "the part from 0");
    }
}
