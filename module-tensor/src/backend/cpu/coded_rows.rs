//! Products of few rows with a matrix of codes of 4 bits, computed from the codes.

use super::aligned_vec::Workspace;
use super::memory::scratch;
use super::simd::{CODED_BYTES, CodedBlocks, CodedInputs, Level};
use super::threads::{Items, parallel_for};
use super::{CodeOrder, CodedRows};
use crate::Result;

/// Adds to `out` the products of rows of `a` with each row of a matrix, whose rows have `len` elements.
pub(super) fn add_dots(
    a: &[f32],
    matrix: CodedRows<'_>,
    len: usize,
    out: &mut [f32],
) -> Result<()> {
    let rows = a.len() / len;
    let lines = out.len() / rows.max(1);
    let mut memory = Workspace::new();
    let inputs = memory.of(a.len());
    let parts = a.chunks_exact(matrix.block_size);
    for (part, inputs) in parts.zip(inputs.chunks_exact_mut(matrix.block_size)) {
        arrange(part, matrix.order, inputs);
    }
    let inputs: &[CodedInputs] = bytemuck::cast_slice(inputs);
    let [bytes, blocks] = [len / 2, len / matrix.block_size];
    // Line by line, so that each thread writes to a part of its own.
    let mut dots = scratch::<f32>(rows * lines)?;
    let items = Items(&mut dots, rows);
    parallel_for(lines, len * rows / 16, items, &|range, mut dots| {
        for (i, line) in range.enumerate() {
            let of_line = CodedBlocks {
                codes: matrix
                    .codes
                    .get(line * bytes..(line + 1) * bytes)
                    .unwrap_or_default(),
                block: matrix.block_size / 2,
                scales: matrix.scales.get(line * blocks..).unwrap_or_default(),
                tables: matrix.tables.skip_blocks(line * blocks),
            };
            let inputs = inputs.chunks_exact(bytes / CODED_BYTES);
            for (dot, inputs) in dots.at(i).iter_mut().zip(inputs) {
                *dot = of_line.dot(Level::highest(), inputs);
            }
        }
        Ok(())
    })?;
    for (i, dots) in dots.chunks_exact(rows.max(1)).enumerate() {
        for (row, dot) in dots.iter().enumerate() {
            out[row * lines + i] += dot;
        }
    }
    Ok(())
}

/// Writes the elements of a block in the order in which codes are looked up.
fn arrange(block: &[f32], order: CodeOrder, out: &mut [f32]) {
    let half = block.len() / 2;
    let bytes = (0..half).step_by(CODED_BYTES);
    for (first, out) in bytes.zip(out.chunks_exact_mut(2 * CODED_BYTES)) {
        let (lower, upper) = out.split_at_mut(CODED_BYTES);
        for (i, (lower, upper)) in lower.iter_mut().zip(upper).enumerate() {
            let byte = first + i;
            (*upper, *lower) = match order {
                CodeOrder::UpperFirst => (block[2 * byte], block[2 * byte + 1]),
                CodeOrder::LowerHalfFirst => (block[half + byte], block[byte]),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::backend::{
        Int4Parts, Int4Storage, Int8Parts, Int8Storage, Nf4Parts, Nf4Storage, Storage,
    };
    use crate::{DType, Layout, Tensor, set_num_threads};

    /// Rows of a packed matrix, also some of them, and blocks that go from one row to the next.
    #[test]
    fn products_are_those_of_the_unpacked_rows() {
        let (rows, threads) = (7, [1, 3]);
        for (len, block) in [
            (256, 32),
            (256, 64),
            (512, 256),
            (256, 512),
            (192, 128),
            (96, 96),
        ] {
            let value = |i: usize| ((i * 7919) % 1013) as f32 / 512.0 - 0.7;
            let values: Vec<f32> = (0..rows * len).map(value).collect();
            let int4 = Int4Parts::quantize(&values, block, DType::F32).unwrap();
            let nf4 = Nf4Parts::quantize(&values, block, true, DType::F32).unwrap();
            let mut all = vec![Storage::new(Nf4Storage::new(nf4).unwrap())];
            if (rows * len).is_multiple_of(block) {
                let int8 = Int8Parts::quantize(&values, block, false, DType::F32).unwrap();
                all.push(Storage::new(Int8Storage::new(int8).unwrap()));
                all.push(Storage::new(Int4Storage::new(int4).unwrap()));
            }
            for storage in all {
                let matrix = Tensor::from_storage(storage, Layout::contiguous([rows, len].into()));
                for (first, count) in [(0, rows), (2, 3)] {
                    let part = matrix.narrow(0, first..first + count).unwrap();
                    for a_rows in [1, 4] {
                        let inputs: Vec<f32> =
                            (0..a_rows * len).map(|i| value(3 * i + 1)).collect();
                        let a = Tensor::from_vec(inputs, [a_rows, len]).unwrap();
                        let plain = part.unpack().unwrap().t().unwrap();
                        let plain = a.matmul(&plain).unwrap().to_vec::<f32>().unwrap();
                        for threads in threads {
                            set_num_threads(threads);
                            let product = a.matmul(&part.t().unwrap()).unwrap();
                            for (got, want) in product.to_vec::<f32>().unwrap().iter().zip(&plain) {
                                let error = (got - want).abs();
                                assert!(
                                    error < 1e-6 * len as f32,
                                    "{len} {block}: {got} is not {want}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_zero_point_that_is_not_a_code_is_refused() {
        let mut parts = Int4Parts::quantize(&[0.5; 32], 32, DType::F32).unwrap();
        parts.zero_points[0] = 16;
        let error = Int4Storage::new(parts).err().unwrap().to_string();
        assert!(
            error.contains("zero_point") && error.contains("16"),
            "{error}"
        );
    }
}
