//! Rows of all short lengths, with what is before and behind them, compared with loops over positions.

use crate::{Result, Tensor, set_num_threads};

/// What an operation gives of `[outer, rows, width]` numbers that are their positions, by the index of each dimension.
fn check(
    sizes: [usize; 3],
    f: impl Fn(&Tensor) -> Result<Tensor>,
    output: [usize; 3],
    index: impl Fn(usize, usize) -> usize,
) {
    let numel = sizes.iter().product::<usize>();
    let x = Tensor::from_vec((0..numel as i64).collect::<Vec<_>>(), sizes).unwrap();
    let mut expected = Vec::new();
    for i in 0..output[0] {
        for j in 0..output[1] {
            for k in 0..output[2] {
                let row = index(0, i) * sizes[1] + index(1, j);
                expected.push((row * sizes[2] + index(2, k)) as i64);
            }
        }
    }
    for threads in [1, 3] {
        set_num_threads(threads);
        let got = f(&x).unwrap();
        assert_eq!(**got.shape(), output);
        assert_eq!(got.to_vec::<i64>().unwrap(), expected, "{sizes:?}");
    }
}

#[test]
fn rows_of_any_length_are_flipped_and_rolled_in_each_dimension() {
    let many = if cfg!(miri) { 3 } else { 1500 };
    for width in [
        1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 20, 31, 33, 63, 64, 65, 70,
    ] {
        for rows in [1, 2, many] {
            let sizes = [2, rows, width];
            for dim in 0..3 {
                let flipped = |d, i| if d == dim { sizes[d] - 1 - i } else { i };
                check(sizes, |x| x.flip(dim as isize), sizes, flipped);
                for shift in [1, 3, width - 1] {
                    let rolled = |d, i| match d == dim {
                        true => (i + sizes[d] * shift - shift) % sizes[d],
                        false => i,
                    };
                    let roll = |x: &Tensor| x.roll(shift as isize, dim as isize);
                    check(sizes, roll, sizes, rolled);
                }
            }
        }
    }
}

#[test]
fn rows_of_any_length_are_reflected_at_their_ends() {
    let many = if cfg!(miri) { 3 } else { 900 };
    for width in [2, 3, 5, 7, 8, 16, 30, 61, 63] {
        let sizes = [2, many, width];
        let before = (width - 1).min(3);
        let reflected = |d, i: usize| match d {
            2 => {
                let at = i.abs_diff(before);
                at.min((2 * (width - 1)).abs_diff(at))
            }
            _ => i,
        };
        let pad = |x: &Tensor| x.pad([before as isize, 1], crate::PadMode::Reflect);
        check(sizes, pad, [2, many, width + before + 1], reflected);
    }
}
