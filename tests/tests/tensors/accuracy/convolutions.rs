//! Convolutions of one to three dimensions, compared with sums of products.

use module_nn::{ConvOptions, ConvTransposeOptions, Tensor, set_exact_convolutions};

use super::case::{Case, draw};
use super::terms::{Bound, Products, bilinear};

/// The sizes of a convolution; dimensions that it lacks have a size of 1.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: usize,
    inputs: usize,
    outputs: usize,
    groups: usize,
    size: [usize; 3],
    kernel: [usize; 3],
    stride: [usize; 3],
    padding: [usize; 3],
    dilation: [usize; 3],
}

impl Sizes {
    fn output(&self) -> [usize; 3] {
        std::array::from_fn(|i| {
            let seen = self.dilation[i] * (self.kernel[i] - 1) + 1;
            (self.size[i] + 2 * self.padding[i] - seen) / self.stride[i] + 1
        })
    }

    /// The place of the input that a place of the kernel multiplies, if it is not in the padding.
    fn input(&self, dim: usize, output: usize, kernel: usize) -> Option<usize> {
        let place = output * self.stride[dim] + kernel * self.dilation[dim];
        let place = place.checked_sub(self.padding[dim])?;
        (place < self.size[dim]).then_some(place)
    }

    /// Every product, by the places of the output, the input and the weight.
    fn visit(&self, visit: &mut dyn FnMut(usize, usize, usize)) {
        let ([depth, height, width], [deep, high, wide]) = (self.output(), self.kernel);
        let [_, rows, columns] = self.size;
        let volume: usize = self.size.iter().product();
        let each = self.inputs / self.groups;
        let mut out = 0;
        for plane in 0..self.batch * self.outputs {
            let (image, channel) = (plane / self.outputs, plane % self.outputs);
            let first = channel / (self.outputs / self.groups) * each;
            for place in 0..depth * height * width {
                let at = [
                    place / (height * width),
                    place / width % height,
                    place % width,
                ];
                for c in 0..each {
                    let input = (image * self.inputs + first + c) * volume;
                    for tap in 0..deep * high {
                        let Some(z) = self.input(0, at[0], tap / high) else {
                            continue;
                        };
                        let Some(y) = self.input(1, at[1], tap % high) else {
                            continue;
                        };
                        let line = input + (z * rows + y) * columns;
                        let weight = ((channel * each + c) * deep * high + tap) * wide;
                        for k in 0..wide {
                            if let Some(x) = self.input(2, at[2], k) {
                                visit(out, line + x, weight + k);
                            }
                        }
                    }
                }
                out += 1;
            }
        }
    }

    fn products(self) -> Products {
        Box::new(move |visit| self.visit(visit))
    }

    /// Input and weight of a convolution of `dims` dimensions.
    fn operands(&self, dims: usize) -> Vec<Tensor> {
        let first = 3 - dims;
        let x = [&[self.batch, self.inputs], &self.size[first..]].concat();
        let each = self.inputs / self.groups;
        let weight = [&[self.outputs, each], &self.kernel[first..]].concat();
        vec![draw(&x, 1), draw(&weight, 2)]
    }

    fn options<const N: usize>(&self) -> ConvOptions<N> {
        let of = |sizes: [usize; 3]| std::array::from_fn::<_, N, _>(|i| sizes[3 - N + i]);
        let options = ConvOptions::new().stride(of(self.stride));
        let options = options.padding(of(self.padding));
        options.dilation(of(self.dilation)).groups(self.groups)
    }

    fn name(&self, dims: usize) -> String {
        let Self {
            batch,
            inputs,
            outputs,
            groups,
            ..
        } = self;
        let of = |sizes: [usize; 3]| format!("{:?}", &sizes[3 - dims..]);
        let [size, kernel, stride, padding, dilation] = [
            self.size,
            self.kernel,
            self.stride,
            self.padding,
            self.dilation,
        ]
        .map(of);
        format!(
            "conv{dims}d {batch}x{inputs}>{outputs}/{groups} {size} kernel {kernel} stride {stride} padding {padding} \
             dilation {dilation}"
        )
    }

    fn case(self, dims: usize, exact: bool) -> Case {
        let operation = move |x: &[Tensor]| {
            set_exact_convolutions(exact);
            match dims {
                1 => x[0].conv1d(&x[1], self.options()),
                2 => x[0].conv2d(&x[1], self.options()),
                _ => x[0].conv3d(&x[1], self.options()),
            }
        };
        let bound = if exact {
            Bound::Sums(0.0)
        } else {
            Bound::Tiles
        };
        let reference = bilinear(bound, self.products(), None);
        Case::new(self.name(dims), self.operands(dims), operation, reference)
    }

