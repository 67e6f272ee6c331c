//! Gathering and scattering, compared with loops over all positions.

use crate::{ScatterReduce, Tensor, set_num_threads};

/// Shapes of a tensor and of an index into it, and the dimension. Some are large enough to be shared among threads.
fn cases() -> Vec<(Vec<usize>, Vec<usize>, usize)> {
    let mut cases = vec![
        (vec![7], vec![11], 0),
        (vec![5, 1], vec![9, 1], 0),
        (vec![4, 6], vec![4, 3], 1),
        (vec![4, 6], vec![2, 9], 1),
        (vec![4, 6], vec![9, 5], 0),
        (vec![3, 4, 5], vec![3, 2, 5], 1),
        (vec![3, 4, 5], vec![2, 7, 3], 1),
        (vec![2, 3, 4, 5], vec![2, 3, 6, 5], 2),
        (vec![2, 3, 4, 5], vec![2, 2, 6, 4], 2),
        (vec![3, 1, 4, 1], vec![3, 5, 4, 1], 1),
        (vec![3, 4], vec![0, 4], 0),
        (vec![0, 4], vec![0, 9], 1),
    ];
    if !cfg!(miri) {
        cases.extend([
            (vec![400, 300], vec![400, 301], 1),
            (vec![400, 300], vec![399, 300], 1),
            (vec![90, 20, 70], vec![90, 30, 70], 1),
            (vec![300, 500], vec![290, 500], 0),
            (vec![300, 500], vec![310, 470], 0),
            (vec![300, 20, 25], vec![310, 20, 25], 0),
            (vec![40_000, 3], vec![40_000, 1], 1),
            (vec![1000], vec![200_001], 0),
        ]);
    }
    cases
}

/// Numbers whose sums depend on their order.
fn numbers(count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| (i * 7919 % 1009) as f32 * 0.37)
        .collect()
}

fn indices(count: usize, size: usize) -> Vec<i64> {
    (0..count)
        .map(|i| (i * i % 101 * 31 % size) as i64)
        .collect()
}

/// For each position of the index, in row-major order, the offset of what it names in a tensor of the shape.
fn positions(shape: &[usize], dim: usize, index_shape: &[usize], indices: &[i64]) -> Vec<usize> {
    let position = |(i, &index): (usize, &i64)| {
        let (mut rest, mut position, mut stride) = (i, 0, 1);
        for d in (0..shape.len()).rev() {
            let at = rest % index_shape[d];
            rest /= index_shape[d];
            position += stride * if d == dim { index as usize } else { at };
            stride *= shape[d];
        }
        position
    };
    indices.iter().enumerate().map(position).collect()
}

#[test]
fn every_element_is_written_at_its_index_by_any_number_of_threads() {
    for (shape, index_shape, dim) in cases() {
        let (numel, count) = (shape.iter().product(), index_shape.iter().product());
        let values = numbers(numel);
        let list = indices(count, shape[dim].max(1));
        let positions = positions(&shape, dim, &index_shape, &list);
        let source: Vec<f32> = numbers(count).into_iter().map(|v| v - 100.0).collect();
        let gathered: Vec<f32> = positions.iter().map(|&at| values[at]).collect();
        let folded = |f: fn(f32, f32) -> f32| {
            let mut out = values.clone();
            for (&at, &v) in positions.iter().zip(&source) {
                out[at] = f(out[at], v);
            }
            out
        };
        let x = Tensor::from_vec(values.clone(), &shape[..]).unwrap();
        let index = Tensor::from_vec(list, &index_shape[..]).unwrap();
        let from = Tensor::from_vec(source.clone(), &index_shape[..]).unwrap();
        // The same elements in another order in memory.
        let order: Vec<isize> = (0..shape.len() as isize).rev().collect();
        let turned = |x: &Tensor| {
            let turned = x.permute(&order[..]).unwrap().contiguous().unwrap();
            turned.permute(&order[..]).unwrap()
        };
        for threads in [1, 2, 5] {
            set_num_threads(threads);
            let case = format!("{shape:?} {index_shape:?} {dim}, {threads} threads");
            let dim = dim as isize;
            for x in [x.clone(), turned(&x)] {
                let got = x.gather(dim, &index).unwrap();
                assert!(got.to_vec::<f32>().unwrap() == gathered, "{case}");
                let got = x.scatter(dim, &index, &from).unwrap();
                assert!(got.to_vec::<f32>().unwrap() == folded(|_, v| v), "{case}");
                let got = x.scatter_add(dim, &index, &turned(&from)).unwrap();
                assert!(
                    got.to_vec::<f32>().unwrap() == folded(|a, v| a + v),
                    "{case}"
                );
                let got = x.scatter_reduce(dim, &index, &from, ScatterReduce::Amax);
                let got = got.unwrap().to_vec::<f32>().unwrap();
                assert!(got == folded(f32::max), "{case}");
            }
            assert!(x.to_vec::<f32>().unwrap() == values);
        }
    }
}

#[test]
fn the_first_index_out_of_range_is_the_error_and_nothing_is_changed() {
    let [rows, width] = if cfg!(miri) { [4, 5] } else { [300, 400] };
    let values = numbers(rows * width);
    let x = Tensor::from_vec(values.clone(), [rows, width]).unwrap();
    for threads in [1, 2, 5] {
        set_num_threads(threads);
        for (dim, size) in [(0, rows as i64), (1, width as i64)] {
            for wrong in [[size, -1], [-7, size + 3], [i64::MIN, i64::MAX]] {
                let mut list = indices(rows * width, size as usize);
                list[rows * width / 3] = wrong[0];
                list[rows * width - 1] = wrong[1];
                let index = Tensor::from_vec(list, [rows, width]).unwrap();
                let expected = format!("index {} is out of range for size {size}", wrong[0]);
                for result in [
                    x.gather(dim, &index),
                    x.scatter(dim, &index, &x),
                    x.scatter(dim, &index, 1.0),
                    x.scatter_add(dim, &index, &x),
                    x.scatter_reduce(dim, &index, &x, ScatterReduce::Amin),
                ] {
                    let error = result.unwrap_err().to_string();
                    assert!(error.ends_with(&expected), "{expected}: {error}");
                }
                assert!(x.to_vec::<f32>().unwrap() == values);
            }
        }
    }
    let nothing = Tensor::from_vec(Vec::<f32>::new(), [3, 0, 2]).unwrap();
    let index = Tensor::from_vec(vec![4_i64; 6], [3, 1, 2]).unwrap();
    let ones = Tensor::from_vec(vec![1.0_f32; 6], [3, 1, 2]).unwrap();
    for result in [
        nothing.gather(1, &index),
        nothing.scatter_add(1, &index, &ones),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(
            error.ends_with("index 4 is out of range for size 0"),
            "{error}"
        );
    }
}
