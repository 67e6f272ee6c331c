//! Copies of elements that do not lie in row-major order.

use super::aligned_vec::AlignedVec;
use super::memory::scratch;
use super::strided_lines::StridedLines;
use super::threads::{Items, parallel_for};
use super::transpose::columns_of_lines;
use super::{Element, Operand, elements};
use crate::Result;
use crate::layout::{Layout, MergedDim, merge_dims};

/// Elements below which dimensions are not worth transposing by blocks.
const FEW: usize = 8;

/// The elements of an operand in row-major order, wherever they lie.
pub(super) fn copy<T: Element>(x: &Operand) -> Result<AlignedVec<T>> {
    let mut out = scratch(x.layout.shape().numel())?;
    copy_to(x, &mut out)?;
    Ok(out)
}

/// Writes the elements of an operand in row-major order to `out`, which has room for exactly these.
pub(super) fn copy_to<T: Element>(x: &Operand, out: &mut [T]) -> Result<()> {
    let numel = out.len();
    let data = elements::<T>(x)?;
    let data = data.get(x.layout.offset()..).unwrap_or_default();
    let dims = merge_dims(&x.layout);
    let [first, inner @ ..] = &*dims else {
        out.copy_from_slice(data.get(..numel).unwrap_or_default());
        return Ok(());
    };
    if numel == 0 {
        return Ok(());
    }
    let item = numel / first.size;
    parallel_for(first.size, item, Items(out, item), &|range, out| {
        let mut dims = vec![MergedDim {
            size: range.len(),
            stride: first.stride,
        }];
        dims.extend_from_slice(inner);
        let data = data.get(range.start * first.stride..).unwrap_or_default();
        copy_dims(data, &dims, out.0);
        Ok(())
    })?;
    Ok(())
}

/// Whether reading in row-major order jumps, while another dimension's elements lie side by side.
pub(super) fn is_transposed(layout: &Layout) -> bool {
    transposed_dim(&merge_dims(layout)).is_some()
}

/// The dimension whose elements lie side by side, if the last one's do not.
fn transposed_dim(dims: &[MergedDim]) -> Option<usize> {
    let (last, outer) = dims.split_last()?;
    if last.stride < 2 || last.size < FEW {
        return None;
    }
    outer
        .iter()
        .position(|dim| dim.stride == 1 && dim.size >= FEW)
}

/// Copies the elements of some dimensions to `out`, which has as many.
fn copy_dims<T: Element>(data: &[T], dims: &[MergedDim], out: &mut [T]) {
    match *dims {
        [] => out.copy_from_slice(&data[..1]),
        [dim] => StridedLines::one(data, dim.stride, out.len()).copy_to(out),
        [ref outer @ .., last] => match transposed_dim(dims) {
            // The dimensions between the two are walked outside of the blocks.
            Some(d) => {
                let between = &dims[d + 1..dims.len() - 1];
                let row = out.len() / dims[..=d].iter().map(|dim| dim.size).product::<usize>();
                each_offset(&dims[..d], &mut |i, offset| {
                    let out = &mut out[i * row * dims[d].size..][..row * dims[d].size];
                    each_offset(between, &mut |j, inner| {
                        let data = &data[offset + inner..];
                        let sizes = [dims[d].size, last.size];
                        transpose(data, last.stride, sizes, &mut out[j * last.size..], row);
                    });
                });
            }
            None => {
                let [ref outer @ .., lines] = *outer else {
                    return;
                };
                let numel = lines.size * last.size;
                each_offset(outer, &mut |i, offset| {
                    let lines = StridedLines {
                        data: &data[offset..],
                        stride: lines.stride,
                        step: last.stride,
                        length: last.size,
                    };
                    lines.copy_to(&mut out[i * numel..][..numel]);
                });
            }
        },
    }
}