    /// The transposed convolution, which maps what the convolution returns to what it is given.
    fn transposed(self, dims: usize) -> Case {
        let first = 3 - dims;
        let output = self.output();
        let x = [&[self.batch, self.outputs], &output[first..]].concat();
        let operands = vec![draw(&x, 1), self.operands(dims).remove(1)];
        // What the stride does not reach at the end.
        let rest: [usize; 3] = std::array::from_fn(|i| {
            let seen = self.dilation[i] * (self.kernel[i] - 1) + 1;
            (self.size[i] + 2 * self.padding[i] - seen) % self.stride[i]
        });
        let operation = move |x: &[Tensor]| match dims {
            1 => x[0].conv_transpose1d(&x[1], self.transposed_options(rest)),
            2 => x[0].conv_transpose2d(&x[1], self.transposed_options(rest)),
            _ => x[0].conv_transpose3d(&x[1], self.transposed_options(rest)),
        };
        let products: Products =
            Box::new(move |visit| self.visit(&mut |out, input, weight| visit(input, out, weight)));
        let reference = bilinear(Bound::Sums(0.0), products, None);
        let name = format!("transposed {}", self.name(dims));
        Case::new(name, operands, operation, reference)
    }

    fn transposed_options<const N: usize>(&self, rest: [usize; 3]) -> ConvTransposeOptions<N> {
        let of = |sizes: [usize; 3]| std::array::from_fn::<_, N, _>(|i| sizes[3 - N + i]);
        let options = ConvTransposeOptions::default().stride(of(self.stride));
        let options = options.padding(of(self.padding)).output_padding(of(rest));
        options.dilation(of(self.dilation)).groups(self.groups)
    }
}

fn plane([batch, inputs, outputs]: [usize; 3], size: [usize; 2], kernel: [usize; 2]) -> Sizes {
    let with_depth = |[height, width]: [usize; 2]| [1, height, width];
    Sizes {
        batch,
        inputs,
        outputs,
        groups: 1,
        size: with_depth(size),
        kernel: with_depth(kernel),
        stride: [1; 3],
        padding: [0, kernel[0] / 2, kernel[1] / 2],
        dilation: [1; 3],
    }
}

fn line(counts: [usize; 3], size: usize, kernel: usize) -> Sizes {
    Sizes {
        padding: [0, 0, kernel / 2],
        ..plane(counts, [1, size], [1, kernel])
    }
}

/// By plain sums, whatever the sizes: direct, by windows, depthwise and with few channels.
pub(crate) fn cases() -> Vec<Case> {
    let strided = |stride: usize, sizes: Sizes| Sizes {
        stride: [1, stride, stride],
        ..sizes
    };
    let grouped = |groups: usize, sizes: Sizes| Sizes { groups, ..sizes };
    let planes = [
        // Lines around the widths of direct tiles (8, 14, 16, 28), channels around one and two registers.
        plane([2, 3, 16], [13, 14], [3, 3]),
        plane([1, 16, 17], [9, 15], [3, 3]),
        plane([1, 17, 32], [7, 28], [3, 3]),
        plane([2, 16, 33], [5, 29], [3, 3]),
        plane([1, 15, 48], [8, 8], [5, 5]),
        plane([3, 33, 31], [7, 7], [1, 1]),
        plane([1, 64, 64], [9, 13], [1, 1]),
        plane([1, 5, 20], [17, 16], [2, 4]),
        // Kernels of one element over several small samples, whose positions do not fill tiles.
        plane([9, 24, 40], [2, 2], [1, 1]),
        plane([37, 16, 17], [3, 5], [1, 1]),
        plane([7, 20, 33], [14, 14], [1, 1]),
        // Kernels that cover the whole input.
        plane([6, 48, 30], [1, 1], [1, 1]),
        Sizes {
            padding: [0; 3],
            ..plane([5, 12, 17], [3, 4], [3, 4])
        },
        plane([2, 4, 16], [11, 10], [7, 7]),
        plane([70, 16, 16], [3, 3], [3, 3]),
        // A line that is longer than those that are gathered, and a million outputs.
        plane([1, 2, 16], [3, 600], [3, 3]),
        plane([1, 1, 17], [250, 251], [3, 3]),
        // Few channels.
        plane([1, 1, 1], [65, 63], [3, 3]),
        plane([2, 2, 3], [33, 40], [5, 3]),
        strided(2, plane([1, 16, 16], [15, 17], [3, 3])),
        strided(2, plane([2, 3, 32], [31, 33], [7, 7])),
        strided(2, plane([1, 24, 40], [14, 14], [1, 1])),
        strided(3, plane([1, 8, 16], [20, 23], [5, 5])),
        strided(16, plane([1, 3, 48], [48, 48], [16, 16])),
        Sizes {
            dilation: [1, 2, 3],
            padding: [0, 2, 3],
            ..plane([1, 16, 16], [13, 19], [3, 3])
        },
        Sizes {
            padding: [0; 3],
            ..plane([1, 16, 16], [16, 18], [3, 3])
        },
        grouped(2, plane([2, 32, 32], [9, 14], [3, 3])),
        grouped(4, strided(2, plane([1, 16, 24], [13, 13], [3, 3]))),
        // Depthwise, around sixteen places, four and seven lines, and sixteen small planes.
        grouped(17, plane([1, 17, 17], [7, 16], [3, 3])),
        grouped(16, plane([2, 16, 16], [9, 33], [5, 5])),
        grouped(33, plane([1, 33, 33], [4, 4], [3, 3])),
        grouped(8, plane([1, 8, 16], [15, 15], [3, 3])),
        grouped(32, strided(2, plane([1, 32, 32], [14, 15], [3, 3]))),
        grouped(15, plane([3, 15, 15], [7, 7], [7, 7])),
        grouped(4, plane([1, 4, 4], [512, 513], [3, 3])),
    ];
    let lines = [
        line([2, 16, 16], 65, 3),
        line([1, 7, 33], 129, 5),
        line([1, 1, 20], 1030, 10),
        Sizes {
            stride: [1, 1, 4],
            ..line([2, 8, 17], 200, 8)
        },
        grouped(12, line([2, 12, 12], 77, 31)),
    ];
    let volume = |counts: [usize; 3], size: [usize; 3], kernel: [usize; 3]| Sizes {
        size,
        kernel,
        padding: kernel.map(|size| size / 2),
        ..plane(counts, [1, 1], [1, 1])
    };
    let volumes = [
        volume([1, 3, 16], [5, 9, 14], [3, 3, 3]),
        volume([2, 16, 5], [4, 5, 7], [2, 3, 1]),
        Sizes {
            stride: [2, 1, 2],
            ..volume([1, 8, 16], [7, 8, 9], [3, 3, 3])
        },
    ];
    let case = |dims: usize| move |sizes: &Sizes| sizes.case(dims, true);
    let all = planes.iter().map(case(2)).chain(lines.iter().map(case(1)));
    all.chain(volumes.iter().map(case(3))).collect()
}

