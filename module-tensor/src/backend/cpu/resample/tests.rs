use super::{Resample, order};
use crate::backend::cpu::float::Float;
use crate::backend::cpu::map::FloatKernel;
use crate::backend::cpu::resample_axis::{AxisWeights, ResampleAxis, for_direction};
use crate::backend::cpu::{
    CpuStorage, LinearOp, Operand, PoolDivisor, PoolGeometry, PoolWindow, PoolWindows,
    ResampleGeometry, ResampleMode, pool_windows, resample_axes,
};
use crate::layout::Layout;
use crate::{DType, Scalar, Shape};

fn number<T: Float>(v: f64) -> T {
    T::from_scalar(Scalar::Float(v))
}

/// Numbers of many sizes, with a few infinities, NaN and zeros of both signs among them if `is_odd`.
fn numbers<T: Float>(len: usize, is_odd: bool) -> Vec<T> {
    let value = |i: usize| match i % 41 {
        7 if is_odd => f64::INFINITY,
        15 | 16 if is_odd => -0.0,
        23 if is_odd => f64::NAN,
        29 if is_odd => 0.0,
        _ => ((i as f64 * 0.618_033_988_749_895).fract() - 0.4) * 3.0_f64.powi(i as i32 % 5),
    };
    (0..len).map(value).map(number).collect()
}

/// The sum of 16 to 63 elements: those that fill no 16 are added to the last of 16 lanes, then halves of the lanes to each other.
fn sum_of_some<T: Float>(line: &[T]) -> T {
    let (chunks, rest) = line.as_chunks::<16>();
    let mut others = [T::zero(); 16];
    others[16 - rest.len()..].copy_from_slice(rest);
    let mut lanes = chunks[0];
    let others = (!rest.is_empty()).then_some(&others);
    for chunk in chunks[1..].iter().chain(others) {
        lanes = std::array::from_fn(|i| lanes[i].plus(chunk[i]));
    }
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            lanes[i] = lanes[i].plus(lanes[i + half]);
        }
    }
    lanes[0]
}

/// The sum of all elements of a line: of each block of 4096, whose elements are added up in 64 lanes and those that fill
/// no 64 by themselves; then lanes of the same index modulo 8 are added, then these.
fn line_sum<T: Float>(line: &[T]) -> T {
    if (16..64).contains(&line.len()) {
        return sum_of_some(line);
    }
    let add = |sum: T, v: T| sum.plus(v);
    let of_block = |block: &[T]| {
        let (whole, rest) = block.split_at(block.len() / 64 * 64);
        let lane = |lane: usize| {
            whole
                .iter()
                .skip(lane)
                .step_by(64)
                .copied()
                .fold(T::zero(), add)
        };
        let lanes: Vec<T> = (0..64).map(lane).collect();
        let eight = (0..8).map(|i| {
            lanes
                .iter()
                .skip(i)
                .step_by(8)
                .copied()
                .fold(T::zero(), add)
        });
        let rest = rest.iter().copied().fold(T::zero(), add);
        rest.plus(eight.fold(T::zero(), add))
    };
    line.chunks(4096).map(of_block).fold(T::zero(), add)
}

/// Sums one after the other along one dimension of `[outer, size, inner]`, but for those of whole lines.
fn sums<T: Float>(x: &[T], axis: &ResampleAxis, inner: usize) -> Vec<T> {
    let mut out = Vec::new();
    for block in x.chunks_exact(axis.size * inner) {
        let mut pairs = 0;
        for (output, range) in axis.ranges.iter().enumerate() {
            for column in 0..inner {
                let term = |(k, input): (usize, usize)| {
                    let v = block[input * inner + column];
                    match &axis.weights {
                        AxisWeights::OverOutput(_) => v,
                        AxisWeights::OverInput(divisors) => v / number(divisors[input]),
                        AxisWeights::Pairs(factors) => v * number(factors[pairs + k]),
                    }
                };
                let terms: Vec<T> = range.clone().enumerate().map(term).collect();
                let is_line = inner == 1 && axis.ranges.len() == 1 && !terms.is_empty();
                let sum = match &axis.weights {
                    AxisWeights::OverOutput(_) | AxisWeights::OverInput(_) if is_line => {
                        line_sum(&terms)
                    }
                    _ => terms.into_iter().reduce(T::plus).unwrap_or_else(T::zero),
                };
                out.push(match &axis.weights {
                    AxisWeights::OverOutput(divisors) => sum / number(divisors[output]),
                    _ => sum,
                });
            }
            pairs += range.len();
        }
    }
    out
}

fn check_as<T: Float>(
    planes: usize,
    axes: &[ResampleAxis],
    is_odd: bool,
    bits: impl Fn(T) -> u64,
    label: &str,
) {
    let sizes = axes.iter().map(|axis| axis.size);
    let shape: Shape = [planes, 1].into_iter().chain(sizes).collect();
    let x = numbers::<T>(shape.numel(), is_odd);
    let mut want = x.clone();
    let mut now = shape[2..].to_vec();
    for d in order(axes) {
        let inner = now[d + 1..].iter().product();
        want = sums(&want, &axes[d], inner);
        now[d] = axes[d].ranges.len();
    }
    let x = Operand {
        storage: CpuStorage::wrap(x),
        layout: Layout::contiguous(shape),
    };
    let out = Resample { x: &x, axes }.run::<T>().unwrap();
    let got = CpuStorage::values::<T>(out.downcast_ref().unwrap()).unwrap();
    assert_eq!(got.len(), want.len(), "{label}");
    for (i, (a, b)) in got.iter().zip(&want).enumerate() {
        let is_same = bits(*a) == bits(*b) || a.is_nan() && b.is_nan();
        assert!(
            is_same,
            "{label}: {} and not {} at {i} of {now:?}",
            a.to_f64(),
            b.to_f64()
        );
    }
}

