//! Convolutions and their gradients compared with the defining sums, in sizes around those of the kernels' blocks.

use crate::{BackwardOptions, ConvOptions, DType, Padding, Tensor};

/// `[batch, channels, height, width]`, the output's channels and groups, the kernel, stride, padding and dilation.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) input: [usize; 4],
    pub(super) out: usize,
    pub(super) groups: usize,
    pub(super) kernel: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) padding: [usize; 2],
    pub(super) dilation: [usize; 2],
}

impl Case {
    fn output(&self) -> [usize; 2] {
        [0, 1].map(|d| {
            let reach = self.dilation[d] * (self.kernel[d] - 1) + 1;
            (self.input[2 + d] + 2 * self.padding[d] - reach) / self.stride[d] + 1
        })
    }

    fn weight(&self) -> [usize; 4] {
        let [height, width] = self.kernel;
        [self.out, self.input[1] / self.groups, height, width]
    }

    /// Calls `f` with the indices in output, input and weight for each product.
    fn products(&self, mut f: impl FnMut(usize, usize, usize)) {
        let [batch, channels, height, width] = self.input;
        let [out_height, out_width] = self.output();
        let [_, own, kernel_height, kernel_width] = self.weight();
        let of_group = self.out / self.groups;
        for output in 0..batch * self.out * out_height * out_width {
            let (x, y) = (output % out_width, output / out_width % out_height);
            let o = output / (out_width * out_height) % self.out;
            let n = output / (out_width * out_height * self.out);
            for tap in 0..own * kernel_height * kernel_width {
                let (dx, dy) = (tap % kernel_width, tap / kernel_width % kernel_height);
                let c = o / of_group * own + tap / (kernel_width * kernel_height);
                let at = |d: usize, position: usize, tap: usize, size: usize| {
                    let at = position * self.stride[d] + tap * self.dilation[d];
                    at.checked_sub(self.padding[d]).filter(|&at| at < size)
                };
                if let (Some(y), Some(x)) = (at(0, y, dy, height), at(1, x, dx, width)) {
                    let input = ((n * channels + c) * height + y) * width + x;
                    f(output, input, o * own * kernel_height * kernel_width + tap);
                }
            }
        }
    }

    /// Output and gradients in both dtypes, by direct sums.
    pub(super) fn check_plain(&self) {
        self.check(DType::F32, 1e-6);
        self.check(DType::F64, 1e-14);
    }

    fn check(&self, dtype: DType, tolerance: f64) {
        let random = |seed, shape: &[usize]| {
            let x = crate::fork_rng(seed, || Tensor::randn(shape.to_vec(), dtype).unwrap());
            let values = x.to_dtype(DType::F64).unwrap();
            (x, values.to_vec::<f64>().unwrap())
        };
        let [height, width] = self.output();
        let (x, x_values) = random(1, &self.input);
        let (w, w_values) = random(2, &self.weight());
        let (g, g_values) = random(3, &[self.input[0], self.out, height, width]);
        // Each sum, and that of the magnitudes.
        let zeros = |like: &Vec<f64>| vec![[0.0_f64; 2]; like.len()];
        let mut sums = [&g_values, &x_values, &w_values].map(zeros);
        let add = |sum: &mut [f64; 2], v: f64| *sum = [sum[0] + v, sum[1] + v.abs()];
        let [y, dx, dw] = &mut sums;
        self.products(|output, input, weight| {
            add(&mut y[output], x_values[input] * w_values[weight]);
            add(&mut dx[input], g_values[output] * w_values[weight]);
            add(&mut dw[weight], g_values[output] * x_values[input]);
        });
        let (x, w) = (x.with_grad().unwrap(), w.with_grad().unwrap());
        let options = ConvOptions::new()
            .padding(Padding::Size(self.padding))
            .stride(self.stride)
            .dilation(self.dilation)
            .groups(self.groups);
        let y = x.conv2d(&w, options).unwrap();
        y.backward_with(&g, BackwardOptions::default()).unwrap();
        let got = [y.detach(), x.grad().unwrap(), w.grad().unwrap()];
        for ((of, got), want) in ["output", "input", "weight"].iter().zip(got).zip(&sums) {
            let got = got.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
            let greatest = want.iter().fold(0.0, |most: f64, sum| most.max(sum[1]));
            for (i, (got, [want, _])) in got.iter().zip(want).enumerate() {
                let error = (got - want).abs() / greatest.max(f64::MIN_POSITIVE);
                let Self {
                    input,
                    out,
                    groups,
                    kernel,
                    stride,
                    padding,
                    dilation,
                } = self;
                assert!(
                    error < tolerance,
                    "{of} {i} of {input:?} to {out} in {groups} by {kernel:?} / {stride:?} + {padding:?} * {dilation:?}: {got}, not {want}"
                );
            }
        }
    }
}

#[test]
fn depthwise_convolutions_are_their_sums_in_every_size() {
    for (channels, batch) in [(1, 1), (8, 1), (16, 1), (19, 3)] {
        for [height, width] in [[1, 1], [3, 2], [7, 7], [5, 14], [4, 16], [9, 17], [6, 33]] {
            for (side, padding) in [(1, 0), (3, 1), (5, 0), (5, 2), (7, 3)] {
                for (stride, dilation) in [(1, 1), (2, 1), (1, 2)] {
                    let reach = dilation * (side - 1) + 1;
                    if height.min(width) + 2 * padding < reach {
                        continue;
                    }
                    let case = Case {
                        input: [batch, channels, height, width],
                        out: channels,
                        groups: channels,
                        kernel: [side; 2],
                        stride: [stride; 2],
                        padding: [padding; 2],
                        dilation: [dilation; 2],
                    };
                    case.check_plain();
                }
            }
        }
    }
}

#[test]
fn convolutions_are_their_sums_in_every_size() {
    for (batch, channels, out, groups) in [
        (1, 3, 5, 1),
        (3, 4, 18, 2),
        (5, 33, 14, 1),
        (1, 12, 40, 2),
        (2, 1, 9, 1),
    ] {
        for [height, width] in [[1, 1], [2, 2], [7, 7], [8, 31], [13, 9]] {
            for (kernel, padding) in [([1, 1], 0), ([3, 3], 1), ([2, 5], 3), ([7, 1], 2)] {
                for (stride, dilation) in [([1, 1], 1), ([2, 2], 1), ([3, 1], 2)] {
                    let case = Case {
                        input: [batch, channels, height, width],
                        out,
                        groups,
                        kernel,
                        stride,
                        padding: [padding, padding.min(2)],
                        dilation: [dilation; 2],
                    };
                    let reach = [0, 1].map(|d| dilation * (kernel[d] - 1) + 1);
                    let fits = |d: usize| case.input[2 + d] + 2 * case.padding[d] >= reach[d];
                    if fits(0) && fits(1) {
                        // With tiles or with direct sums.
                        case.check(DType::F32, 4e-6);
                        case.check(DType::F64, 1e-14);
                    }
                }
            }
        }
    }
}
