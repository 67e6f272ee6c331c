//! Convolutions, pooling and image resizing.

use module_nn::{
    AvgPoolOptions, ConvOptions, ConvTransposeOptions, InterpolateMode, InterpolateOptions,
    Padding, PoolOptions, UnfoldOptions,
};

use super::row::Rows;

fn conv<const N: usize>(stride: usize, padding: usize, groups: usize) -> ConvOptions<N> {
    ConvOptions::new()
        .stride([stride; N])
        .padding(Padding::Size([padding; N]))
        .groups(groups)
}

/// A convolution in two dimensions of an input of shape `x` by a kernel of shape `w`.
fn conv2d(rows: &mut Rows, name: &str, x: [usize; 4], w: [usize; 4], [stride, groups]: [usize; 2]) {
    let name = format!("conv2d {name}, {x:?}");
    rows.both(&name, &[&x, &w], move |x| {
        x[0].conv2d(&x[1], conv(stride, w[2] / 2, groups))
    });
}

pub(crate) fn add(rows: &mut Rows) {
    let kernel = [64, 64, 3, 3];
    for batch in [1, 8] {
        conv2d(rows, "3x3", [batch, 64, 56, 56], kernel, [1, 1]);
        conv2d(
            rows,
            "3x3 depthwise",
            [batch, 64, 56, 56],
            [64, 1, 3, 3],
            [1, 64],
        );
    }
    conv2d(
        rows,
        "3x3, stride 2",
        [8, 64, 56, 56],
        [128, 64, 3, 3],
        [2, 1],
    );
    conv2d(rows, "1x1 to 256", [8, 64, 56, 56], [256, 64, 1, 1], [1, 1]);
    conv2d(rows, "3x3", [8, 256, 14, 14], [256, 256, 3, 3], [1, 1]);
    conv2d(
        rows,
        "7x7, stride 2, to 64",
        [1, 3, 224, 224],
        [64, 3, 7, 7],
        [2, 1],
    );
    conv2d(rows, "3x3", [8, 512, 2, 2], [512, 512, 3, 3], [1, 1]);
    conv2d(rows, "3x3", [64, 64, 7, 7], kernel, [1, 1]);
    conv2d(rows, "3x3", [8, 64, 16, 16], kernel, [1, 1]);
    conv2d(
        rows,
        "7x7 depthwise",
        [8, 96, 28, 28],
        [96, 1, 7, 7],
        [1, 96],
    );
    conv2d(
        rows,
        "7x7 depthwise",
        [8, 384, 7, 7],
        [384, 1, 7, 7],
        [1, 384],
    );
    // Small maps.
    conv2d(rows, "1x1 to 64", [8, 64, 7, 7], [64, 64, 1, 1], [1, 1]);
    conv2d(rows, "1x1 to 576", [8, 96, 2, 2], [576, 96, 1, 1], [1, 1]);
    conv2d(rows, "1x1 to 144", [8, 576, 1, 1], [144, 576, 1, 1], [1, 1]);
    rows.both(
        "conv1d 9, [8, 64, 4000]",
        &[&[8, 64, 4000], &[64, 64, 9]],
        |x| x[0].conv1d(&x[1], conv(1, 4, 1)),
    );
    let volume: &[usize] = &[2, 16, 16, 28, 28];
    rows.both(
        "conv3d 3x3x3, [2, 16, 16, 28, 28]",
        &[volume, &[16, 16, 3, 3, 3]],
        |x| x[0].conv3d(&x[1], conv(1, 1, 1)),
    );
    let name = "conv_transpose2d 4x4, stride 2, [8, 64, 28, 28] to 32";
    rows.both(name, &[&[8, 64, 28, 28], &[64, 32, 4, 4]], |x| {
        let doubling = ConvTransposeOptions::new().stride([2, 2]).padding([1, 1]);
        x[0].conv_transpose2d(&x[1], doubling)
    });
    pooling(rows);
    sizes(rows);
}

fn pooling(rows: &mut Rows) {
    rows.both(
        "max_pool2d 3, stride 2, [1, 64, 112, 112]",
        &[&[1, 64, 112, 112]],
        |x| x[0].max_pool2d(PoolOptions::new([3, 3]).stride([2, 2]).padding([1, 1])),
    );
    for stride in [1, 2] {
        let name = format!("max_pool2d 3, stride {stride}, [128, 64, 7, 7]");
        rows.both(&name, &[&[128, 64, 7, 7]], move |x| {
            let options = PoolOptions::new([3, 3]).stride([stride, stride]);
            x[0].max_pool2d(options.padding([1, 1]))
        });
    }
    let image: &[usize] = &[8, 64, 56, 56];
    rows.both("max_pool2d 2, [8, 64, 56, 56]", &[image], |x| {
        x[0].max_pool2d(PoolOptions::new([2, 2]))
    });
    rows.both("avg_pool2d 2, [8, 64, 56, 56]", &[image], |x| {
        x[0].avg_pool2d(AvgPoolOptions::new([2, 2]))
    });
    rows.both("avg_pool2d 3, stride 1, [8, 64, 56, 56]", &[image], |x| {
        x[0].avg_pool2d(AvgPoolOptions::new([3, 3]).stride([1, 1]).padding([1, 1]))
    });
    rows.both("adaptive_avg_pool2d to 1, [8, 64, 56, 56]", &[image], |x| {
        x[0].adaptive_avg_pool2d(1)
    });
    let small: &[usize] = &[8, 512, 7, 7];
    rows.both("adaptive_avg_pool2d to 1, [8, 512, 7, 7]", &[small], |x| {
        x[0].adaptive_avg_pool2d(1)
    });
    rows.both("adaptive_max_pool2d to 7, [8, 64, 56, 56]", &[image], |x| {
        x[0].adaptive_max_pool2d(7)
    });
    rows.both("im2col 3x3, [8, 64, 56, 56]", &[image], |x| {
        x[0].im2col(UnfoldOptions::new([3, 3]).padding([1, 1]))
    });
}

fn sizes(rows: &mut Rows) {
    for (name, mode) in [
        ("nearest", InterpolateMode::Nearest),
        ("bilinear", InterpolateMode::Bilinear),
        ("bicubic", InterpolateMode::Bicubic),
    ] {
        rows.both(
            &format!("interpolate {name} by 2, [8, 64, 28, 28]"),
            &[&[8, 64, 28, 28]],
            move |x| x[0].interpolate(&InterpolateOptions::scale_factor([2.0]).mode(mode)),
        );
    }
}
