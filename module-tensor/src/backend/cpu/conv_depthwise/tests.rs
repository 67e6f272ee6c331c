use crate::backend::cpu::conv::ConvSizes;
use crate::backend::cpu::float::Float;
use crate::backend::cpu::simd::{BASELINE_HAS_FMA, Level};
use crate::backend::cpu::window::Window;
use crate::{Result, Scalar};

type Run<T> = fn(&ConvSizes, Level, &[T], &[T], &mut [T]) -> Result<()>;

/// Batch and channels, a side of the input each, and one number for both dimensions of the rest.
struct Case {
    planes: [usize; 2],
    input: [usize; 2],
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
}

impl Case {
    fn sizes(&self) -> Option<ConvSizes> {
        let reach = self.dilation * (self.kernel - 1);
        let output = |size: usize| {
            let room = (size + 2 * self.padding).checked_sub(reach + 1)?;
            Some(room / self.stride + 1)
        };
        let [height, width] = self.input;
        Some(ConvSizes {
            batch: self.planes[0],
            groups: self.planes[1],
            out_channels: 1,
            window: Window {
                channels: 1,
                input: [1, height, width],
                output: [1, output(height)?, output(width)?],
                kernel: [1, self.kernel, self.kernel],
                stride: [1, self.stride, self.stride],
                padding: [0, self.padding, self.padding],
                dilation: [1, self.dilation, self.dilation],
            },
        })
    }

    /// The input below an element of the kernel, zero beside it.
    fn seen<T: Float>(&self, plane: &[T], [y, x]: [usize; 2], [dy, dx]: [usize; 2]) -> T {
        let at = |position: usize, tap: usize, size: usize| {
            let at = (position * self.stride + tap * self.dilation).checked_sub(self.padding)?;
            (at < size).then_some(at)
        };
        let [height, width] = self.input;
        match (at(y, dy, height), at(x, dx, width)) {
            (Some(y), Some(x)) => plane[y * width + x],
            _ => T::zero(),
        }
    }

    /// The sums of the taps in an order of `[dy, dx]`.
    fn sums<T: Float>(
        &self,
        sizes: &ConvSizes,
        [input, weight]: [&[T]; 2],
        order: &[[usize; 2]],
        is_fused: bool,
    ) -> Vec<T> {
        let [_, height, width] = sizes.window.output;
        let mut out = Vec::new();
        let planes = input.chunks_exact(sizes.window.input_len());
        for (plane, input) in planes.enumerate() {
            let taps = sizes.window.rows();
            let weight = &weight[plane % sizes.groups * taps..][..taps];
            for position in 0..height * width {
                let position = [position / width, position % width];
                let sum = order.iter().fold(T::zero(), |sum, &[dy, dx]| {
                    let v = self.seen(input, position, [dy, dx]);
                    let factor = weight[dy * self.kernel + dx];
                    match is_fused {
                        true => v.times_plus(factor, sum),
                        false => sum.plus(v.times(factor)),
                    }
                });
                out.push(sum);
            }
        }
        out
    }

    /// Compares a kernel with plain sums in its order, bit by bit at every level.
    fn check<T: Float>(&self, run: Run<T>, order: &[[usize; 2]], bits: fn(T) -> u64) {
        let sizes = self.sizes().unwrap();
        let number = |i: usize| ((i as f64 * 0.618_033_988_749_895).fract() - 0.4) * (i % 7) as f64;
        let numbers = |len: usize| -> Vec<T> {
            let numbers = (0..len).map(number).map(Scalar::Float);
            numbers.map(T::from_scalar).collect()
        };
        let planes = sizes.batch * sizes.groups;
        let input = numbers(planes * sizes.window.input_len());
        let weight = numbers(sizes.groups * sizes.window.rows());
        for level in Level::all() {
            let mut out = vec![T::one(); planes * sizes.window.positions()];
            run(&sizes, level, &input, &weight, &mut out).unwrap();
            let is_fused = level.name() != "default" || BASELINE_HAS_FMA;
            let want = self.sums(&sizes, [&input, &weight], order, is_fused);
            let is_same = out.iter().zip(&want).all(|(&a, &b)| bits(a) == bits(b));
            let Self { planes, input, .. } = self;
            let options = [self.kernel, self.stride, self.padding, self.dilation];
            assert!(is_same, "{level:?}: {planes:?} {input:?} by {options:?}");
        }
    }
}

