//! Bands of matrices, such as triangles.

use std::ops::{Range, RangeInclusive};

use super::dispatch::dispatch_moved;
use super::map::by_width;
use super::memory::scratch;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Element, Operand, Storage};
use crate::Result;

pub(super) fn keep_band(x: Operand, band: &RangeInclusive<i64>) -> Result<Storage> {
    by_width(
        [x],
        |[x]| dispatch_moved!("keep_band", x.storage.dtype(), T => kept::<T>(&x, band)),
    )
}

fn kept<T: Element>(x: &Operand, band: &RangeInclusive<i64>) -> Result<Storage> {
    let &[.., rows, columns] = &**x.layout.shape() else {
        let needs = "at least two dimensions";
        return Err(x.layout.shape().error("keep_band", needs));
    };
    let values = to_row_major::<T>(x)?;
    let mut out = scratch(values.len())?;
    if out.is_empty() {
        return Ok(CpuStorage::wrap(out));
    }
    parallel_for(
        values.len() / columns,
        columns / 4 + 2,
        Items(&mut out, columns),
        &|range, out| {
            let lines = values[range.start * columns..].chunks_exact(columns);
            let lines = lines.zip(out.0.chunks_exact_mut(columns));
            for (i, (line, out)) in range.zip(lines) {
                let Range { start, end } = columns_of(i % rows, columns, band);
                out[..start].fill(T::default());
                out[start..end].copy_from_slice(&line[start..end]);
                out[end..].fill(T::default());
            }
            Ok(())
        },
    )?;
    Ok(CpuStorage::wrap(out))
}

/// The columns of a row that are in the band. Sizes fit `i64`, like everything in memory.
fn columns_of(row: usize, columns: usize, band: &RangeInclusive<i64>) -> Range<usize> {
    let at = |offset: i64| (row as i64).saturating_add(offset).clamp(0, columns as i64) as usize;
    let start = at(*band.start());
    start..at(band.end().saturating_add(1)).max(start)
}

#[cfg(test)]
mod tests {
    use crate::{Tensor, set_num_threads};

    #[test]
    fn triangles_keep_the_elements_on_their_side_by_any_number_of_threads() {
        let large = if cfg!(miri) { [2, 5, 9] } else { [3, 190, 310] };
        for [batch, rows, columns] in [[1, 1, 1], [2, 4, 3], [2, 3, 5], [1, 0, 3], [1, 3, 0], large]
        {
            let numel = batch * rows * columns;
            // What is outside may be NaN.
            let values: Vec<f32> = (0..numel)
                .map(|i| if i % 7 == 0 { f32::NAN } else { i as f32 })
                .collect();
            let x = Tensor::from_vec(values.clone(), [batch, rows, columns]).unwrap();
            let turned = x.transpose(1, 2).unwrap().contiguous().unwrap();
            for diagonal in [i64::MIN, -200, -2, -1, 0, 1, 2, 100, i64::MAX] {
                let kept = |is_kept: fn(i128, i128) -> bool| -> Vec<u32> {
                    let one = |(i, v): (usize, &f32)| {
                        let (row, column) = (i / columns % rows, i % columns);
                        let kept = is_kept(column as i128 - row as i128, i128::from(diagonal));
                        if kept { v.to_bits() } else { 0 }
                    };
                    values.iter().enumerate().map(one).collect()
                };
                let bits = |x: Tensor| -> Vec<u32> {
                    x.to_vec::<f32>()
                        .unwrap()
                        .into_iter()
                        .map(f32::to_bits)
                        .collect()
                };
                for threads in [1, 2, 5] {
                    set_num_threads(threads);
                    for x in [&x, &turned.transpose(1, 2).unwrap()] {
                        assert_eq!(bits(x.tril(diagonal).unwrap()), kept(|at, d| at <= d));
                        assert_eq!(bits(x.triu(diagonal).unwrap()), kept(|at, d| at >= d));
                    }
                }
            }
        }
    }
}
