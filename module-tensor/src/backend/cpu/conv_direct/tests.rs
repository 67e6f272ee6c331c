//! Direct convolutions beside sums of products in `f64`, one after the other.

use super::super::ConvOp::{self, Forward, Input, Weight};
use super::super::conv::ConvSizes;
use super::super::simd::{Level, WindowTile};
use super::super::window::Window;

mod tiles;

/// Numbers between -1 and 1 that do not repeat soon.
pub(in super::super) fn numbers(count: usize, seed: usize) -> Vec<f32> {
    let number = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0;
    (0..count).map(number).collect()
}

/// Calls `f` with the indices of output, input and weight of each product.
fn each_product(sizes: &ConvSizes, f: &mut dyn FnMut([usize; 3])) {
    let (window, o) = (&sizes.window, sizes.out_channels);
    let [height, width] = [window.output[1], window.output[2]];
    let [kernel_height, kernel_width] = [window.kernel[1], window.kernel[2]];
    for block in 0..sizes.batch * sizes.groups {
        for channel in 0..o {
            for position in 0..window.positions() {
                for row in 0..window.rows() {
                    let at = [
                        position / width / height,
                        position / width % height,
                        position % width,
                    ];
                    let taps: usize = window.kernel.iter().product();
                    let (c, tap) = (row / taps, row % taps);
                    let seen = [
                        tap / (kernel_height * kernel_width),
                        tap / kernel_width % kernel_height,
                        tap % kernel_width,
                    ];
                    let input: Option<Vec<usize>> = (0..3)
                        .map(|d| {
                            let i = at[d] * window.stride[d] + seen[d] * window.dilation[d];
                            i.checked_sub(window.padding[d])
                                .filter(|&i| i < window.input[d])
                        })
                        .collect();
                    let Some(input) = input else { continue };
                    let line = (c * window.input[0] + input[0]) * window.input[1] + input[1];
                    f([
                        (block * o + channel) * window.positions() + position,
                        block * window.input_len() + line * window.input[2] + input[2],
                        (block % sizes.groups * o + channel) * window.rows() + row,
                    ]);
                }
            }
        }
    }
}

fn check(sizes: &ConvSizes, op: ConvOp) {
    let (window, o) = (&sizes.window, sizes.out_channels);
    // Of the output, the input and the weight.
    let lens = [
        sizes.batch * sizes.groups * o * window.positions(),
        sizes.batch * sizes.groups * window.input_len(),
        sizes.groups * o * window.rows(),
    ];
    let (to, factors) = match op {
        Forward => (0, [1, 2]),
        Input => (1, [0, 2]),
        Weight => (2, [1, 0]),
    };
    let [a, b] = factors.map(|factor| numbers(lens[factor], factor + 1));
    let (mut expected, mut magnitudes) = (vec![0.0_f64; lens[to]], vec![0.0_f64; lens[to]]);
    each_product(sizes, &mut |at| {
        let product = f64::from(a[at[factors[0]]]) * f64::from(b[at[factors[1]]]);
        expected[at[to]] += product;
        magnitudes[at[to]] += product.abs();
    });
    let mut out = vec![f32::NAN; lens[to]];
    if op == Input {
        let is_direct = sizes.run_input_gradient_directly(&a, &b, &mut out).unwrap();
        assert!(is_direct);
    } else {
        let is_direct = sizes.run_directly(op, [&a, &b], &mut out).unwrap();
        assert!(is_direct);
        // Where there are no tiles windows are copied, with the same bits.
        let mut copied = vec![f32::NAN; lens[to]];
        assert!(sizes.run_windows(op, [&a, &b], &mut copied).unwrap());
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&out), bits(&copied));
    }
    for (i, &sum) in out.iter().enumerate() {
        let error = (f64::from(sum) - expected[i]).abs();
        assert!(
            error <= 1e-6 * magnitudes[i],
            "{op:?} of {:?}, kernel {:?}, at {i}: {sum} and not {}",
            window.input,
            window.kernel,
            expected[i]
        );
    }
}

/// Sizes with the output that follows from them.
pub(in super::super) fn sizes(
    [batch, groups, channels, out_channels]: [usize; 4],
    mut window: Window,
) -> ConvSizes {
    window.channels = channels;
    for d in 0..3 {
        let reach = window.dilation[d] * (window.kernel[d] - 1) + 1;
        window.output[d] = (window.input[d] + 2 * window.padding[d] - reach) / window.stride[d] + 1;
    }
    ConvSizes {
        batch,
        groups,
        out_channels,
        window,
    }
}

pub(in super::super) fn window(input: [usize; 3], kernel: [usize; 3]) -> Window {
    Window {
        channels: 1,
        input,
        output: [1; 3],
        kernel,
        stride: [1; 3],
        padding: kernel.map(|size| size / 2),
        dilation: [1; 3],
    }
}

