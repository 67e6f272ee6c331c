//! Gradients of operations that slide windows over images or resize them.

use super::{check, check_layouts, numbers};
use crate::{
    AvgPoolOptions, ConvOptions, ConvTransposeOptions, DType, InterpolateMode, InterpolateOptions,
    PadMode, Padding, PoolOptions, Tensor, UnfoldOptions,
};

pub(super) fn check_all() {
    convolutions();
    transposed();
    greatest();
    means();
    exchanged();
    columns();
    sizes();
}

fn convolutions() {
    let options = ConvOptions::new()
        .stride([2])
        .padding(Padding::Size([1]))
        .dilation([2])
        .groups(2);
    check("conv1d", &[&[2, 2, 7], &[4, 1, 2]], |x| {
        x[0].conv1d(&x[1], options)
    });
    check("conv1d", &[&[3, 5], &[2, 3, 1]], |x| {
        x[0].conv1d(&x[1], ConvOptions::default())
    });
    // One channel for each group, and more for one, take different ways.
    for (weight, stride) in [([2, 1, 2, 3], [1, 1]), ([1, 2, 2, 2], [2, 1])] {
        let options = ConvOptions::new()
            .stride(stride)
            .padding(Padding::Size([1, 1]))
            .groups(2 / weight[1]);
        check("conv2d", &[&[2, 2, 3, 4], &weight], |x| {
            x[0].conv2d(&x[1], options)
        });
    }
    let options = ConvOptions::new().padding(Padding::Same);
    check("conv3d", &[&[1, 2, 2, 3, 2], &[2, 2, 2, 3, 1]], |x| {
        x[0].conv3d(&x[1], options)
    });
}

fn transposed() {
    let options = ConvTransposeOptions::new()
        .stride([2])
        .padding([1])
        .output_padding([1])
        .groups(2)
        .dilation([1]);
    check("conv_transpose1d", &[&[2, 2, 4], &[2, 2, 3]], |x| {
        x[0].conv_transpose1d(&x[1], options)
    });
    let options = ConvTransposeOptions::new()
        .stride([1, 2])
        .padding([0, 1])
        .output_padding([1, 0])
        .dilation([2, 1]);
    check("conv_transpose2d", &[&[2, 3, 3], &[2, 2, 2, 2]], |x| {
        x[0].conv_transpose2d(&x[1], options)
    });
    check(
        "conv_transpose3d",
        &[&[1, 2, 2, 1, 2], &[2, 1, 2, 2, 1]],
        |x| x[0].conv_transpose3d(&x[1], ConvTransposeOptions::default()),
    );
}

fn greatest() {
    // Expanded elements are equal, so the maximum has no slope there.
    let greatest = |label, shape: &[usize], f: &dyn Fn(&Tensor) -> crate::Result<Tensor>| {
        check_layouts(label, &[numbers(shape, 2)], &["expanded"], &|x| f(&x[0]));
    };
    let options = PoolOptions::new([2]).stride([1]).padding([1]).dilation([2]);
    greatest("max_pool1d", &[2, 2, 5], &|x| x.max_pool1d(options));
    let options = PoolOptions::new([2, 2, 1])
        .stride([1, 2, 1])
        .padding([0, 1, 0])
        .ceil_mode(true);
    greatest("max_pool3d", &[2, 3, 4, 2], &|x| x.max_pool3d(options));
    greatest("adaptive_max_pool1d", &[1, 2, 5], &|x| {
        x.adaptive_max_pool1d(3)
    });
    greatest("adaptive_max_pool2d", &[2, 5, 4], &|x| {
        x.adaptive_max_pool2d([Some(2), None])
    });
    greatest("adaptive_max_pool3d", &[1, 2, 3, 2, 2], &|x| {
        x.adaptive_max_pool3d([2, 1, 3])
    });
}

