//! Convolutions with few channels against their definition, in sizes around those of the kernel's sums.

use crate::{BackwardOptions, ConvOptions, DType, Padding, Tensor};

/// One convolution in two dimensions: sizes of the input and the kernel, stride, padding, dilation.
#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    groups: usize,
    out_channels: usize,
    input: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
}

impl Case {
    fn output(&self) -> [usize; 2] {
        std::array::from_fn(|d| {
            let reach = self.dilation[d] * (self.kernel[d] - 1);
            (self.input[d] + 2 * self.padding[d] - reach - 1) / self.stride[d] + 1
        })
    }

    /// Calls `f` with the indices of input, weight and output of every product.
    fn products(&self, mut f: impl FnMut(usize, usize, usize)) {
        let ([ih, iw], [kh, kw], [oh, ow]) = (self.input, self.kernel, self.output());
        let each = self.out_channels / self.groups;
        for sample in 0..self.batch {
            for channel in 0..self.out_channels {
                let plane = sample * self.groups + channel / each;
                for at in 0..oh * ow * kh * kw {
                    let (y, x) = (at / (ow * kh * kw), at / (kh * kw) % ow);
                    let (a, b) = (at / kw % kh, at % kw);
                    let place = |d: usize, i: usize, k: usize| {
                        (i * self.stride[d] + k * self.dilation[d]).checked_sub(self.padding[d])
                    };
                    let (Some(i), Some(j)) = (place(0, y, a), place(1, x, b)) else {
                        continue;
                    };
                    if i < ih && j < iw {
                        let output = (sample * self.out_channels + channel) * oh + y;
                        let weight = (channel * kh + a) * kw + b;
                        f((plane * ih + i) * iw + j, weight, output * ow + x);
                    }
                }
            }
        }
    }

    fn options(&self) -> ConvOptions<2> {
        ConvOptions::new()
            .stride(self.stride)
            .padding(Padding::Size(self.padding))
            .dilation(self.dilation)
            .groups(self.groups)
    }

    /// The output, and the gradients of input and weight, beside the sums of products.
    fn check(&self) {
        let ([ih, iw], [kh, kw], [oh, ow]) = (self.input, self.kernel, self.output());
        let shape = |channels| [self.batch, channels, ih, iw];
        let x = random(shape(self.groups), 1);
        let w = random([self.out_channels, 1, kh, kw], 2);
        let g = random([self.batch, self.out_channels, oh, ow], 3);
        let leaves = [&x, &w].map(|values| values.with_grad().unwrap());
        let y = leaves[0].conv2d(&leaves[1], self.options()).unwrap();
        y.backward_with(&g, BackwardOptions::default()).unwrap();
        let [x, w, g, y] = [&x, &w, &g, &y].map(|x| x.detach().to_vec::<f32>().unwrap());
        let mut expected = [y.len(), x.len(), w.len()].map(|len| vec![0.0_f64; len]);
        self.products(|i, k, o| {
            let [x, w, g] = [x[i], w[k], g[o]].map(f64::from);
            expected[0][o] += x * w;
            expected[1][i] += g * w;
            expected[2][k] += x * g;
        });
        let grads = leaves.map(|leaf| leaf.grad().unwrap().to_vec::<f32>().unwrap());
        for (name, got, expected) in [
            ("output", &y, &expected[0]),
            ("gradient of the input", &grads[0], &expected[1]),
            ("gradient of the weight", &grads[1], &expected[2]),
        ] {
            for (got, expected) in got.iter().zip(expected) {
                let error = (f64::from(*got) - expected).abs();
                assert!(error < 1e-4 * (1.0 + expected.abs()), "{self:?} {name}");
            }
        }
    }
}

fn random<const N: usize>(shape: [usize; N], seed: u64) -> Tensor {
    crate::fork_rng(seed, || Tensor::randn(shape, DType::F32).unwrap())
}

#[test]
fn every_stride_dilation_and_width_is_summed_as_defined() {
    let plain = Case {
        batch: 2,
        groups: 3,
        out_channels: 3,
        input: [9, 9],
        kernel: [3, 3],
        stride: [1, 1],
        padding: [1, 1],
        dilation: [1, 1],
    };
    for width in [1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 130] {
        let input = [5, width];
        Case { input, ..plain }.check();
        let (kernel, padding) = ([5, 7], [2, 3]);
        let wide = Case {
            input,
            kernel,
            padding,
            ..plain
        };
        wide.check();
    }
    for stride in [[1, 2], [2, 1], [2, 2], [3, 5]] {
        Case { stride, ..plain }.check();
        for dilation in [[1, 2], [2, 1], [3, 3]] {
            let (padding, input) = ([3, 4], [12, 23]);
            let case = Case {
                stride,
                dilation,
                padding,
                input,
                ..plain
            };
            case.check();
        }
    }
    // Padding beyond the kernel's reach, kernels of even size, and several outputs for a channel.
    let padding = [4, 5];
    Case { padding, ..plain }.check();
    let kernel = [2, 4];
    Case { kernel, ..plain }.check();
    let out_channels = 9;
    let several = Case {
        out_channels,
        ..plain
    };
    several.check();
}

#[test]
fn an_infinity_reaches_only_the_gradients_of_what_sees_it() {
    // The last element of a line is seen by every element of the kernel but those of the first column.
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
