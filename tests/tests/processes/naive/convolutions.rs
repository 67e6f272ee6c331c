//! Convolutions of large images, with the direct and the tiled algorithm.

use module_core::{ConvOptions, set_exact_convolutions};
use module_nn::prelude::*;

use super::{Expected, LARGE, check, check_within, draw, largest, numbers};

const KERNEL: usize = 3;

/// The sizes of a convolution with kernels of three by three and a padding of 1.
#[derive(Clone, Copy)]
struct Sizes {
    inputs: usize,
    outputs: usize,
    height: usize,
    width: usize,
    groups: usize,
    stride: usize,
}

impl Sizes {
    fn tensors(self, batch: usize) -> [Tensor; 2] {
        let x = draw(&[batch, self.inputs, self.height, self.width], 6);
        assert!(x.numel() >= LARGE);
        let each = self.inputs / self.groups;
        [x, draw(&[self.outputs, each, KERNEL, KERNEL], 7)]
    }

    fn options(self) -> ConvOptions<2> {
        let options = ConvOptions::new().padding([1, 1]);
        options.stride([self.stride; 2]).groups(self.groups)
    }

    /// The output, and the gradients of the input and of the weight.
    fn convolved(self, x: &[f64], weight: &[f64], grad: &[f64]) -> Expected {
        let (mut out, mut of_x) = (vec![0.0; grad.len()], vec![0.0; x.len()]);
        let mut of_weight = vec![0.0; weight.len()];
        let size = |size: usize| (size + 2 - KERNEL) / self.stride + 1;
        let (rows, columns) = (size(self.height), size(self.width));
        let each = self.inputs / self.groups;
        for (o, out) in out.iter_mut().enumerate() {
            let (column, row) = (o % columns, o / columns % rows);
            let place = o / columns / rows;
            let (channel, image) = (place % self.outputs, place / self.outputs);
            let first = channel / (self.outputs / self.groups) * each;
            let kernel = weight.iter().enumerate().skip(channel * each * 9);
            for (w, &value) in kernel.take(each * 9) {
                let i = (row * self.stride + w / KERNEL % KERNEL).wrapping_sub(1);
                let j = (column * self.stride + w % KERNEL).wrapping_sub(1);
                if i < self.height && j < self.width {
                    let from = image * self.inputs + first + w / 9 % each;
                    let place = (from * self.height + i) * self.width + j;
                    *out += value * x[place];
                    of_x[place] += value * grad[o];
                    of_weight[w] += x[place] * grad[o];
                }
            }
        }
        (out, vec![of_x, of_weight])
    }
}

/// The setting for exact convolutions is global to the process, so both cases are in one test.
#[test]
fn convolutions() {
    set_exact_convolutions(true);
    for (groups, stride) in [(1, 1), (2, 1), (1, 2), (16, 1)] {
        let sizes = Sizes {
            inputs: 16,
            outputs: if groups == 16 { 16 } else { 12 },
            height: 70,
            width: 65,
            groups,
            stride,
        };
        let [x, weight] = sizes.tensors(3);
        check(
            &[&x, &weight],
            || x.conv2d(&weight, sizes.options()),
            |grad| sizes.convolved(&numbers(&x), &numbers(&weight), grad),
        );
    }

    let sizes = Sizes {
        inputs: 32,
        outputs: 24,
        height: 70,
        width: 65,
        groups: 1,
        stride: 1,
    };
    let [x, weight] = sizes.tensors(1);
    let convolve = || x.conv2d(&weight, sizes.options());
    let exact = convolve().unwrap();
    set_exact_convolutions(false);
    // Otherwise nothing would use tiles.
    assert!(!convolve().unwrap().equal(&exact).unwrap());
    check_within(&[&x, &weight], convolve, |grad| {
        let [x, weight] = [&x, &weight].map(numbers);
        let magnitudes = [&x, &weight, grad].map(|x| x.iter().map(|x| x.abs()).collect::<Vec<_>>());
        let [of_x, of_weight, of_grad] = &magnitudes;
        let (out, grads) = sizes.convolved(of_x, of_weight, of_grad);
        // The bound documented for `set_exact_convolutions`, and a third more for other draws.
        let bound = |magnitudes: &Vec<f64>| 4e-6 * largest(magnitudes);
        let bounds = (bound(&out), grads.iter().map(bound).collect());
        (sizes.convolved(&x, &weight, grad), bounds)
    });
}