/// Calls `f` with the number and the offset of each index of some dimensions, in row-major order.
pub(super) fn each_offset(dims: &[MergedDim], f: &mut dyn FnMut(usize, usize)) {
    let count = dims.iter().map(|dim| dim.size).product();
    let (mut position, mut offset) = (vec![0; dims.len()], 0);
    for i in 0..count {
        f(i, offset);
        for (at, dim) in position.iter_mut().zip(dims).rev() {
            *at += 1;
            offset += dim.stride;
            if *at < dim.size {
                break;
            }
            offset -= *at * dim.stride;
            *at = 0;
        }
    }
}

/// Writes `rows` by `columns` elements, whose columns lie `stride` apart and whose rows side by side, to rows of
/// `out` that start `row` elements apart.
fn transpose<T: Element>(
    data: &[T],
    stride: usize,
    [rows, columns]: [usize; 2],
    out: &mut [T],
    row: usize,
) {
    let lines = (0..columns).map(|column| &data[column * stride..][..rows]);
    columns_of_lines(lines, out, row);
}

#[cfg(test)]
mod tests {
    use super::{copy, is_transposed};
    use crate::backend::Operand;
    use crate::backend::cpu::CpuStorage;
    use crate::layout::{Layout, Shape};
    use crate::set_num_threads;

    /// Permutes a tensor of the sizes, and compares the copy with the elements by index.
    fn check(sizes: &[usize], order: &[usize], offset: usize) {
        let source = Layout::contiguous(Shape::from(sizes));
        let numel: usize = sizes.iter().product();
        let data: Vec<i32> = (0..(numel + offset) as i32).collect();
        let shape: Vec<usize> = order.iter().map(|&d| sizes[d]).collect();
        let strides: Vec<usize> = order.iter().map(|&d| source.strides()[d]).collect();
        let layout = Layout::within(Shape::from(&shape[..]), &strides, offset, data.len()).unwrap();
        let mut expected = Vec::with_capacity(numel);
        for i in 0..numel {
            let (mut rest, mut at) = (i, offset);
            for (&size, &stride) in shape.iter().zip(&strides).rev() {
                at += rest % size * stride;
                rest /= size;
            }
            expected.push(data[at]);
        }
        let x = Operand {
            storage: CpuStorage::wrap(data),
            layout,
        };
        assert_eq!(*copy::<i32>(&x).unwrap(), expected, "{sizes:?} {order:?}");
    }

    #[test]
    fn a_permuted_tensor_is_copied_element_by_element() {
        for threads in [1, 3] {
            set_num_threads(threads);
            for sizes in [[1, 1], [8, 8], [16, 17], [33, 15], [300, 260], [7, 40]] {
                check(&sizes, &[1, 0], 3);
            }
            for order in [[0, 2, 1], [2, 1, 0], [1, 0, 2], [2, 0, 1], [1, 2, 0]] {
                check(&[20, 19, 18], &order, 0);
                check(&[3, 64, 65], &order, 1);
            }
            check(&[3, 9, 5, 17], &[0, 3, 1, 2], 0);
            check(&[3, 9, 5, 17], &[3, 0, 2, 1], 0);
            check(&[2, 3, 0, 4], &[3, 2, 1, 0], 0);
            // Few channels that become neighbors, or are neighbors.
            for (channels, pixels) in (1..6).flat_map(|c| [1, 15, 16, 17, 50, 300].map(|p| (c, p)))
            {
                check(&[2, channels, pixels], &[0, 2, 1], 1);
                check(&[2, pixels, channels], &[0, 2, 1], 0);
                check(&[channels, pixels, 2], &[1, 2, 0], 2);
            }
        }
    }

    #[test]
    fn only_elements_that_are_adjacent_in_the_other_order_are_transposed() {
        let layout = |strides: [usize; 2]| {
            Layout::within(Shape::from([32, 32]), &strides, 0, 1 << 16).unwrap()
        };
        assert!(is_transposed(&layout([1, 32])));
        assert!(!is_transposed(&layout([32, 1])));
        assert!(!is_transposed(&layout([2, 64])));
        assert!(!is_transposed(&layout([1, 0])));
    }
}