fn means() {
    let options = AvgPoolOptions::new([3]).stride([1]).padding([1]);
    check("avg_pool1d", &[&[2, 2, 5]], |x| x[0].avg_pool1d(options));
    for (count_include_pad, divisor_override) in [(true, None), (false, None), (true, Some(5))] {
        let options = AvgPoolOptions::new([3, 2])
            .stride([2, 1])
            .padding([1, 0])
            .ceil_mode(true)
            .count_include_pad(count_include_pad)
            .divisor_override(divisor_override);
        check("avg_pool2d", &[&[2, 4, 5]], |x| x[0].avg_pool2d(options));
    }
    let options = AvgPoolOptions::new([1, 2, 2]);
    check("avg_pool3d", &[&[0, 2, 2, 4, 5]], |x| {
        x[0].avg_pool3d(options)
    });
    check("adaptive_avg_pool1d", &[&[2, 2, 5]], |x| {
        x[0].adaptive_avg_pool1d(7)
    });
    check("adaptive_avg_pool2d", &[&[2, 3, 5]], |x| {
        x[0].adaptive_avg_pool2d([2, 3])
    });
    check("adaptive_avg_pool3d", &[&[1, 2, 2, 3, 2]], |x| {
        x[0].adaptive_avg_pool3d([1, 2, 3])
    });
}

fn exchanged() {
    let positions = Tensor::from([[[4_i64, 0, 3], [5, 1, 2]]]);
    check("scatter", &[&[1, 2, 3]], |x| {
        x[0].max_unpool(&positions, [6])
    });
    let samples = Tensor::from([[[0.3_f64, 0.6], [0.9, 0.0]]]);
    check("gather", &[&[1, 2, 4, 5]], |x| {
        Ok(x[0].fractional_max_pool([2, 2], [2, 3], &samples)?.0)
    });
    for mode in [PadMode::Reflect, PadMode::Replicate, PadMode::Circular] {
        check("pad", &[&[2, 5]], |x| x[0].pad([-2, 2], mode)?.square());
        check("pad", &[&[2, 5]], |x| x[0].pad([3, -1], mode)?.square());
    }
}

fn columns() {
    let options = UnfoldOptions::new([2, 2])
        .dilation([1, 2])
        .padding([1, 0])
        .stride([2, 1]);
    check("im2col", &[&[2, 2, 3, 4]], |x| x[0].im2col(options));
    check("col2im", &[&[2, 8, 4]], |x| x[0].col2im([3, 4], options));
    check("im2col", &[&[2, 5]], |x| {
        x[0].im2col(UnfoldOptions::new([2]))
    });
}

