//! Tests of transposing in registers, and of high tiles.

use super::{HIGH_TILE_ROWS, HighTile, Level, PACKED_STEPS, Strip, TileRows, Transpose};

fn check<T: Transpose + PartialEq + std::fmt::Debug>(number: impl Fn(usize) -> T) {
    for level in Level::all() {
        for (lines, len, stride) in [
            (0, 3, 4),
            (1, 1, 1),
            (3, 9, 3),
            (8, 8, 8),
            (32, 33, 32),
            (13, 27, 20),
        ] {
            let values: Vec<T> = (0..lines * len).map(&number).collect();
            let from: Vec<&[T]> = values.chunks_exact(len).collect();
            let mut out = vec![number(usize::MAX); len * stride];
            T::transpose(level, &from, &mut out, stride);
            for (at, &v) in out.iter().enumerate() {
                let (p, i) = (at / stride, at % stride);
                let want = if i < lines {
                    from[i][p]
                } else {
                    number(usize::MAX)
                };
                assert_eq!(v, want, "{level:?} {lines}x{len} by {stride}: [{p}, {i}]");
            }
        }
    }
}

#[test]
fn lines_become_columns_and_nothing_beside_them_is_written() {
    check(|i| i as f32);
    check(|i| i as f64);
    check(|i| i as i64);
}

/// High tiles of so many columns, whose products are integers and so have one value.
fn check_tiles<T, const COLUMNS: usize>(number: impl Fn(usize) -> T)
where
    T: HighTile + Copy + Into<f64>,
{
    let level = Level::all()[0];
    let small = |i: usize, factor: usize| number((i * factor) % 13);
    let behind = number(usize::MAX);
    for depth in [0, 1, 3, 4, 5, 64, 67] {
        for [row_step, line_step] in [[depth, COLUMNS], [depth + 7, COLUMNS + 19]] {
            let row = |i: usize| (0..depth).map(move |p| small(i * depth + p, 7));
            let mut apart = vec![behind; HIGH_TILE_ROWS * row_step];
            let blocks = depth.div_ceil(PACKED_STEPS);
            let mut packed = vec![[[behind; PACKED_STEPS]; HIGH_TILE_ROWS]; blocks];
            for i in 0..HIGH_TILE_ROWS {
                for (p, v) in row(i).enumerate() {
                    apart[i * row_step + p] = v;
                    packed[p / PACKED_STEPS][i][p % PACKED_STEPS] = v;
                }
            }
            let data: Vec<T> = (0..depth * line_step).map(|i| small(i, 5)).collect();
            let strip = Strip {
                data: &data,
                step: line_step,
            };
            let both = [
                TileRows::Apart {
                    data: &apart,
                    step: row_step,
                    depth,
                },
                TileRows::Packed {
                    blocks: &packed,
                    depth,
                },
            ];
            for (rows, add) in both
                .into_iter()
                .flat_map(|rows| [(rows, false), (rows, true)])
            {
                let mut sums = [[number(3); COLUMNS]; HIGH_TILE_ROWS];
                let mut out = sums.each_mut().map(Some);
                out[5] = None;
                T::high_tile(level, rows, strip, add, out);
                for (i, sums) in sums.iter().enumerate() {
                    for (j, &sum) in sums.iter().enumerate() {
                        let terms = row(i).enumerate();
                        let products =
                            terms.map(|(p, v)| v.into() * data[p * line_step + j].into());
                        let want = match i {
                            5 => number(3).into(),
                            _ => products.sum::<f64>() + if add { number(3).into() } else { 0.0 },
                        };
                        assert_eq!(sum.into(), want, "{depth} steps, add {add}: [{i}, {j}]");
                    }
                }
            }
        }
    }
}

#[test]
fn high_tiles_are_sums_of_products_wherever_their_rows_lie() {
    let nan_behind = |i: usize| {
        if i == usize::MAX {
            f32::NAN
        } else {
            i as f32 - 6.0
        }
    };
    check_tiles::<f32, 32>(nan_behind);
    check_tiles::<f64, 16>(|i| f64::from(nan_behind(i)));
}
