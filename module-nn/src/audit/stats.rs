//! Statistics of the values of a tensor.

use crate::{DType, Tensor};

/// Statistics of the values of a floating-point tensor; other dtypes are not read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stats {
    pub(super) count: usize,
    /// The number of NaN values.
    pub(super) nan: usize,
    /// The number of infinite values.
    pub(super) infinite: usize,
    /// The largest absolute value of the finite ones.
    pub(super) max_abs: f64,
    /// The root mean square of the finite ones.
    pub(super) rms: f64,
}

impl Stats {
    pub(super) fn of(tensor: &Tensor) -> Self {
        let mut stats = Self::default();
        let mut squares = 0.0;
        for_each_block(tensor, &mut |block| squares += stats.add(block));
        let finite = stats.count - stats.nan - stats.infinite;
        stats.rms = (squares / finite.max(1) as f64).sqrt();
        stats
    }

    /// Adds values, and gives the sum of their squares.
    fn add(&mut self, block: &[f32]) -> f64 {
        self.count += block.len();
        // In lanes, which vector instructions can add.
        let (mut sums, mut largest) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        let (whole, rest) = block.as_chunks::<LANES>();
        for values in whole {
            for i in 0..LANES {
                sums[i] += values[i] * values[i];
                // This is one instruction, unlike `max`, which handles NaN; NaN shows in the sums.
                let value = values[i].abs();
                largest[i] = if value > largest[i] {
                    value
                } else {
                    largest[i]
                };
            }
        }
        for ((value, sum), max) in rest.iter().zip(&mut sums).zip(&mut largest) {
            *sum += value * value;
            *max = max.max(value.abs());
        }
        let sum: f32 = sums.iter().sum();
        if sum.is_finite() {
            let max = largest.into_iter().fold(0.0, f32::max);
            self.max_abs = self.max_abs.max(max.into());
            return sum.into();
        }
        let mut squares = 0.0;
        for &value in block {
            match value {
                _ if value.is_nan() => self.nan += 1,
                _ if value.is_infinite() => self.infinite += 1,
                _ => {
                    squares += f64::from(value).powi(2);
                    self.max_abs = self.max_abs.max(value.abs().into());
                }
            }
        }
        squares
    }

    /// Whether every value is finite.
    pub(super) fn is_finite(&self) -> bool {
        self.nan + self.infinite == 0
    }

    /// The root of the sum of squares.
    pub(super) fn norm(&self) -> f64 {
        self.rms * (self.count as f64).sqrt()
    }
}

const BLOCK: usize = 256;

/// The number of sums that are accumulated side by side.
const LANES: usize = 32;

/// The bytes of an `F32` tensor in row-major order, if it is stored that way.
fn f32_bytes(tensor: &Tensor) -> Option<&[u8]> {
    let bytes = tensor.as_le_bytes();
    bytes.filter(|_| tensor.dtype() == DType::F32)
}

/// Shows the values in row-major order as `F32`, in blocks; none for a tensor that has none, or that is not real
/// floating-point.
fn for_each_block(tensor: &Tensor, f: &mut dyn FnMut(&[f32])) {
    let Some(bytes) = f32_bytes(tensor) else {
        values(tensor).unwrap_or_default().chunks(BLOCK).for_each(f);
        return;
    };
    // In place, because most of the time goes into reading weights and gradients.
    let mut block = [0.0; BLOCK];
    for bytes in bytes.chunks(4 * BLOCK) {
        f(read_block(bytes, &mut block));
    }
}

/// The numbers in some bytes, at most a block of them.
fn read_block<'b>(bytes: &[u8], block: &'b mut [f32; BLOCK]) -> &'b [f32] {
    let values = bytes.as_chunks::<4>().0;
    for (value, &bytes) in block.iter_mut().zip(values) {
        *value = f32::from_le_bytes(bytes);
    }
    &block[..values.len()]
}

/// The values in row-major order as `F32`; `None` for a tensor that has none, or that is not real floating-point.
pub(super) fn values(tensor: &Tensor) -> Option<Vec<f32>> {
    let is_real = tensor.dtype().is_floating_point() && tensor.has_values() && !tensor.is_packed();
    match tensor.dtype() {
        DType::F32 if is_real => tensor.to_vec::<f32>().ok(),
        _ if is_real => {
            crate::no_grad(|| tensor.detach().to_dtype(DType::F32)?.to_vec::<f32>()).ok()
        }
        _ => None,
    }
}

/// Whether all rows of a tensor hold the same values and there are any.
pub(super) fn equal_rows(tensor: &Tensor) -> bool {
    let Ok(rows) = tensor.size(0) else {
        return false;
    };
    let size = tensor.numel() / rows.max(1);
    // In place, because the first two rows decide for most weights.
    if let Some(bytes) = f32_bytes(tensor) {
        let values = bytes.as_chunks::<4>().0;
        let value = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes);
        let mut rows = values.chunks(size.max(1));
        return rows.next().is_some_and(|first| {
            rows.all(|row| row.iter().map(value).eq(first.iter().map(value)))
        });
    }
    values(tensor)
        .is_some_and(|values| size > 0 && values.chunks(size).all(|row| row == &values[..size]))
}

/// Whether all values of a tensor are zero.
pub(super) fn is_zero(tensor: &Tensor) -> bool {
    match f32_bytes(tensor) {
        // Stops at the first nonzero value.
        Some(bytes) => {
            let mut values = bytes.as_chunks::<4>().0.iter();
            values.all(|&bytes| f32::from_le_bytes(bytes) == 0.0)
        }
        None => Stats::of(tensor).max_abs == 0.0,
    }
}

/// Whether two tensors hold the same values.
pub(super) fn same_values(a: &Tensor, b: &Tensor) -> bool {
    if a.shares_memory_with(b) {
        return true;
    }
    match (a.as_le_bytes(), b.as_le_bytes()) {
        (Some(a), Some(b)) => a == b,
        _ => values(a) == values(b),
    }
}

/// The root of the sum of squares of the change of a tensor; `None` if it has no values, or different ones.
pub(super) fn change(before: &Tensor, after: &Tensor) -> Option<f64> {
    if before.shares_memory_with(after) {
        return Some(0.0);
    }
    let mut squares = 0.0;
    match (f32_bytes(before), f32_bytes(after)) {
        (Some(before), Some(after)) => {
            let mut blocks = [[0.0; BLOCK]; 2];
            let [of_before, of_after] = &mut blocks;
            for (before, after) in before.chunks(4 * BLOCK).zip(after.chunks(4 * BLOCK)) {
                let before = read_block(before, of_before);
                squares += sum_of_squared_differences(before, read_block(after, of_after));
            }
        }
        _ => {
            let (before, after) = (values(before)?, values(after)?);
            let blocks = before.chunks(BLOCK).zip(after.chunks(BLOCK));
            squares += blocks
                .map(|(a, b)| sum_of_squared_differences(a, b))
                .sum::<f64>();
        }
    }
    Some(squares.sqrt())
}

fn sum_of_squared_differences(before: &[f32], after: &[f32]) -> f64 {
    let mut sums = [0.0_f32; LANES];
    let ((before, before_rest), (after, after_rest)) =
        (before.as_chunks::<LANES>(), after.as_chunks::<LANES>());
    for (before, after) in before.iter().zip(after) {
        for i in 0..LANES {
            sums[i] += (after[i] - before[i]) * (after[i] - before[i]);
        }
    }
    for ((before, after), sum) in before_rest.iter().zip(after_rest).zip(&mut sums) {
        *sum += (after - before) * (after - before);
    }
    f64::from(sums.iter().sum::<f32>())
}