/// Compares both directions with sums one after the other, bit by bit.
fn check(planes: usize, axes: &dyn Fn() -> Vec<ResampleAxis>, label: &str) {
    for op in [LinearOp::Forward, LinearOp::Backward] {
        let axes = for_direction(op, axes());
        for is_odd in [false, true] {
            check_as::<f32>(planes, &axes, is_odd, |v| u64::from(v.to_bits()), label);
            check_as::<f64>(planes, &axes, is_odd, f64::to_bits, label);
        }
    }
}

fn shape(planes: usize, sizes: impl IntoIterator<Item = usize>) -> Shape {
    [planes, 1].into_iter().chain(sizes).collect()
}

#[test]
fn averages_are_sums_in_order() {
    use PoolDivisor::{Inside, Override, WithPadding};
    let windows: [(usize, usize, usize); 8] = [
        (1, 1, 0),
        (2, 2, 0),
        (3, 1, 1),
        (3, 2, 1),
        (2, 1, 1),
        (4, 2, 2),
        (2, 3, 0),
        (7, 7, 0),
    ];
    for (kernel_size, stride, padding) in windows {
        for size in [1, 2, 7, 8, 16, 17, 35, 56] {
            let Some(room) = (size + 2 * padding).checked_sub(kernel_size) else {
                continue;
            };
            let window = PoolWindow {
                kernel_size,
                stride,
                padding,
                dilation: 1,
            };
            let mut count = room.div_ceil(stride) + 1;
            if (count - 1) * stride >= size + padding {
                count -= 1;
            }
            for count in [room / stride + 1, count] {
                for dims in 1..4 {
                    let height = if dims == 3 { 1 } else { dims };
                    let geometry = PoolGeometry {
                        input: shape(height, vec![size; dims.min(2)]),
                        output: shape(height, vec![count; dims.min(2)]),
                        windows: PoolWindows::Sliding(vec![window; dims.min(2)]),
                    };
                    for divisor in [Inside, WithPadding, Override(3)] {
                        let axes = || pool_windows::averages(&geometry, divisor).unwrap();
                        check(height, &axes, &format!("{geometry:?} {divisor:?}"));
                    }
                }
            }
        }
    }
}

#[test]
fn averages_of_volumes_and_to_a_size_are_sums_in_order() {
    let all = [
        ([4, 6, 9], [2, 3, 3]),
        ([1, 5, 33], [1, 2, 7]),
        ([3, 20, 3], [5, 7, 3]),
        ([2, 56, 56], [1, 1, 1]),
        ([2, 1, 1], [3, 40, 18]),
    ];
    for (input, output) in all {
        let geometry = PoolGeometry {
            input: shape(2, input),
            output: shape(2, output),
            windows: PoolWindows::Adaptive,
        };
        let axes = || pool_windows::averages(&geometry, PoolDivisor::Inside).unwrap();
        check(2, &axes, &format!("{geometry:?}"));
    }
}

#[test]
fn resized_images_are_sums_in_order() {
    use ResampleMode as Mode;
    let modes = [
        Mode::Nearest,
        Mode::NearestExact,
        Mode::Linear {
            align_corners: false,
        },
        Mode::Linear {
            align_corners: true,
        },
        Mode::Cubic {
            align_corners: false,
        },
        Mode::Cubic {
            align_corners: true,
        },
        Mode::AntialiasedLinear,
        Mode::AntialiasedCubic,
    ];
    for mode in modes {
        for (size, to) in [
            (1, 2),
            (2, 4),
            (5, 10),
            (16, 32),
            (28, 56),
            (9, 27),
            (8, 4),
            (28, 42),
            (17, 5),
            (6, 6),
        ] {
            for (height, lines) in [(1, 1), (3, 6), (20, 40), (7, 2)] {
                let corners = matches!(
                    mode,
                    Mode::Linear {
                        align_corners: true
                    } | Mode::Cubic {
                        align_corners: true
                    }
                );
                let scale = |from: usize, to: usize| match corners {
                    true if to > 1 => (from - 1) as f64 / (to - 1) as f64,
                    true => 0.0,
                    false => from as f64 / to as f64,
                };
                let geometry = ResampleGeometry {
                    input: shape(2, [height, size]),
                    output: shape(2, [lines, to]),
                    mode,
                    scale: vec![scale(height, lines), scale(size, to)],
                };
                let axes = || resample_axes::axes(&geometry, DType::F32).unwrap();
                check(2, &axes, &format!("{geometry:?}"));
            }
        }
    }
}

#[test]
fn without_planes_there_is_nothing() {
    let geometry = PoolGeometry {
        input: shape(0, [4, 4]),
        output: shape(0, [2, 2]),
        windows: PoolWindows::Adaptive,
    };
    let axes = || pool_windows::averages(&geometry, PoolDivisor::Inside).unwrap();
    check(0, &axes, "no planes");
}
