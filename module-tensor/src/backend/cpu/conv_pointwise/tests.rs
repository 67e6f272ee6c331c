//! Products of several samples have the bits of products of each, except gradients of the weight, whose accuracy other tests
//! check.

use super::super::ConvOp::{Forward, Input};
use super::super::conv_direct::tests::{numbers, sizes, window};
use crate::set_num_threads;

#[test]
fn joined_samples_have_the_bits_of_each() {
    for (batch, channels, o, size) in [
        (8, 24, 40, [1, 2, 2]),
        (37, 16, 17, [1, 3, 5]),
        (5, 300, 33, [1, 7, 7]),
        (11, 20, 9, [1, 14, 14]),
        (3, 5, 70, [2, 3, 5]),
    ] {
        let sizes = sizes([batch, 1, channels, o], window(size, [1; 3]));
        let samples = sizes.joined_pointwise().unwrap();
        let weight = numbers(o * channels, 2);
        for (op, from, to) in [(Forward, channels, o), (Input, o, channels)] {
            let positions = sizes.window.positions();
            let a = numbers(batch * from * positions, 1);
            let mut each = vec![f32::NAN; batch * to * positions];
            let outputs = each.chunks_exact_mut(to * positions);
            for (a, out) in a.chunks_exact(from * positions).zip(outputs) {
                sizes.pointwise(op, a, &weight, out);
            }
            for threads in [1, 2, 5] {
                set_num_threads(threads);
                let mut joined = vec![f32::NAN; each.len()];
                sizes
                    .run_joined_pointwise(op, samples, [&a, &weight], &mut joined)
                    .unwrap();
                let bits = |x: &[f32]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&joined), bits(&each), "{op:?} {size:?}");
            }
        }
    }
}

#[test]
fn samples_that_fill_their_tiles_are_not_joined() {
    let samples = |batch: usize, size: usize| {
        sizes([batch, 1, 16, 16], window([1, size, size], [1; 3])).joined_pointwise()
    };
    assert_eq!(samples(1, 7), None);
    assert_eq!(samples(8, 8), None);
    assert_eq!(samples(8, 17), None);
    assert_eq!(samples(8, 7), Some(8));
    // In two products of three, two or four of two.
    assert_eq!([samples(6, 14), samples(8, 14)], [Some(3), Some(2)]);
    assert_eq!(samples(100, 2), Some(100));
    assert_eq!(samples(200, 2), Some(100));
}
