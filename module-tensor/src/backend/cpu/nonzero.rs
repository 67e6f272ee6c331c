//! Indices of nonzero elements.

use super::memory::scratch;
use super::threads::{SplitAt, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Operand, Storage, check_allocatable};
use crate::Result;

/// The elements of a mask whose indices are listed at a time; a power of two.
const BLOCK: usize = 1024;

/// The indices of the nonzero elements, `[count, rank]`, and their count.
pub(super) fn nonzero(mask: &Operand) -> Result<(Storage, usize)> {
    let chosen = to_row_major::<bool>(mask)?;
    let shape = mask.layout.shape();
    let rank = shape.rank();
    let in_block = |block: &[bool]| block.iter().map(|&chosen| usize::from(chosen)).sum();
    let counts: Vec<usize> = chosen.chunks(BLOCK).map(in_block).collect();
    let count = counts.iter().sum();
    let len = rank.saturating_mul(count);
    check_allocatable::<i64>(len)?;
    let mut indices = scratch(len)?;
    if len == 0 {
        return Ok((CpuStorage::wrap(indices), count));
    }
    let out = Indices {
        out: &mut indices,
        counts: &counts,
        rank,
    };
    parallel_for(counts.len(), 2 * BLOCK, out, &|blocks, out| {
        let mut rest = out.out;
        let mut listed = [0; BLOCK];
        for block in blocks {
            let first = block * BLOCK;
            let chosen = &chosen[first..chosen.len().min(first + BLOCK)];
            let count = list(chosen, first as i64, &mut listed);
            let (out, others) = std::mem::take(&mut rest).split_at_mut(count * rank);
            rest = others;
            match rank {
                1 => out.copy_from_slice(&listed[..count]),
                _ => {
                    for (out, &index) in out.chunks_exact_mut(rank).zip(&listed) {
                        let mut index = index as usize;
                        for (out, &size) in out.iter_mut().zip(&**shape).rev() {
                            *out = (index % size) as i64;
                            index /= size;
                        }
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok((CpuStorage::wrap(indices), count))
}

/// Lists the indices of the true elements, of which the first has index `first`; returns their number.
fn list(chosen: &[bool], first: i64, listed: &mut [i64; BLOCK]) -> usize {
    let mut count = 0;
    for (index, &chosen) in (first..).zip(chosen) {
        // Every index is written, and the next one over it if it was not chosen: a branch would be mispredicted half of the
        // time.
        listed[count % BLOCK] = index;
        count += usize::from(chosen);
    }
    count
}

/// Room for the indices of blocks, each of which has its own count.
struct Indices<'a> {
    out: &'a mut [i64],
    counts: &'a [usize],
    rank: usize,
}

impl SplitAt for Indices<'_> {
    fn split_at(self, items: usize) -> (Self, Self) {
        let rank = self.rank;
        let (first, others) = self.counts.split_at(items.min(self.counts.len()));
        let (out, rest) = self.out.split_at_mut(first.iter().sum::<usize>() * rank);
        let part = |out, counts| Self { out, counts, rank };
        (part(out, first), part(rest, others))
    }
}

#[cfg(test)]
mod tests {
    use super::BLOCK;
    use crate::{Tensor, set_num_threads};

    #[test]
    fn the_indices_of_all_true_elements_are_listed_by_any_number_of_threads() {
        let large = if cfg!(miri) { [3, 5, 7] } else { [20, 90, 70] };
        for [a, b, c] in [
            [1, 1, 1],
            [2, 3, 5],
            [1, 1, BLOCK],
            [1, 5, BLOCK + 1],
            [0, 2, 3],
            large,
        ] {
            for every in [1, 2, 3, 1009] {
                let numel = a * b * c;
                let mask: Vec<bool> = (0..numel)
                    .map(|i| i * i % every == 0 && i % 11 > 0)
                    .collect();
                let found = (0..numel).filter(|&i| mask[i]);
                let flat: Vec<i64> = found.clone().map(|i| i as i64).collect();
                let apart = found.flat_map(|i| [i / c / b, i / c % b, i % c].map(|i| i as i64));
                let apart: Vec<i64> = apart.collect();
                let x = Tensor::from_vec(mask, [a, b, c]).unwrap();
                for threads in [1, 2, 5] {
                    set_num_threads(threads);
                    let got = x.nonzero().unwrap();
                    assert_eq!(got.shape().to_vec(), [flat.len(), 3]);
                    assert_eq!(got.to_vec::<i64>().unwrap(), apart, "{a} {b} {c} {every}");
                    let got = x.reshape([numel]).unwrap().nonzero().unwrap();
                    assert_eq!(got.to_vec::<i64>().unwrap(), flat, "{a} {b} {c} {every}");
                }
            }
        }
        for (value, count) in [(true, 1), (false, 0)] {
            let none = Tensor::from_vec(vec![value], ())
                .unwrap()
                .nonzero()
                .unwrap();
            assert_eq!(none.shape().to_vec(), [count, 0]);
        }
    }
}