pub(in super::super) fn has_tiles() -> bool {
    f32::has_window_tiles(Level::highest())
}

#[test]
fn lines_of_every_width_are_summed() {
    // Elsewhere there are no such tiles.
    if !has_tiles() {
        return;
    }
    for width in (3..=18).chain([21, 28, 31]) {
        let small = sizes([3, 1, 5, 32], window([1, width.min(9), width], [1, 3, 3]));
        for op in [Forward, Weight] {
            let is_direct = small.direct_cost::<f32>(op).is_some();
            assert!(is_direct || ![7, 14, 16, 28].contains(&width), "{width}");
            if is_direct {
                check(&small, op);
            }
        }
    }
}

/// The last of the parts in which products are summed has five of the last slice of the kernel, which reads padding for
/// some tiles.
#[test]
fn parts_may_have_no_products() {
    if has_tiles() {
        let small = sizes([1, 1, 3, 32], window([5, 8, 7], [7, 7, 7]));
        check(&small, Forward);
        let small = sizes([1, 1, 32, 3], window([5, 8, 7], [7, 7, 7]));
        check(&small, Input);
    }
}

#[test]
fn channels_that_fill_one_register_are_summed() {
    if !has_tiles() {
        return;
    }
    for width in (3..=18).chain([21, 28, 31]) {
        for channels in [16, 48, 80] {
            let small = sizes(
                [3, 1, 5, channels],
                window([1, width.min(9), width], [1, 3, 3]),
            );
            for op in [Forward, Weight] {
                let is_direct = small.direct_cost::<f32>(op).is_some();
                assert!(is_direct || ![7, 14, 16, 28].contains(&width), "{width}");
                if is_direct {
                    check(&small, op);
                }
            }
        }
    }
    check(&sizes([2, 1, 3, 16], window([1, 9, 14], [1, 5, 5])), Weight);
    check(
        &sizes([2, 1, 3, 16], window([3, 5, 28], [3, 3, 3])),
        Forward,
    );
    check(&sizes([2, 1, 3, 16], window([3, 5, 28], [3, 3, 3])), Weight);
}

/// A kernel that reads more padding than input from some positions, and only padding from others.
#[test]
fn products_with_padding_are_left_out() {
    if !has_tiles() {
        return;
    }
    for (input, padding) in [
        ([1, 4, 14], 4),
        ([1, 3, 7], 6),
        ([1, 1, 14], 2),
        ([1, 8, 2], 5),
    ] {
        for channels in [16, 32] {
            let padded = Window {
                padding: [0, padding, padding],
                ..window(input, [1, 5, 5])
            };
            let padded = sizes([2, 1, 3, channels], padded);
            for op in [Forward, Weight] {
                if padded.direct_cost::<f32>(op).is_some() {
                    check(&padded, op);
                }
            }
        }
    }
}

/// An infinity times padding is a NaN where windows are copied, and is one here.
#[test]
fn factors_that_are_not_finite_meet_padding() {
    if !has_tiles() {
        return;
    }
    let sizes = sizes([1, 1, 2, 32], window([1, 7, 7], [1, 3, 3]));
    for op in [Forward, Weight] {
        let (input, mut other) = (
            numbers(98, 1),
            numbers(if op == Forward { 576 } else { 1568 }, 2),
        );
        other[0] = f32::INFINITY;
        let (mut out, mut copied) = (vec![0.0; 1568], vec![0.0; 1568]);
        let out = &mut out[..if op == Forward { 1568 } else { 576 }];
        let copied = &mut copied[..out.len()];
        let is_direct = sizes.run_directly(op, [&input, &other], out).unwrap();
        assert!(is_direct && out.iter().any(|sum| sum.is_nan()));
        assert!(sizes.run_windows(op, [&input, &other], copied).unwrap());
        assert!(
            out.iter()
                .zip(&*copied)
                .all(|(a, b)| a.is_nan() == b.is_nan())
        );
    }
}

