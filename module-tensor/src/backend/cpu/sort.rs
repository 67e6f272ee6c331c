//! Sorting.

use half::{bf16, f16};

use super::memory::scratch;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Element, Operand, Storage, check_allocatable};
use crate::Result;
use crate::zip::zip_mut;

/// About the nanoseconds that an element of a row takes.
const SORT_NS: usize = 4;

/// Types whose order is that of unsigned integers: NaN is the greatest, and equal values, such as the
/// two zeros, have equal ranks.
pub(super) trait Ranked: Element {
    /// The number of bits of a rank.
    const BITS: u32;

    fn rank(self) -> u64;
}

macro_rules! ranked {
    ($($type:ty, $bits:literal: |$v:ident| $rank:expr;)*) => {$(
        impl Ranked for $type {
            const BITS: u32 = $bits;

            #[inline]
            fn rank(self) -> u64 {
                let $v = self;
                $rank
            }
        }
    )*};
}

ranked! {
    f32, 32: |v| {
        // Negative numbers have falling bits, and come before the others.
        let bits = (v + 0.0).to_bits();
        let flip = ((bits as i32 >> 31) as u32) | 1 << 31;
        u64::from(if v.is_nan() { u32::MAX } else { bits ^ flip })
    };
    f64, 64: |v| {
        let bits = (v + 0.0).to_bits();
        let flip = ((bits as i64 >> 63) as u64) | 1 << 63;
        if v.is_nan() { u64::MAX } else { bits ^ flip }
    };
    f16, 32: |v| v.to_f32().rank();
    bf16, 32: |v| v.to_f32().rank();
    i64, 64: |v| v as u64 ^ 1 << 63;
    i32, 32: |v| u64::from(v as u32 ^ 1 << 31);
    u8, 32: |v| u64::from(v);
    bool, 32: |v| u64::from(v);
}

/// The indices of the first `count` elements of each row in stable order.
///
/// A rank and an index are packed into one integer, so that a fast unstable sort of integers is a stable
/// sort of the elements.
pub(super) fn argsort<T: Ranked>(x: &Operand, count: usize, descending: bool) -> Result<Storage> {
    let Some(&width) = x.layout.shape().last() else {
        return Ok(CpuStorage::wrap(vec![0_i64]));
    };
    let values = to_row_major::<T>(x)?;
    let rows = if count == 0 {
        0
    } else {
        values.len() / width.max(1)
    };
    let flip = if descending { u64::MAX } else { 0 };
    let values = &*values;
    let row = move |row: usize| &values[row * width..][..width];
    let order = Order { rows, width, count };
    // The closures own what they read, so that no write to the keys can change it.
    if T::BITS == 32 && u32::try_from(width).is_ok() {
        order.sort_keys::<u64>(&move |i, keys| {
            let ranked = (0_u64..).zip(row(i));
            keys.extend(ranked.map(move |(i, v)| (v.rank() ^ flip) << 32 | i));
        })
    } else {
        order.sort_keys::<u128>(&move |i, keys| {
            let ranked = (0_u128..).zip(row(i));
            keys.extend(ranked.map(move |(i, v)| u128::from(v.rank() ^ flip) << 64 | i));
        })
    }
}

/// A rank in the upper half and an index in the lower one.
trait Key: Ord + Copy {
    fn index(self) -> i64;
}

impl Key for u64 {
    fn index(self) -> i64 {
        i64::from(self as u32)
    }
}

impl Key for u128 {
    fn index(self) -> i64 {
        self as i64
    }
}

/// The number of rows and the number of elements that are sorted of each.
struct Order {
    rows: usize,
    width: usize,
    count: usize,
}

impl Order {
    /// Sorts the keys of each row, which `fill` appends, and returns their indices.
    fn sort_keys<K: Key>(&self, fill: &(dyn Fn(usize, &mut Vec<K>) + Sync)) -> Result<Storage> {
        let (rows, count) = (self.rows, self.count);
        let mut out = scratch(rows * count)?;
        if out.is_empty() {
            return Ok(CpuStorage::wrap(out));
        }
        check_allocatable::<K>(self.width)?;
        let row_ns = self.width.saturating_mul(SORT_NS);
        parallel_for(rows, row_ns, Items(&mut out, count), &|range, out| {
            let mut keys = Vec::with_capacity(self.width);
            for (row, out) in range.zip(out.0.chunks_exact_mut(count)) {
                keys.clear();
                fill(row, &mut keys);
                if count < keys.len() {
                    keys.select_nth_unstable(count);
                    keys.truncate(count);
                }
                keys.sort_unstable();
                for (out, key) in zip_mut(out, &keys) {
                    *out = key.index();
                }
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Tensor, set_num_threads};

    #[test]
    fn rows_are_sorted_by_any_number_of_threads() {
        let [rows, width] = if cfg!(miri) { [3, 9] } else { [90, 700] };
        let value = |i: usize| match i % 97 {
            0 => f32::NAN,
            1 => -0.0,
            n => (i * 7919 % 409) as f32 * if n % 2 == 0 { 0.5 } else { -0.25 },
        };
        let values: Vec<f32> = (0..rows * width).map(value).collect();
        let x = Tensor::from_vec(values.clone(), [rows, width]).unwrap();
        for descending in [false, true] {
            let mut want = Vec::new();
            for row in values.chunks_exact(width) {
                let mut order: Vec<usize> = (0..width).collect();
                let number = |i: usize| {
                    if row[i].is_nan() {
                        f32::INFINITY
                    } else {
                        row[i]
                    }
                };
                order.sort_by(|&a, &b| {
                    let ascending = number(a).partial_cmp(&number(b)).unwrap();
                    if descending {
                        ascending.reverse()
                    } else {
                        ascending
                    }
                });
                want.push(order);
            }
            for threads in [1, 2, 5] {
                set_num_threads(threads);
                for count in [1, 10.min(width), width] {
                    let first: Vec<i64> = want
                        .iter()
                        .flat_map(|order| order.iter().take(count).map(|&i| i as i64))
                        .collect();
                    let got = match (descending, count == width) {
                        (true, true) => x.argsort_descending(1),
                        (false, true) => x.argsort(1),
                        (true, false) => x.topk(count, 1).map(|(_, indices)| indices),
                        (false, false) => x.topk_smallest(count, 1).map(|(_, indices)| indices),
                    };
                    assert_eq!(got.unwrap().to_vec::<i64>().unwrap(), first, "{count}");
                }
            }
        }
    }
}