fn sizes() {
    use InterpolateMode as Mode;
    let to = |size: &[usize], mode| InterpolateOptions::size(size).mode(mode);
    let by = |factor: &[f64], mode| InterpolateOptions::scale_factor(factor).mode(mode);
    let cases: [(&[usize], InterpolateOptions); 12] = [
        (&[2, 2, 3], to(&[5], Mode::Nearest)),
        (&[1, 2, 3, 2], by(&[1.5, 0.5], Mode::NearestExact)),
        (&[2, 2, 3], to(&[7], Mode::Linear)),
        (&[2, 2, 5], by(&[0.7], Mode::Linear)),
        (&[1, 2, 3, 4], to(&[5, 3], Mode::Bilinear)),
        (
            &[1, 2, 3, 4],
            to(&[5, 3], Mode::Bilinear).align_corners(true),
        ),
        (&[1, 1, 2, 3, 2], to(&[3, 2, 4], Mode::Trilinear)),
        (&[1, 2, 3, 4], to(&[5, 3], Mode::Bicubic)),
        (
            &[1, 1, 4, 3],
            to(&[1, 6], Mode::Bicubic).align_corners(true),
        ),
        (&[1, 1, 6, 1], by(&[0.5, 2.0], Mode::Bicubic)),
        (&[1, 2, 5, 4], to(&[2, 6], Mode::Area)),
        (&[0, 2, 5, 4], to(&[2], Mode::Bilinear)),
    ];
    for (shape, options) in cases {
        check("interpolate", &[shape], |x| x[0].interpolate(&options));
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_numbers() {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32).unwrap();
    let refused = |result: crate::Result<Tensor>, expected: &str| {
        assert_eq!(result.unwrap_err().to_string(), expected);
    };
    let image = zeros(&[1, 4, 5, 5]);
    refused(
        image.conv1d(&zeros(&[1, 4, 3]), ConvOptions::default()),
        "conv1d: expected [batch, channels, length] or without the batch, got shape [1, 4, 5, 5]",
    );
    refused(
        image.conv2d(&zeros(&[1, 4, 3]), ConvOptions::default()),
        "conv2d: expected a weight [out_channels, channels / groups, height, width], got shape [1, 4, 3]",
    );
    let options = ConvTransposeOptions::new()
        .output_padding([0, 2])
        .stride([2, 2]);
    let weight = zeros(&[4, 1, 3, 3]);
    refused(
        image.conv_transpose2d(&weight, options),
        "conv_transpose2d: output_padding = [0, 2]: must be below stride = [2, 2] or dilation = [1, 1]",
    );
    let options = ConvTransposeOptions::new().groups(3);
    refused(
        image.conv_transpose2d(&weight, options),
        "conv_transpose2d: [1, 4, 5, 5] and [4, 1, 3, 3] do not fit: with groups = 3 the weight must \
         have as many input channels as the input, a multiple of groups",
    );
    refused(
        zeros(&[5, 3]).col2im([2, 3], UnfoldOptions::new([2, 2])),
        "col2im: expected a multiple of the elements of kernel_size = [2, 2] as rows, got shape [5, 3]",
    );
    refused(
        zeros(&[4, 3]).col2im([2, 3], UnfoldOptions::new([2, 2])),
        "col2im: expected a column for each of the [1, 2] windows over output_size = [2, 3], got shape [4, 3]",
    );
    refused(
        image.interpolate(&InterpolateOptions::size([3]).mode(InterpolateMode::Linear)),
        "interpolate: expected [batch, channels, size…] with 1 spatial dimension(s) for mode = Linear, \
         got shape [1, 4, 5, 5]",
    );
    refused(
        image.interpolate(&InterpolateOptions::scale_factor([f64::NAN])),
        "interpolate: scale_factor = [NaN]: must be positive and finite",
    );
    refused(
        image.interpolate(&InterpolateOptions::size([1, 2, 3])),
        "interpolate: size = [1, 2, 3]: must be one number or 2",
    );
    refused(
        image.adaptive_avg_pool1d(3),
        "adaptive_avg_pool1d: expected [batch, channels, length] or without the batch, got shape [1, 4, 5, 5]",
    );
}

/// The same convolution by its definition: the weight, as a matrix, times the columns.
fn by_columns<const N: usize>(x: &Tensor, weight: &Tensor, options: UnfoldOptions<N>) -> Tensor {
    let columns = x.im2col(options).unwrap();
    let weight = weight.flatten(1, -1).unwrap();
    weight.matmul(&columns).unwrap()
}

#[test]
fn tiles_of_a_large_convolution_fit_together() {
    let same = |a: &Tensor, b: &Tensor| {
        let difference = a.sub(b.reshape_to(a.shape()).unwrap()).unwrap();
        let largest = difference.abs().unwrap().amax(..).unwrap();
        assert!(largest.item::<f64>().unwrap() < 1e-9, "{largest}");
    };
    let gradients = |x: &Tensor, weight: &Tensor, f: &dyn Fn(&Tensor, &Tensor) -> Tensor| {
        let (x, weight) = (x.with_grad().unwrap(), weight.with_grad().unwrap());
        let y = f(&x, &weight);
        y.mul(&y).unwrap().sum(..).unwrap().backward().unwrap();
        [y.detach(), x.grad().unwrap(), weight.grad().unwrap()]
    };
    // Lines that are cut, and lines that are joined, whose last tile is smaller.
    let (x, weight) = (numbers([16, 9000], 1), numbers([3, 16, 64], 2));
    for (stride, padding) in [(1, 0), (2, 40)] {
        let conv = ConvOptions::new()
            .stride([stride])
            .padding(Padding::Size([padding]));
        let unfold = UnfoldOptions::new([64]).stride([stride]).padding([padding]);
        let a = gradients(&x, &weight, &|x, weight| x.conv1d(weight, conv).unwrap());
        let b = gradients(&x, &weight, &|x, weight| by_columns(x, weight, unfold));
        a.iter().zip(&b).for_each(|(a, b)| same(a, b));
    }
    let (x, weight) = (numbers([1, 25, 3, 31, 27], 1), numbers([2, 25, 3, 3, 3], 2));
    let conv = ConvOptions::new()
        .padding(Padding::Size([1, 0, 1]))
        .stride([2, 1, 1]);
    let unfold = UnfoldOptions::new([3, 3, 3])
        .padding([1, 0, 1])
        .stride([2, 1, 1]);
    let a = gradients(&x, &weight, &|x, weight| x.conv3d(weight, conv).unwrap());
    let b = gradients(&x, &weight, &|x, weight| by_columns(x, weight, unfold));
    a.iter().zip(&b).for_each(|(a, b)| same(a, b));
}
