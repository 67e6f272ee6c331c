//! Selected slices, compared with a loop over all positions.

use crate::{Tensor, set_num_threads};

#[test]
fn slices_are_selected_by_any_number_of_threads() {
    let mut cases = vec![
        ([1, 7, 1], 12),
        ([3, 5, 1], 4),
        ([1, 5, 3], 9),
        ([2, 4, 5], 7),
        ([2, 4, 5], 0),
        ([0, 4, 5], 3),
    ];
    if !cfg!(miri) {
        cases.extend([
            ([300, 200, 1], 500),
            ([20_000, 7, 1], 5),
            ([1, 900, 1], 200_001),
            ([7, 300, 33], 400),
        ]);
    }
    for ([outer, size, inner], count) in cases {
        let values: Vec<i64> = (0..(outer * size * inner) as i64).map(|i| i * 7).collect();
        let list: Vec<i64> = (0..count)
            .map(|i| (i * i % 97 * 13 % size) as i64)
            .collect();
        let mut want = Vec::new();
        for i in 0..outer {
            for &index in &list {
                let start = (i * size + index as usize) * inner;
                want.extend_from_slice(&values[start..start + inner]);
            }
        }
        let x = Tensor::from_vec(values, [outer, size, inner]).unwrap();
        let index = Tensor::from_vec(list, [count]).unwrap();
        let turned = x.transpose(0, 2).unwrap().contiguous().unwrap();
        for threads in [1, 2, 5] {
            set_num_threads(threads);
            for x in [&x, &turned.transpose(0, 2).unwrap()] {
                let got = x.index_select(1, &index).unwrap();
                assert_eq!(got.shape().to_vec(), [outer, count, inner]);
                assert!(
                    got.to_vec::<i64>().unwrap() == want,
                    "{outer} {size} {inner} {count}"
                );
            }
        }
    }
}

#[test]
fn rows_are_joined_in_blocks_of_any_height() {
    for (rows, widths) in [
        (3, vec![1, 1]),
        (5000, vec![1, 1, 1]),
        (1500, vec![1, 0, 3, 2]),
        (7, vec![4000, 1, 5000]),
        (2, vec![1; 70]),
    ] {
        let number =
            |part: usize, row: usize, at: usize| (part * 1_000_003 + row * 5003 + at) as i64;
        let mut parts = Vec::new();
        for (part, &width) in widths.iter().enumerate() {
            let values = (0..rows * width).map(|i| number(part, i / width, i % width));
            parts.push(Tensor::from_vec(values.collect(), [rows, width]).unwrap());
        }
        let row_of = |row: usize| {
            let parts = widths.iter().enumerate();
            parts.flat_map(move |(part, &width)| (0..width).map(move |at| number(part, row, at)))
        };
        let want: Vec<i64> = (0..rows).flat_map(row_of).collect();
        for threads in [1, 2, 5] {
            set_num_threads(threads);
            let joined = Tensor::cat(&parts, 1).unwrap();
            assert!(joined.to_vec::<i64>().unwrap() == want, "{rows} {widths:?}");
        }
    }
}

#[test]
fn the_first_index_out_of_range_is_the_error() {
    let x = Tensor::from_vec(vec![1.0_f32; 12], [2, 3, 2]).unwrap();
    for [wrong, other] in [[3, -1], [-1, 3], [i64::MIN, 4], [i64::MAX, -2]] {
        for len in [3, 100] {
            let mut list = vec![1; len];
            (list[1], list[len - 1]) = (wrong, other);
            let index = Tensor::from_vec(list, [len]).unwrap();
            let source = Tensor::from_vec(vec![2.0_f32; 4 * len], [2, len, 2]).unwrap();
            for result in [x.index_select(1, &index), x.index_add(1, &index, &source)] {
                let error = result.unwrap_err().to_string();
                let expected = format!("index {wrong} is out of range for size 3");
                assert!(error.ends_with(&expected), "{wrong}: {error}");
            }
            assert_eq!(x.to_vec::<f32>().unwrap(), [1.0; 12]);
        }
    }
}

#[test]
fn views_are_joined_as_their_copies_are() {
    let x = Tensor::from_vec((0..600_i64).collect(), [20, 30]).unwrap();
    let flat = x.reshape([600]).unwrap();
    let views = [
        x.narrow(1, 3..10),
        x.narrow(1, 29..30),
        x.narrow(0, 2..3).and_then(|row| row.expand([20, 30])),
        // Windows that overlap, and some between which elements are left out.
        flat.unfold(0, 7, 3).and_then(|x| x.narrow(0, 4..24)),
        flat.unfold(0, 7, 11).and_then(|x| x.narrow(0, 4..24)),
        x.t().and_then(|x| x.narrow(0, 1..21)),
        x.narrow(1, 4..4),
    ]
    .map(Result::unwrap);
    let copies: Vec<Tensor> = views.iter().map(|x| x.contiguous().unwrap()).collect();
    let check = |views: &[Tensor], copies: &[Tensor], dim| {
        let joined = |parts| Tensor::cat(parts, dim).unwrap().to_vec::<i64>().unwrap();
        assert_eq!(joined(views), joined(copies), "{dim}");
    };
    check(&views, &copies, 1);
    for (view, copy) in views.iter().zip(&copies) {
        for dim in [0, 1] {
            check(
                &[view.clone(), copy.clone()],
                &[copy.clone(), copy.clone()],
                dim,
            );
        }
    }
}
