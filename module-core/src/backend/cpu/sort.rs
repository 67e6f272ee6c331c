//! Sorting.

use half::{bf16, f16};

use super::memory::with_room;
use super::view::to_cow;
use super::{CpuStorage, Element, Operand, Storage, room};
use crate::Result;

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

/// The places of the first `count` elements of each row in stable order.
///
/// A rank and a place side by side are one integer, so that whatever sorts integers fastest sorts
/// rows, and stably.
pub(super) fn argsort<T: Ranked>(
    x: &Operand,
    count: usize,
    descending: bool,
    sorted: bool,
) -> Result<Storage> {
    let Some(&width) = x.layout.shape().last() else {
        return Ok(CpuStorage::wrap(vec![0_i64]));
    };
    let values = to_cow::<T>(x)?;
    let rows = if values.is_empty() || count == 0 {
        0
    } else {
        values.len() / width
    };
    room::<i64>(rows * count)?;
    let mut out = with_room(rows * count)?;
    let flip = if descending { u64::MAX } else { 0 };
    if rows == 0 {
        return Ok(CpuStorage::wrap(out));
    }
    let low = u64::from(u32::MAX);
    if T::BITS == 32 && width as u64 <= low {
        room::<u64>(width)?;
        let mut keys = Vec::with_capacity(width);
        for row in values.chunks_exact(width) {
            keys.clear();
            let ranked = (0_u64..).zip(row);
            keys.extend(ranked.map(|(i, v)| (v.rank() ^ flip) << 32 | i));
            order(&mut keys, count, sorted);
            out.extend(keys.iter().map(|key| (key & low) as i64));
        }
    } else {
        room::<u128>(width)?;
        let mut keys = Vec::with_capacity(width);
        for row in values.chunks_exact(width) {
            keys.clear();
            let ranked = (0_u128..).zip(row);
            keys.extend(ranked.map(|(i, v)| u128::from(v.rank() ^ flip) << 64 | i));
            order(&mut keys, count, sorted);
            out.extend(keys.iter().map(|&key| key as i64));
        }
    }
    Ok(CpuStorage::wrap(out))
}

/// Leaves the smallest `count` keys.
fn order<K: Ord>(keys: &mut Vec<K>, count: usize, sorted: bool) {
    if count < keys.len() {
        keys.select_nth_unstable(count);
        keys.truncate(count);
    }
    if sorted {
        keys.sort_unstable();
    }
}
