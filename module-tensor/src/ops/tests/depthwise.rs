//! Convolutions with few channels compared with their definition, in sizes around those of the kernel's sums.

use super::convolutions::Case;
use crate::{BackwardOptions, ConvOptions, DType, Padding, Tensor};

#[test]
fn every_stride_dilation_and_width_is_summed_as_defined() {
    let plain = Case {
        input: [2, 3, 9, 9],
        out: 3,
        groups: 3,
        kernel: [3, 3],
        stride: [1, 1],
        padding: [1, 1],
        dilation: [1, 1],
    };
    for width in [1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 130] {
        let input = [2, 3, 5, width];
        Case { input, ..plain }.check_plain();
        let (kernel, padding) = ([5, 7], [2, 3]);
        let wide = Case {
            input,
            kernel,
            padding,
            ..plain
        };
        wide.check_plain();
    }
    for stride in [[1, 2], [2, 1], [2, 2], [3, 5]] {
        Case { stride, ..plain }.check_plain();
        for dilation in [[1, 2], [2, 1], [3, 3]] {
            let (padding, input) = ([3, 4], [2, 3, 12, 23]);
            let case = Case {
                stride,
                dilation,
                padding,
                input,
                ..plain
            };
            case.check_plain();
        }
    }
    // Padding beyond the kernel's reach, kernels of even size, and several outputs for a channel.
    let padding = [4, 5];
    Case { padding, ..plain }.check_plain();
    let kernel = [2, 4];
    Case { kernel, ..plain }.check_plain();
    Case { out: 9, ..plain }.check_plain();
}

#[test]
fn an_infinity_reaches_only_the_gradients_of_its_windows() {
    // Every element of the kernel except those of the first column sees the last element of a line.
    let mut values = vec![1.0_f32; 16];
    values[7] = f32::INFINITY;
    let x = Tensor::from_vec(values, [1, 1, 4, 4]).unwrap();
    let w = Tensor::ones([1, 1, 3, 3], DType::F32).unwrap();
    let w = w.with_grad().unwrap();
    let options = ConvOptions::new().padding(Padding::Size([1, 1]));
    let y = x.conv2d(&w, options).unwrap();
    let g = Tensor::ones([1, 1, 4, 4], DType::F32).unwrap();
    y.backward_with(&g, BackwardOptions::default()).unwrap();
    let grad = w.grad().unwrap().to_vec::<f32>().unwrap();
    let inf = f32::INFINITY;
    assert_eq!(grad, [9.0, inf, inf, 12.0, inf, inf, 9.0, inf, inf]);
}