impl Case {
    /// Compares the gradient of the kernels with sums in `f64`, and its bits at all levels with fused multiply-adds.
    fn check_gradient(&self, sizes: &ConvSizes) {
        let number = |i: usize| (i as f32 * 0.618_034).fract() - 0.4;
        let numbers = |len: usize| (0..len).map(number).collect::<Vec<_>>();
        let planes = sizes.batch * sizes.groups;
        let (input, grad) = (
            numbers(planes * sizes.window.input_len()),
            numbers(planes * sizes.window.positions()),
        );
        let (taps, width) = (sizes.window.rows(), sizes.window.output[2]);
        let (mut sums, mut magnitudes) = (
            vec![0.0; sizes.groups * taps],
            vec![0.0; sizes.groups * taps],
        );
        for (plane, grad) in grad.chunks_exact(sizes.window.positions()).enumerate() {
            let input = &input[plane * sizes.window.input_len()..];
            for (position, &grad) in grad.iter().enumerate() {
                for tap in 0..taps {
                    let position = [position / width, position % width];
                    let seen = self.seen(input, position, [tap / self.kernel, tap % self.kernel]);
                    let (to, product) = (
                        plane % sizes.groups * taps + tap,
                        f64::from(seen) * f64::from(grad),
                    );
                    sums[to] += product;
                    magnitudes[to] += product.abs();
                }
            }
        }
        let levels = Level::all().into_iter();
        let results = levels
            .filter(|level| level.name() != "default")
            .map(|level| {
                let mut out = vec![0.0; sums.len()];
                sizes
                    .run_gradient_by_lines(level, &input, &grad, &mut out)
                    .unwrap();
                out
            });
        let results: Vec<Vec<f32>> = results.collect();
        for out in &results {
            assert_eq!(out, &results[0]);
            for ((&v, sum), magnitude) in out.iter().zip(&sums).zip(&magnitudes) {
                let error = (f64::from(v) - sum).abs();
                assert!(
                    error <= 1e-6 * magnitude,
                    "{:?}: {v} and not {sum}",
                    self.input
                );
            }
        }
    }
}

fn taps(kernel: usize) -> impl Iterator<Item = [usize; 2]> {
    (0..kernel * kernel).map(move |i| [i / kernel, i % kernel])
}

#[test]
fn lines_are_sums_column_by_column() {
    let sizes = [
        [4, 16],
        [6, 25],
        [7, 33],
        [8, 24],
        [13, 40],
        [14, 47],
        [21, 18],
    ];
    for kernel in [3, 5, 7] {
        let order: Vec<_> = taps(kernel).map(|[i, j]| [j, i]).collect();
        for input in sizes {
            for padding in [0, 1, kernel / 2, kernel + 1] {
                let case = Case {
                    planes: [2, 3],
                    input,
                    kernel,
                    stride: 1,
                    padding,
                    dilation: 1,
                };
                if case.sizes().is_some_and(|sizes| sizes.is_by_lines()) {
                    case.check::<f32>(ConvSizes::run_by_lines, &order, |v| v.to_bits().into());
                    case.check::<f64>(ConvSizes::run_by_lines, &order, f64::to_bits);
                }
            }
        }
    }
}

#[test]
fn planes_side_by_side_are_sums_line_by_line() {
    let sizes = [
        [7, 7],
        [1, 1],
        [2, 2],
        [3, 4],
        [5, 6],
        [7, 14],
        [14, 7],
        [9, 11],
        [4, 15],
    ];
    for (kernel, stride, dilation) in [
        (3, 1, 1),
        (5, 1, 1),
        (7, 1, 1),
        (2, 1, 1),
        (3, 2, 1),
        (3, 1, 2),
    ] {
        let order: Vec<_> = taps(kernel).collect();
        for input in sizes {
            for (planes, padding) in [([2, 16], kernel / 2), ([3, 9], 0), ([1, 17], kernel)] {
                let case = Case {
                    planes,
                    input,
                    kernel,
                    stride,
                    padding,
                    dilation,
                };
                if case.sizes().is_some_and(|sizes| sizes.is_by_lanes()) {
                    case.check::<f32>(ConvSizes::run_by_lanes, &order, |v| v.to_bits().into());
                    case.check::<f64>(ConvSizes::run_by_lanes, &order, f64::to_bits);
                }
            }
        }
    }
}

#[test]
fn gradients_of_kernels_are_sums_over_places() {
    for kernel in [3, 5, 7] {
        for (input, padding) in [
            ([4, 16], kernel / 2),
            ([9, 25], 0),
            ([8, 33], kernel / 2),
            ([7, 24], kernel + 1),
            ([4, 40], 20),
        ] {
            let case = Case {
                planes: [2, 3],
                input,
                kernel,
                stride: 1,
                padding,
                dilation: 1,
            };
            match case.sizes() {
                Some(sizes) if sizes.is_by_lines() => case.check_gradient(&sizes),
                _ => {}
            }
        }
    }
}

/// An infinity times the zeros beside a line is no NaN.
#[test]
fn infinite_inputs_give_infinite_gradients() {
    let case = Case {
        planes: [1, 1],
        input: [4, 20],
        kernel: 3,
        stride: 1,
        padding: 1,
        dilation: 1,
    };
    let sizes = case.sizes().unwrap();
    let (mut input, mut out) = (vec![1.0_f32; 80], vec![0.0; 9]);
    input[19] = f32::INFINITY;
    let level = Level::highest();
    let done = sizes.run_gradient_by_lines(level, &input, &[1.0; 80], &mut out);
    done.unwrap();
    let inf = f32::INFINITY;
    assert_eq!(out, [57.0, inf, inf, 76.0, inf, inf, 57.0, 60.0, 57.0]);
}