#[test]
fn gradients_of_strided_inputs_are_summed() {
    let strided = |input, kernel, stride, padding, dilation| Window {
        stride,
        padding,
        dilation,
        ..window(input, kernel)
    };
    let one = [1; 3];
    for window in [
        strided([1, 28, 28], [1, 3, 3], [1, 2, 2], [0, 1, 1], one),
        strided([1, 14, 15], [1, 3, 3], [1, 2, 2], [0, 1, 1], one),
        strided([1, 28, 28], [1, 4, 4], [1, 2, 2], [0, 1, 1], one),
        strided([1, 29, 30], [1, 7, 7], [1, 2, 2], [0, 3, 3], one),
        // Some positions are beyond all windows.
        strided([1, 16, 44], [1, 3, 5], [1, 3, 3], [0, 0, 2], one),
        strided([1, 28, 28], [1, 3, 3], [1, 2, 2], [0, 3, 3], [1, 3, 3]),
        strided([4, 14, 14], [3, 3, 3], [2, 2, 2], one, one),
        strided([1, 14, 14], [1, 2, 2], [1, 2, 2], [0, 0, 0], one),
        // Lines, of which only every second is reached by an even element of the kernel.
        strided([1, 20, 14], [1, 3, 3], [1, 2, 1], [0, 1, 1], one),
    ] {
        check(&sizes([2, 1, 32, 3], strided_of(&window)), Input);
        check(&sizes([1, 2, 60, 2], window), Input);
    }
    // An element of the kernel of one by one reaches every second position.
    let sparse = strided([1, 28, 28], [1, 1, 1], [1, 2, 2], [0; 3], one);
    let (sparse, mut out) = (sizes([1, 1, 32, 32], sparse), vec![0.0_f32; 32 * 28 * 28]);
    let (grad, weight) = (numbers(32 * 14 * 14, 1), numbers(32 * 32, 2));
    let is_direct = sparse.run_input_gradient_directly(&grad, &weight, &mut out);
    assert!(!is_direct.unwrap());
}

fn strided_of(window: &Window) -> Window {
    Window { ..*window }
}

#[test]
fn windows_of_every_kind_are_summed() {
    if !has_tiles() {
        return;
    }
    let strided = |input, kernel, stride| Window {
        stride,
        ..window(input, kernel)
    };
    // Read where the input lies, or from planes if more than two columns read padding, or if there are no such tiles.
    for (input, kernel, stride, channels) in [
        ([1, 15, 28], [1, 3, 3], [1, 2, 2], 64),
        ([1, 29, 28], [1, 7, 7], [1, 2, 2], 64),
        ([1, 29, 28], [1, 7, 7], [1, 2, 2], 48),
        ([1, 15, 28], [1, 3, 3], [1, 2, 2], 16),
        ([1, 15, 42], [1, 3, 3], [1, 2, 3], 32),
        ([1, 15, 14], [1, 3, 3], [1, 2, 1], 32),
        ([1, 15, 14], [1, 7, 7], [1, 1, 1], 32),
        ([1, 31, 28], [1, 11, 11], [1, 2, 2], 32),
        ([1, 16, 16], [1, 4, 4], [1, 2, 2], 64),
        ([1, 28, 28], [1, 1, 1], [1, 2, 2], 32),
        ([6, 14, 14], [3, 3, 3], [2, 2, 2], 16),
        ([6, 14, 14], [3, 3, 3], [2, 2, 2], 32),
    ] {
        for op in [Forward, Weight] {
            let strided = sizes([2, 1, 4, channels], strided(input, kernel, stride));
            if strided.direct_cost::<f32>(op).is_some() {
                check(&strided, op);
            }
        }
    }
    let volume = || window([3, 5, 7], [3, 3, 3]);
    let dilated = || Window {
        dilation: [1, 2, 1],
        padding: [0, 2, 1],
        ..window([1, 8, 14], [1, 3, 3])
    };
    let line = || window([1, 1, 70], [1, 1, 9]);
    for op in [Forward, Weight] {
        check(&sizes([2, 1, 3, 32], volume()), op);
        check(&sizes([2, 1, 3, 32], dilated()), op);
        // Groups, of which the last panel has few channels.
        check(&sizes([2, 3, 2, 60], window([1, 7, 7], [1, 3, 3])), op);
        if sizes([1, 1, 2, 32], line())
            .direct_cost::<f32>(op)
            .is_some()
        {
            check(&sizes([2, 1, 2, 32], line()), op);
        }
    }
    // The longest line, and one that is longer.
    check(
        &sizes([1, 1, 2, 64], window([1, 2, 512], [1, 3, 3])),
        Forward,
    );
    let long = sizes([1, 1, 2, 64], window([1, 2, 513], [1, 3, 3]));
    assert!(long.direct_cost::<f32>(Forward).is_none());
    // More products than are summed at a time: elements of the kernel, and positions.
    check(
        &sizes([1, 1, 70, 32], window([1, 5, 7], [1, 3, 3])),
        Forward,
    );
    check(&sizes([40, 1, 2, 32], window([1, 8, 8], [1, 3, 3])), Weight);
    check(
        &sizes([1, 1, 2, 32], window([1, 40, 56], [1, 3, 3])),
        Weight,
    );
}

#[test]
fn kernels_may_be_higher_than_maps() {
    if !has_tiles() {
        return;
    }
    // Read in place, the last lines of a slice of the kernel lie behind the first ones of the next slice.
    for channels in [16, 32] {
        for height in 3..=7 {
            let mut flat = window([13, height, 17], [7, 7, 7]);
            flat.padding = [2, 2, 1];
            check(&sizes([3, 1, 1, channels], flat), Weight);
        }
    }
}