pub(crate) fn transposed_cases() -> Vec<Case> {
    let strided = |stride: usize, sizes: Sizes| Sizes {
        stride: [1, stride, stride],
        ..sizes
    };
    let planes = [
        plane([2, 16, 17], [13, 15], [3, 3]),
        strided(2, plane([1, 16, 16], [16, 30], [4, 4])),
        strided(2, plane([2, 8, 33], [14, 17], [3, 3])),
        strided(3, plane([1, 3, 16], [20, 22], [5, 5])),
        strided(2, plane([1, 24, 16], [16, 16], [2, 2])),
        Sizes {
            groups: 4,
            ..strided(2, plane([1, 16, 16], [17, 19], [3, 3]))
        },
    ];
    let lines = [
        Sizes {
            stride: [1, 1, 4],
            ..line([2, 9, 17], 130, 8)
        },
        line([1, 16, 16], 65, 3),
    ];
    let volume = Sizes {
        size: [6, 8, 8],
        kernel: [2; 3],
        stride: [2; 3],
        padding: [0; 3],
        ..plane([1, 8, 16], [1, 1], [1, 1])
    };
    let planes = planes.map(|sizes| sizes.transposed(2));
    let lines = lines.map(|sizes| sizes.transposed(1));
    let all = planes.into_iter().chain(lines);
    all.chain([volume.transposed(3)]).collect()
}

/// Of so many channels that tiles take less time, with outputs around multiples of four and of the sixteen tiles that are
/// transformed together.
pub(crate) fn tiled_cases() -> Vec<Case> {
    let sizes = [
        plane([1, 64, 64], [16, 16], [3, 3]),
        plane([1, 65, 63], [13, 19], [3, 3]),
        plane([2, 48, 80], [7, 21], [3, 3]),
        plane([1, 32, 40], [33, 34], [3, 3]),
        plane([20, 64, 32], [5, 6], [3, 3]),
        Sizes {
            groups: 2,
            ..plane([1, 96, 96], [12, 14], [3, 3])
        },
        Sizes {
            padding: [0; 3],
            ..plane([1, 64, 48], [18, 23], [3, 3])
        },
        Sizes {
            padding: [0, 2, 2],
            ..plane([1, 48, 64], [9, 17], [3, 3])
        },
    ];
    for sizes in [sizes[0], sizes[3]] {
        // Otherwise nothing would use tiles.
        let [fast, exact] = [false, true].map(|exact| {
            let case = sizes.case(2, exact);
            (case.operation)(&case.operands).unwrap()
        });
        assert!(!fast.equal(&exact).unwrap(), "{}", sizes.name(2));
    }
    sizes.iter().map(|sizes| sizes.case(2, false)).collect()
}
