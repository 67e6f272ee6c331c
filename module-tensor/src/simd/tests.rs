//! Tests of transposing in registers.

use super::{Level, Transpose};

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
