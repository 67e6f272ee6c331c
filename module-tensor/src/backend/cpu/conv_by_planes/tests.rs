//! Convolutions by planes have the bits of products with copied windows, which other tests compare with `f64`.

use super::super::ConvOp::Forward;
use super::super::conv::ConvSizes;
use super::super::conv_direct::tests::{has_tiles, numbers, sizes, window};
use super::super::conv_planes::Planes;
use crate::set_num_threads;

fn check(sizes: &ConvSizes) {
    // Elsewhere there are no such tiles.
    if !has_tiles() {
        return;
    }
    let window = &sizes.window;
    let blocks = sizes.batch * sizes.groups;
    let input = numbers(blocks * window.input_len(), 1);
    let weight = numbers(sizes.groups * sizes.out_channels * window.rows(), 2);
    let len = blocks * sizes.out_channels * window.positions();
    let bits = |values: Vec<f32>| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let mut copied = vec![f32::NAN; len];
    assert!(
        sizes
            .run_windows(Forward, [&input, &weight], &mut copied)
            .unwrap()
    );
    let copied = bits(copied);
    let planes = Planes::new(window).unwrap();
    for threads in [1, 2, 5] {
        set_num_threads(threads);
        let mut out = vec![f32::NAN; len];
        sizes
            .write_by_planes(&planes, [&input, &weight], &mut out)
            .unwrap();
        assert_eq!(
            bits(out),
            copied,
            "{:?}, kernel {:?}",
            window.input,
            window.kernel
        );
    }
}

#[test]
fn lines_of_every_width_are_summed() {
    for width in (1..=18).chain([47, 48, 49, 95, 97, 193, 600]) {
        check(&sizes([2, 1, 3, 16], window([1, 5, width], [1, 3, 3])));
        check(&sizes([1, 1, 3, 11], window([1, 1, width], [1, 1, 9])));
    }
}

#[test]
fn strides_dilations_and_groups_are_followed() {
    for stride in 1..=4 {
        for dilation in 1..=3 {
            let mut strided = window([1, 20, 33], [1, 3, 4]);
            strided.stride = [1, stride, 1 + stride % 3];
            strided.dilation = [1, dilation, 1 + dilation % 2];
            check(&sizes([3, 2, 2, 9], strided));
        }
    }
    for size in [[4, 6, 10], [5, 5, 9], [3, 14, 14]] {
        check(&sizes([1, 4, 1, 8], window(size, [3, 2, 3])));
        check(&sizes([2, 1, 3, 16], window(size, [2, 3, 5])));
    }
}

#[test]
fn sums_are_cut_as_those_of_products() {
    for channels in [56, 57, 114, 115] {
        check(&sizes([1, 1, channels, 24], window([1, 9, 20], [1, 3, 3])));
    }
}

#[test]
fn lines_of_many_channels_are_gathered() {
    for channels in [8, 80, 88, 400] {
        check(&sizes([1, 1, 2, channels], window([1, 12, 30], [1, 3, 3])));
    }
}
